"""The tuner's table: latency and bandwidth of every algorithm and protocol for one collective.

Source: NCCL 2.30.7 (commit 5067397), src/graph/tuning.cc, `ncclTopoTuneModel`.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.collectives.nccl import constants as of
from yantra.collectives.nccl import rccl
from yantra.collectives.nccl.constants import ALGORITHMS, PROTOCOLS, Algorithm, Protocol, Triple
from yantra.collectives.nccl.system import Graph, System

HALVES = ("all_gather", "reduce_scatter")
KINDS = ("all_reduce", *HALVES, "broadcast", "reduce")
_RUNS: dict[str, tuple[Algorithm, ...]] = {
    "all_reduce": ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree"),
    "all_gather": ("Ring", "CollNetDirect", "NVLS", "PAT"),
    "reduce_scatter": ("Ring", "CollNetDirect", "NVLS", "PAT"),
    "broadcast": ("Ring",),
    "reduce": ("Ring",),
}


class Expected(NamedTuple):
    """Latency in microseconds and algorithm bandwidth in GB/s, 0 if it is off."""

    latency_us: float
    bandwidth: float


class Table(NamedTuple):
    system: System
    kind: str
    expected: dict[tuple[Algorithm, Protocol], Expected]


def tuner_table(system: System, kind: str) -> Table:
    """Latency and bandwidth of each algorithm and protocol that has a graph.

    Raises ConfigError for an unknown kind (an all-to-all is sends), without a ring, or for fewer
    than two ranks.
    """
    if kind not in KINDS:
        raise ConfigError("kind", expected_got(f"one of {', '.join(KINDS)}", kind))
    if "Ring" not in system.graphs:
        raise ConfigError(
            "graphs", "expected a graph of Ring, which every communicator of NCCL has"
        )
    if not 1 <= system.nodes <= system.ranks or system.ranks < 2:
        raise ConfigError(
            "ranks",
            f"expected 2 or more, on at most as many nodes; got {system.ranks} on {system.nodes}",
        )
    expected = {}
    for algorithm in ALGORITHMS:
        graph = system.graphs.get(algorithm)
        if graph is None or algorithm not in _RUNS[kind]:
            continue
        if system.is_amd and algorithm not in rccl.BASE:
            continue
        for protocol in PROTOCOLS:
            if protocol != "Simple" and algorithm not in ("Tree", "Ring"):
                continue
            bandwidth = _bandwidth(system, kind, algorithm, protocol, graph)
            latency = _latency(system, kind, algorithm, protocol, graph)
            expected[algorithm, protocol] = Expected(latency, bandwidth)
    return Table(system, kind, expected)


def _is_on(system: System, kind: str, algorithm: Algorithm, protocol: Protocol) -> bool:
    several = system.nodes > 1
    if protocol == "LL128" and not system.ll128:
        return False
    if algorithm in ("NVLS", "NVLSTree"):
        too_many = kind != "all_reduce" and system.local > of.MOST_LOCAL_NVLS
        if not system.nvls or too_many or (algorithm == "NVLSTree" and not several):
            return False
    in_network = algorithm.startswith("CollNet") or (algorithm == "NVLS" and several)
    if in_network and not system.collnet:
        return False
    if algorithm.startswith("CollNet") and system.local > of.MOST_LOCAL_COLLNET:
        return False
    if in_network and several and kind in HALVES and 0 < system.heads < system.local:
        return False  # these need an adapter for every rank
    return algorithm != "PAT" or system.nodes == system.ranks


def _bandwidth(
    system: System, kind: str, algorithm: Algorithm, protocol: Protocol, graph: Graph
) -> float:
    if not _is_on(system, kind, algorithm, protocol):
        return 0.0
    if system.is_amd:
        channel = graph.intra if system.nodes <= 2 else graph.inter
        share = rccl.ratio(system.gpu, system.nodes, kind, algorithm, protocol)
        bus = graph.channels * channel * share
    else:
        bus = _bus(system, kind, algorithm, protocol, graph)
    if kind in HALVES and algorithm != "Ring":
        return bus
    if algorithm in ("Ring", "NVLS", "NVLSTree"):
        return bus * system.ranks / _steps(system, kind)
    return bus * 0.5


class _Hops(NamedTuple):
    base: dict[Algorithm, Triple]
    nvlink: dict[Algorithm, Triple]
    pci: dict[Algorithm, Triple]
    network: dict[Algorithm, Triple]


def _hops(system: System) -> _Hops:
    if system.is_amd:
        model = rccl.MODELS[system.gpu]
        return _Hops(rccl.BASE, model.xgmi, rccl.PCI, model.network)
    return _Hops(of.BASE, of.NVLINK, of.PCI, of.NETWORK)


def _bus(
    system: System, kind: str, algorithm: Algorithm, protocol: Protocol, graph: Graph
) -> float:
    at = min(system.nodes, 3) - 1
    is_over_network = system.nodes > 2 and not algorithm.startswith("CollNet")
    all_channels = graph.channels * (graph.inter if is_over_network else graph.intra)
    if algorithm in ("NVLS", "NVLSTree"):
        return graph.channels * _nvls_channel(system, kind, algorithm, graph)
    if algorithm == "Ring":
        most = graph.channels * of.RING_LL128_MOST[system.nvidia][at]
        return {
            "LL": min(_ll_most(system), all_channels * 0.5),
            "LL128": min(all_channels * 0.92, most),
            "Simple": all_channels,
        }[protocol]
    if algorithm == "Tree":
        return _tree_bus(system, protocol, graph.channels, all_channels)
    if algorithm == "PAT":
        return all_channels * 0.75
    if algorithm == "CollNetDirect":
        if kind in HALVES:
            return system.local * min(graph.intra, graph.inter * 0.9)
        share = system.local / graph.channels  # GPUs per adapter
        slowed = 0.85 if system.gpu in ("hopper", "blackwell") else 1.0
        return all_channels / (share - (share - 1) / 2) * slowed
    return all_channels


def _tree_bus(system: System, protocol: Protocol, channels: int, all_channels: float) -> float:
    at = min(system.nodes, 3) - 1
    bus = min(all_channels * 0.92, channels * of.TREE_MOST[system.nvidia][at])
    if protocol == "LL":
        bus = min(bus / 3.8, _ll_most(system))
    elif protocol == "LL128":
        share = 7 / 9 if system.nodes == 1 else 120 / 128
        bus = min(bus * share, channels * of.TREE_LL128_MOST[system.nvidia][at])
    return bus * 0.85 if system.plain_tree else bus


def _nvls_channel(system: System, kind: str, algorithm: Algorithm, graph: Graph) -> float:
    if graph.channels < 2:
        return 0.0
    intra = graph.intra * of.NVLS_EFFICIENCY[system.nvidia] * (graph.channels - 1) / graph.channels
    intra *= 2 if kind == "all_reduce" else (system.local - 1) / system.local
    if algorithm == "NVLS":
        return min(intra, graph.inter)
    at = min(system.nodes, 3) - 1
    inter = graph.inter * (2 if system.nodes <= 2 else 1)
    return min(intra, inter, of.NVLS_TREE_MOST[system.nvidia][at])


def _ll_most(system: System) -> float:
    at = min(system.nodes, 3) - 1
    if at == 0:
        return of.LL_MOST[system.nvidia][at]
    return of.LL_MOST["ampere" if system.cpu in ("amd", "mixed") else "volta"][at]


def _steps(system: System, kind: str) -> int:
    if kind == "all_reduce":
        return 2 * (system.ranks - 1)
    return system.ranks - 1 if kind in HALVES else system.ranks


def _latency(
    system: System, kind: str, algorithm: Algorithm, protocol: Protocol, graph: Graph
) -> float:
    p = PROTOCOLS.index(protocol)
    of_gpu = _hops(system)
    intra = (of_gpu.nvlink if graph.nvlink else of_gpu.pci)[algorithm][p]
    # With one rank per node nothing hides the network, so NCCL takes the tree's latency.
    inter = of_gpu.network["Tree" if system.local == 1 else algorithm][p]
    inter += graph.inter_latency_us * (2 if protocol == "Simple" else 1)
    others = system.ranks // system.nodes - 1
    levels = system.nodes.bit_length() - 1
    base = of_gpu.base[algorithm][p]
    if algorithm == "Ring":
        return base + _ring_latency(system, kind, protocol, graph, intra, inter)
    if algorithm == "Tree":
        return base + 2 * (others * intra + levels * inter)
    if algorithm == "CollNetDirect":
        return base + 2 * (min(1, others) * intra + others * 0.4) + inter
    if algorithm == "CollNetChain":
        return base + 2 * others * intra + inter
    if algorithm == "NVLS":
        return intra + (inter if system.nodes > 1 else 0.0)
    if algorithm == "NVLSTree":
        return base + intra + 2 * levels * inter
    return base + levels * inter / 3.5 + system.ranks * 2.8


def _ring_latency(
    system: System, kind: str, protocol: Protocol, graph: Graph, intra: float, inter: float
) -> float:
    p = PROTOCOLS.index(protocol)
    steps = _steps(system, kind)
    several = system.nodes > 1
    if kind in ("broadcast", "reduce"):
        of_gpu = _hops(system)
        hops = of_gpu.network if several else of_gpu.nvlink if graph.nvlink else of_gpu.pci
        if graph.same_channels:
            return hops["Ring"][p]
        return steps * hops["Tree" if protocol == "Simple" else "Ring"][p]
    if several:
        intra = max(intra, of.POST[system.cpu] * (3 if protocol == "Simple" else 1))
    over = 0 if not several else (system.nodes - 1) * (2 if kind == "all_reduce" else 1)
    return (steps - over) * intra + over * inter
