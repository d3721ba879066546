"""The range of a run's clock, and times and rates beyond it.

A tick is 1 ps, or 1 ns with ASTRA-sim's; a run counts 2^63. Rates have a lower bound so that bytes
over them stay finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra import _core
from yantra.base.errors import ConfigError, TraceError
from yantra.compile.graphs import Graphs
from yantra.scenario import Device, Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOWEST = 1.0
"""Lowest rate but 0, in bytes or operations a second."""

_MOST = 2**31 - 1  # chunks, queues, slots and ranks in the core
_MOST_BYTES = 2.0**63
_NS_PER_S = 10**9
_NS_PER_DAY = 86400 * _NS_PER_S


def longest_ns(ticks_per_ns: int) -> int:
    """Whole ns a run counts."""
    return (2**63 - 1) // ticks_per_ns


def how_long(ticks_per_ns: int) -> str:
    days = longest_ns(ticks_per_ns) // _NS_PER_DAY
    unit = "picoseconds" if ticks_per_ns > 1 else "nanoseconds"
    return f"{days} days, 2^63 {unit}" if days < 1000 else f"{days // 365} years, 2^63 {unit}"


def check_limits(scenario: Scenario, ticks_per_ns: int) -> None:
    most = longest_ns(ticks_per_ns)
    for where, ns in _times(scenario):
        if ns > most:
            lasts = how_long(ticks_per_ns)
            raise ConfigError(
                where, f"must be at most {most} ns, as a run lasts at most {lasts}; got {ns:g} ns"
            )
    for where, rate, unit in _rates(scenario):
        check_rate(where, rate, unit)
    for where, count in _counts(scenario):
        if count is not None and count > _MOST:
            raise ConfigError(where, f"must be at most {_MOST} (2^31 - 1); got {count}")


def check_sizes(native: _core.Model, graphs: Graphs) -> _core.Work:
    """The work of all ranks.

    Raises TraceError for data beyond the core's range, per node or in all.
    """
    work = _core.work_of(native)
    found = work.too_large
    if found is not None:
        graph, source = graphs.of(found.rank), graphs.sources[graphs.by_rank[found.rank]]
        grows = f"its comm_size grows to {found.bytes:.3g} bytes on the way; the core counts 2^63"
        label = f"node {graph.id[found.node]} '{graph.name(found.node)}'"
        raise TraceError(f"{source}: {label}: {grows}")
    if work.bytes_moved >= _MOST_BYTES:
        raise TraceError(
            f"workload: the run would move {work.bytes_moved:.3g} bytes; the core counts 2^63"
        )
    return work


def check_rate(where: str, per_s: float, unit: str = "B/s") -> None:
    if 0 < per_s < SLOWEST:
        raise ConfigError(where, f"must be at least {SLOWEST:g} {unit}; got {per_s:g} {unit}")


def _times(scenario: Scenario) -> Iterator[tuple[str, float]]:
    for at, dimension in enumerate(scenario.topology.dimensions):
        yield f"cluster.topology[{at}].latency", dimension.latency_ns
    yield "cluster.memory.latency", scenario.memory.latency_ns
    collectives = scenario.collectives
    yield "collectives.endpoint_delay", collectives.endpoint_delay_ns
    yield "collectives.local_reduction_delay", collectives.local_reduction_delay_ns
    if collectives.protocol is not None:
        yield "collectives.protocol.step", collectives.protocol.step_ns or 0
    bus = collectives.shared_bus
    if bus is not None:
        yield "collectives.shared_bus.l", bus.l_ns
        yield "collectives.shared_bus.o", bus.o_ns
        yield "collectives.shared_bus.g", bus.g_ns
        yield "collectives.shared_bus.big_g", bus.big_g_ns_per_byte


def _rates(scenario: Scenario) -> Iterator[tuple[str, float, str]]:
    for at, dimension in enumerate(scenario.topology.dimensions):
        yield f"cluster.topology[{at}].bandwidth", dimension.bytes_per_ns * _NS_PER_S, "B/s"
    yield from _rates_of(scenario.device, "cluster.device")
    for at, part in enumerate(scenario.devices):
        yield from _rates_of(part.device, f"cluster.devices[{at}].device")
    yield "cluster.memory.bandwidth", scenario.memory.bytes_per_ns * _NS_PER_S, "B/s"


def _counts(scenario: Scenario) -> Iterator[tuple[str, int]]:
    yield "cluster.topology", scenario.topology.ranks
    yield "cluster.memory.ranks_per_node", scenario.memory.ranks_per_node
    for name in ("chunks", "active_chunks", "queues_per_dimension"):
        yield f"collectives.{name}", getattr(scenario.collectives, name)
    for name in ("cpu_slots", "compute_streams", "copy_engines"):
        yield f"resources.{name}", getattr(scenario.resources, name) or 0


def _rates_of(device: Device, where: str) -> Iterator[tuple[str, float, str]]:
    yield f"{where}.peak", device.peak_flops, "FLOP/s"
    yield f"{where}.memory_bandwidth", device.memory_bytes_per_s, "B/s"
