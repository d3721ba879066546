"""The laws that the numbers of every cluster keep.

They catch slips such as GB for TB; a machine unlike all others may break one and be right, so
`yantra cluster show` only warns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from yantra.base.units import format_bandwidth, format_time
from yantra.fabric.clusters.types import Cluster, Level, Speeds

FASTEST_PORT = 200e9
"""Bytes/s of the fastest port of a cable between nodes: 1.6 Tb/s, as of Ethernet (IEEE 802.3dj)."""
LEAST_REACHED = 0.5
"""The least share of a nominal rate that software reaches on any known machine."""
_ORDER = (("fp32", "tf32"), ("tf32", "bf16"), ("bf16", "fp8"), ("fp8", "fp4"))
_SPEEDS: tuple[Speeds, ...] = ("nominal", "achievable")

Law = Callable[[Cluster], str | None]


def memory_is_faster_than_links(cluster: Cluster) -> str | None:
    """A device reads its memory faster than all its links, and its host's memory slower."""
    memory = cluster.memory_bandwidth.value
    for at, level in enumerate(cluster.network):
        rate = level.device_bytes_per_s("nominal")
        if memory <= rate:
            return (
                f"device.memory_bandwidth is {format_bandwidth(memory)}, the links of a device at "
                f"network[{at}] ({level.name}) carry {format_bandwidth(rate)}"
            )
    if memory <= cluster.host_bandwidth.value:
        host = format_bandwidth(cluster.host_bandwidth.value)
        return f"device.memory_bandwidth is {format_bandwidth(memory)}, host.bandwidth {host}"
    return None


def inner_links_are_faster_than_outer_ones(cluster: Cluster) -> str | None:
    for speeds in _SPEEDS:
        for at, (inner, outer) in enumerate(pairwise(cluster.network)):
            one, other = inner.device_bytes_per_s(speeds), outer.device_bytes_per_s(speeds)
            if one < other:
                return (
                    f"network[{at}] ({inner.name}) carries {format_bandwidth(one)} of a device, "
                    f"network[{at + 1}] ({outer.name}) {format_bandwidth(other)} ({speeds})"
                )
    return None


def inner_links_are_nearer_than_outer_ones(cluster: Cluster) -> str | None:
    for at, (inner, outer) in enumerate(pairwise(cluster.network)):
        if inner.latency.value > outer.latency.value:
            one, other = (format_time(level.latency.value) for level in (inner, outer))
            return f"a hop of network[{at}] takes {one}, one of network[{at + 1}] {other}"
    return None


def no_port_between_nodes_is_faster_than_any_that_is_made(cluster: Cluster) -> str | None:
    """A link of the last of several levels is a cable, of 1.6 Tb/s at most."""
    *inner, last = cluster.network
    rate = last.bandwidth.value
    if not inner or rate <= FASTEST_PORT:
        return None
    bits = "" if "b" in last.bandwidth.written else "; bytes in place of bits (GB/s for Gb/s)?"
    return (
        f"network[{len(inner)}].bandwidth ({last.name}) is {last.bandwidth.written} of one link; "
        f"ports have {format_bandwidth(FASTEST_PORT)} at most{bits}"
    )


def what_software_reaches_is_below_the_nominal_rate(cluster: Cluster) -> str | None:
    """What is achievable is at most the nominal rate, and at least half of it."""
    for at, level in enumerate(cluster.network):
        if wrong := _share(f"network[{at}]", level):
            return wrong
    peak = dict(cluster.peak)
    for dtype, rate in cluster.achievable:
        share = rate.value / peak[dtype].value
        if not LEAST_REACHED <= share <= 1:
            return f"device.achievable.{dtype} is {share:.3g} of the peak; expected 0.5 to 1"
    return None


def _share(where: str, level: Level) -> str | None:
    if level.achievable is None:
        return None
    share = level.achievable.value / level.bandwidth.value
    if LEAST_REACHED <= share <= 1:
        return None
    reached, nominal = level.achievable.written, level.bandwidth.written
    return (
        f"{where} ({level.name}) reaches {reached} of {nominal}, {share:.3g} of it; "
        "expected 0.5 to 1"
    )


def smaller_types_are_not_slower(cluster: Cluster) -> str | None:
    """Of a type of fewer bits the peak is at least as high."""
    for name, peaks in (("peak", cluster.peak), ("achievable", cluster.achievable)):
        rates = {dtype: number.value for dtype, number in peaks}
        for slower, faster in _ORDER:
            if slower in rates and faster in rates and rates[slower] > rates[faster]:
                one, other = rates[slower] / 1e12, rates[faster] / 1e12
                return (
                    f"device.{name}.{faster} is {other:g} TFLOP/s, {slower} {one:g}, "
                    "and has more bits"
                )
    return None


LAWS: tuple[Law, ...] = (
    memory_is_faster_than_links,
    inner_links_are_faster_than_outer_ones,
    inner_links_are_nearer_than_outer_ones,
    no_port_between_nodes_is_faster_than_any_that_is_made,
    what_software_reaches_is_below_the_nominal_rate,
    smaller_types_are_not_slower,
)


def doubts(cluster: Cluster) -> Iterator[str]:
    """Yield what is wrong with the numbers of a cluster, as `law: what`."""
    for law in LAWS:
        wrong = law(cluster)
        if wrong:
            yield f"{law.__name__}: {wrong}"
