"""The graphs that NCCL finds for nodes whose GPUs are behind NVSwitches: channels and bandwidths.

Trade-off: all GPUs reach each other equally, with as many at each adapter; NCCL searches paths,
some only for a time. Source: NCCL 2.30.7, src/graph/search.cc, `ncclTopoCompute`, and topo.h for
the bandwidth of a link.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.collectives.nccl.constants import Algorithm, AnyGpu, Gpu
from yantra.collectives.nccl.debug_log import Printed
from yantra.collectives.nccl.topology import NEAREST, Topology

NVLINK_RATE: dict[Gpu, float] = {"volta": 20.0, "ampere": 20.0, "hopper": 20.6, "blackwell": 40.1}
"""GB/s (1e9) of a link and direction, as the search counts them."""

_LINKS: dict[Gpu, int] = {"volta": 6, "ampere": 12, "hopper": 18, "blackwell": 18}
_INSIDE: dict[Gpu, tuple[float, ...]] = {
    "volta": (40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3),
    "ampere": (40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3),
    "hopper": (60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3),
    "blackwell": (90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18),
}
_BETWEEN: dict[Gpu, tuple[float, ...]] = {
    "volta": (48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12),
    "ampere": (48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12),
    "hopper": (48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12),
    "blackwell": (96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2),
}
_DOUBLED: dict[Gpu, float] = {"volta": 25.0, "ampere": 25.0, "hopper": 50.0}
"""From this speed on a channel becomes two of half of it."""

_MOST_CHANNELS = 32


class Machine(NamedTuple):
    """A node: its GPUs, GB/s of one's NVLinks together, its adapters and GB/s of each.

    `way` is the farthest path from a GPU to its nearest adapter.
    """

    gpu: Gpu
    gpus: int
    nvlink: float
    nics: int = 0
    nic: float = 0.0
    way: str = "PIX"


def machine_of(topology: Topology, any_gpu: AnyGpu, nic_bytes_per_ns: float, where: str) -> Machine:
    """The node that a matrix shows.

    Raises ConfigError at `where` unless all pairs have equal NVLinks, over switches.
    """
    if any_gpu not in NVLINK_RATE:
        problem = (
            f"expected GPUs of NVIDIA, whose search this is, got {any_gpu}; give graphs or a log"
        )
        raise ConfigError(where, problem)
    gpu = any_gpu
    links = topology.nvlinks()
    count = len(topology.gpus)
    through_switches = links is not None and (count == 2 or links * (count - 1) > _LINKS[gpu])
    if links is None or not through_switches:
        problem = "expected GPUs with NVLinks over switches, all alike; give graphs or a log"
        raise ConfigError(where, problem)
    if links > _LINKS[gpu]:
        expected = f"at most the {_LINKS[gpu]} NVLinks of {gpu} GPUs"
        raise ConfigError(where, expected_got(expected, f"NV{links}"))
    way = "PIX"
    if topology.nics:
        way = max((topology.nearest(one) for one in topology.gpus), key=NEAREST.index)
    return Machine(
        gpu, count, links * NVLINK_RATE[gpu], _used(topology), nic_bytes_per_ns, _spoken(way)
    )


def _used(topology: Topology) -> int:
    near = {
        nic
        for gpu in topology.gpus
        for nic in topology.nics
        if topology.paths[gpu, nic] == topology.nearest(gpu)
    }
    return len(near)


def _spoken(way: str) -> str:
    return "PHB" if way == "NODE" else way


def searched(machine: Machine) -> tuple[Printed, ...]:
    gpu = machine.gpu
    channels, speed = _doubled(gpu, *_most(_INSIDE[gpu], machine.nvlink, machine.nvlink))
    found = [_graph(name, channels, speed, speed, machine, 1) for name in ("Ring", "Tree")]
    if gpu in ("hopper", "blackwell"):
        least = machine.nvlink / (machine.gpus + 1)
        nvls = next((one for one in _INSIDE[gpu] if one <= least), 0.0)
        if nvls:
            found.append(_graph("NVLS", machine.gpus, nvls, nvls, machine, 1))
    if machine.nics and machine.nic:
        found += _between(machine)
    return tuple(found)


def _between(machine: Machine) -> list[Printed]:
    gpu = machine.gpu
    best = (0, 0.0)
    for speed in _BETWEEN[gpu]:
        if speed <= machine.nic:
            channels = min(machine.nics, int(machine.nvlink / speed))
            if channels * speed > best[0] * best[1]:
                best = channels, speed
    if not best[0]:
        return []
    channels, speed = _doubled(gpu, *best)
    return [_graph(name, channels, speed, speed, machine, 2) for name in ("Ring", "Tree")]


def _most(speeds: tuple[float, ...], room: float, most: float) -> tuple[int, float]:
    fits = [(min(_MOST_CHANNELS, int(room / one)), one) for one in speeds if one <= most]
    return max(fits, key=lambda pair: (pair[0] * pair[1], pair[1]))


def _doubled(gpu: Gpu, channels: int, speed: float) -> tuple[int, float]:
    if speed < _DOUBLED.get(gpu, float("inf")):
        return channels, speed
    twice = min(2 * channels, _MOST_CHANNELS)
    return twice, speed / -(-twice // channels)


def _graph(
    name: Algorithm, channels: int, intra: float, inter: float, machine: Machine, nodes: int
) -> Printed:
    return Printed(
        algorithm=name,
        channels=channels,
        intra=intra,
        inter=inter,
        nvlink=True,
        way=machine.way,
        same_channels=name != "NVLS",
        ranks=0,
        nodes=nodes,
    )
