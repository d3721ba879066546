"""nccl: what NCCL's tuner takes for a collective, for as long as the tuner expects it to take.

`graphs` are what NCCL prints with `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=GRAPH`: "Pattern 4 ...
nChannels 16, bw 24.0/24.0" (inside a node, between nodes) is a ring, 1 to 3 a tree, 5 NVLS, 6
CollNetDirect.

    selection: {kind: nccl, options: {gpu: hopper, cpu: intel, topology: topo.txt, nic: 400 Gb/s}}

Or they come from NCCL's search (yantra.collectives.nccl.search): `topology` is what `nvidia-smi
topo -m` prints, `nic` an adapter's bandwidth, `nics` the adapters, as NCCL_IB_HCA. A log comes
first.

Trade-off: sharing a link does not slow it, and the tuner's times are off by tens of percent.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Literal

from yantra.base.errors import ConfigError
from yantra.base.fields import Choice as Name
from yantra.base.fields import Flag, Many, Quantity, Section, Text, Whole
from yantra.base.fields.named_file import NamedFile
from yantra.base.records import Record
from yantra.collectives.nccl.constants import Algorithm, AnyGpu, Cpu
from yantra.collectives.nccl.debug_log import MOST_CHANNELS, Printed, load
from yantra.collectives.nccl.search import Machine, machine_of, searched
from yantra.collectives.nccl.system import Graph, System
from yantra.collectives.nccl.table import KINDS, Table, tuner_table
from yantra.collectives.nccl.topology import load as load_topology
from yantra.collectives.nccl.tuner import chosen, segments
from yantra.collectives.selection.selection import Choice, Group, Selection, Timed

Nodes = Literal["one", "several"]
_MOST_BYTES = 1 << 43
_WHERE = "collectives.selection.options"
_TOPOLOGY = "the path of what nvidia-smi topo -m printed"
LOG = "the path of a log that NCCL wrote"
_GATHERED = "all_gather"  # traces state one rank's part, NCCL counts all


class GraphLine(Record):
    """A graph of an algorithm, and the groups that have it; bandwidths per channel."""

    algorithm: Algorithm
    channels: int
    intra_bytes_per_ns: float
    inter_bytes_per_ns: float = 0.0
    nodes: Nodes = "one"
    local: int = 0
    nvlink: bool = True


class Options(Record):
    """The options of `nccl`."""

    gpu: AnyGpu
    cpu: Cpu
    graphs: tuple[GraphLine, ...] = ()
    log: str = ""
    topology: str = ""
    nics: tuple[str, ...] = ()
    nic_bytes_per_ns: float = 0.0
    adapter_latency_ns: float = 0.0
    ll128: bool = True
    nvls: bool = False
    collnet: bool = False


_GRAPH = Section(
    GraphLine,
    {
        "algorithm": ("algorithm", Name(Algorithm), "algorithm of the graph"),
        "nodes": ("nodes", Name(Nodes), "for groups on one node, or on several"),
        "local": ("local", Whole(at_least=0), "for groups with so many ranks in a node; 0: any"),
        "channels": ("channels", Whole(at_least=1, at_most=MOST_CHANNELS), "how many channels"),
        "intra": (
            "intra_bytes_per_ns",
            Quantity("bandwidth", "GB/s", above=0),
            "bandwidth of a channel inside a node",
        ),
        "inter": (
            "inter_bytes_per_ns",
            Quantity("bandwidth", "GB/s", at_least=0),
            "bandwidth of a channel between nodes; by default as inside",
        ),
        "nvlink": ("nvlink", Flag(), "paths inside a node are NVLink, else PCI"),
    },
)


class Nccl(Selection):
    """What NCCL's tuner takes, and the time that it expects."""

    options = Section(
        Options,
        {
            "gpu": (
                "gpu",
                Name(AnyGpu),
                "the oldest GPU of a group; those of AMD have RCCL's tuner",
            ),
            "cpu": ("cpu", Name(Cpu), "the CPUs, which LL and rings over nodes depend on"),
            "graphs": ("graphs", Many(_GRAPH), "the last for a group and an algorithm counts"),
            "log": (
                "log",
                NamedFile("yantra.collectives.nccl.debug_log", LOG),
                "a log of NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH, whose graphs count",
            ),
            "topology": (
                "topology",
                NamedFile("yantra.collectives.nccl.topology", _TOPOLOGY),
                "the output of nvidia-smi topo -m, from which graphs are searched",
            ),
            "nics": (
                "nics",
                Many(Text()),
                "names of the adapters of that topology that NCCL uses; all if none is named",
            ),
            "nic": (
                "nic_bytes_per_ns",
                Quantity("bandwidth", "GB/s", above=0),
                "bandwidth of each adapter of that topology; without it there are no graphs "
                "over nodes",
            ),
            "adapter_latency": (
                "adapter_latency_ns",
                Quantity("time", "ns", at_least=0),
                "latency of a network adapter",
            ),
            "ll128": ("ll128", Flag(), "LL128 is on, as between nodes over PXB or, on Hopper, PXN"),
            "nvls": ("nvls", Flag(), "NVLink SHARP is on"),
            "collnet": ("collnet", Flag(), "in-network reduction is on"),
        },
    )

    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        """Raises ConfigError for a group without a graph of Ring."""
        if kind not in KINDS or group.ranks < 2:
            return []
        table = tuner_table(self._system(group), kind)
        points, runs = _points(table)
        return [Choice(0, Timed(points, self._basis(table), runs=runs))]

    def _system(self, group: Group) -> System:
        given: Options = self.given
        local = max(1, min(group.local, group.ranks))
        nodes = ceil(group.ranks / local)
        where: Nodes = "one" if nodes == 1 else "several"
        lines = [g for g in given.graphs if g.nodes == where and g.local in (0, local)]
        found = [*_searched(given), *(load(given.log) if given.log else ())]
        logged = _logged(found, group.ranks, nodes, local)
        graphs: dict[str, Graph] = {}
        graphs |= {one.algorithm: _printed(one, given.adapter_latency_ns) for one in logged}
        if "NVLS" in graphs:  # one search for both
            graphs["NVLSTree"] = graphs["NVLS"]
        graphs |= {line.algorithm: _graph(line, given.adapter_latency_ns) for line in lines}
        if "Ring" not in graphs:
            raise ConfigError(
                f"{_WHERE}.graphs",
                f"no graph of Ring for {_placed(group.ranks, nodes)}; add one with "
                f"nodes: {where}, and local: {local} or none; or give a log of such a group, or "
                "a topology with nic",
            )
        for name in ("NVLS", "NVLSTree"):
            if name in graphs and not graphs[name].nvlink:
                raise ConfigError(f"{_WHERE}.graphs", f"{name} runs over NVLink alone")
        return System(
            ranks=group.ranks,
            nodes=nodes,
            gpu=given.gpu,
            cpu=given.cpu,
            graphs=graphs,
            ll128=given.ll128 and all(_has_ll128(one, given.gpu) for one in logged),
            nvls=given.nvls,
            collnet=given.collnet,
        )

    def _basis(self, table: Table) -> str:
        system = table.system
        placed = _placed(system.ranks, system.nodes)
        library = "RCCL" if system.is_amd else "NCCL"
        return f"what {library}'s tuner expects of {placed} with {system.gpu} GPUs"


def _placed(ranks: int, nodes: int) -> str:
    return f"{ranks} ranks on {nodes} {'node' if nodes == 1 else 'nodes'}"


def _graph(line: GraphLine, latency_ns: float) -> Graph:
    return Graph(
        channels=line.channels,
        intra=line.intra_bytes_per_ns,
        inter=line.inter_bytes_per_ns or line.intra_bytes_per_ns,
        nvlink=line.nvlink,
        inter_latency_us=latency_ns / 1000.0,
    )


def _searched(given: Options) -> tuple[Printed, ...]:
    if not given.topology:
        for key, value in (("nic", given.nic_bytes_per_ns), ("nics", given.nics)):
            if value:
                raise ConfigError(f"{_WHERE}.{key}", "only with topology, whose adapters it is of")
        return ()
    topology = load_topology(given.topology)
    if given.nics:
        topology = topology.with_nics(given.nics, f"{_WHERE}.nics")
    if given.nic_bytes_per_ns and not topology.nics:
        raise ConfigError(f"{_WHERE}.nic", f"{given.topology} has no adapters")
    machine: Machine = machine_of(topology, given.gpu, given.nic_bytes_per_ns, f"{_WHERE}.topology")
    return searched(machine)


def _logged(found: list[Printed], ranks: int, nodes: int, local: int) -> list[Printed]:
    some = [
        one
        for one in found
        if (one.nodes == 1) == (nodes == 1) and one.ranks in (0, local * one.nodes)
    ]
    return sorted(some, key=lambda one: one.ranks == ranks)


def _printed(one: Printed, latency_ns: float) -> Graph:
    return Graph(
        channels=one.channels,
        intra=one.intra,
        inter=one.inter or one.intra,
        nvlink=one.nvlink,
        inter_latency_us=latency_ns / 1000.0,
        same_channels=one.same_channels,
    )


def _has_ll128(one: Printed, gpu: AnyGpu) -> bool:
    return one.ll128 or (gpu in ("hopper", "blackwell") and one.way in ("PXN", "P2C"))


def _points(table: Table) -> tuple[tuple[tuple[int, float], ...], tuple[tuple[int, str], ...]]:
    counted = table.system.ranks if table.kind == _GATHERED else 1
    ends = (end // counted for end in segments(table, _MOST_BYTES))
    stated = sorted({size for end in ends for size in (end, end + 1)})
    found = [chosen(table, size * counted) for size in stated]
    names = [f"{one.algorithm} {one.protocol}" for one in found]
    starts = [at for at in range(len(names)) if at == 0 or names[at] != names[at - 1]]
    points = zip(stated, (one.time_us * 1000.0 for one in found), strict=True)
    return tuple(points), tuple((stated[at] if at else 0, names[at]) for at in starts)


PLUGIN = Nccl
