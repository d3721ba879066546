"""Result -> the lines ASTRA-sim 2 prints and logs, in its wording and order.

Scripts that parse those lines keep working. Differences, all where upstream is of no use: a rank
with CPU, memory or invalid nodes gets its full statistics (upstream's are lost to an exception),
and of the events of one tick those of lower ranks and nodes come first (upstream's order is that of
its queue), except that ranks finish in the order in which they finished. The debug lines are those
of nodes; upstream's of the roofline are left out.

Source: ASTRA-sim 2 (master of 2026-03), observed on its binaries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from yantra import _core
from yantra._core import NodeClass
from yantra.compile import Model
from yantra.compile.kernels import roofline_of
from yantra.export import local_memory
from yantra.result import Result
from yantra.result.tables import NEVER, NODE_TYPES
from yantra.scenario import COLLECTIVE_TYPES

_CLASSES = {
    NodeClass.GPU: "GPU",
    NodeClass.CPU: "CPU",
    NodeClass.COMMUNICATION: "Comm",
    NodeClass.MEMORY: "Remote mem",
    NodeClass.INVALID: "Invalid",
}
_TREE = "doubleBinaryTree"
_COLLECTIVE_NODE = NODE_TYPES.index("COMM_COLL")
_RING_LOGGER = "system::topology::RingTopology"
_UINT64 = 2**64
_KINDS_WITH_PLAN = (0, 2, 6, 7)  # comm_type of all-reduce, all-gather, all-to-all, reduce-scatter


class Line(NamedTuple):
    """One line of the log, without its time."""

    logger: str
    level: str
    message: str

    def text(self, stamp: str) -> str:
        """Return the line as spdlog's default pattern writes it."""
        return f"[{stamp}] [{self.logger}] [{self.level}] {self.message}"


def stamp() -> str:
    """Return the present time as `YYYY-MM-DD HH:MM:SS.mmm`."""
    now = time.time()
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1000):03d}"


def lines(result: Result) -> Iterator[Line]:
    """Return all lines of a run; those of level debug go to the log file only."""
    yield from _rings(result.model)
    for _, make in sorted(_events(result), key=lambda event: event[0]):
        yield from make()
    yield Line("system", "warning", "Exiting")


# tick, place of the rank within it, phase, node: the order of lines
Key = tuple[int, int, int, int, int]
_COMPLETED, _ISSUED, _COMPLETED_AT_ONCE, _FINISHED = range(4)


def _events(result: Result) -> Iterator[tuple[Key, Callable[[], Iterator[Line]]]]:
    model, outcome = result.model, result.outcome
    finish_order = result.finish_order
    rooflines = [roofline_of(device) for device in model.scenario.all_devices()]
    for place, rank in enumerate(finish_order):
        key = (outcome.finish[rank], place, rank, _FINISHED, 0)
        yield key, partial(_finish, result, rank, rooflines[model.graphs.device(rank)])
    places = {rank: place for place, rank in enumerate(finish_order)}

    def key_of(tick: int, rank: int, phase: int, node: int) -> Key:
        place = places[rank] if tick == outcome.finish[rank] else -1
        return tick, place, rank, phase, node

    if model.groups and not model.scenario.replay_only:
        for tick, rank, node, line in _custom_rings(model, outcome):
            yield key_of(tick, rank, _ISSUED, node), partial(iter, (line,))
    if model.scenario.trace_nodes:
        yield from _node_events(model, outcome, key_of)


def _rings(model: Model) -> Iterator[Line]:
    """Yield the rings rank 0 builds, per collective and dimension."""
    for kind in COLLECTIVE_TYPES:
        names = getattr(model.scenario.collectives, kind)
        offset = 1
        for dimension, name in enumerate(names if isinstance(names, tuple) else ()):
            over_all = name.startswith("one")
            size = model.ranks if over_all else model.scenario.topology.dimensions[dimension].size
            if name != _TREE:
                yield Line(_RING_LOGGER, "info", _ring_text(size, 1 if over_all else offset))
            if over_all:
                break
            offset *= size


def _ring_text(size: int, offset: int) -> str:
    return (
        f"ring of node 0, id: 0 dimension: local total nodes in ring: {size} index in ring: 0 "
        f"offset: {offset} total nodes in ring: {size}"
    )


def _custom_rings(model: Model, outcome: _core.Outcome) -> Iterator[tuple[int, int, int, Line]]:
    """Yield (tick, rank, node, line) of the ring a rank builds for a group's first collective."""
    members_of = {str(group): members for group, members in model.groups}
    for rank in range(model.ranks):
        seen: set[tuple[str, int]] = set()
        for tick, node, group, kind in sorted(_group_collectives(model, outcome, rank)):
            members = members_of.get(group, ())
            if (group, kind) in seen or rank not in members or len(members) == model.ranks:
                continue
            seen.add((group, kind))
            text = (
                f"custom ring, id: {rank}, dimension: local total nodes in ring: {len(members)} "
                f"index in ring: {members.index(rank)} total nodes in ring {len(members)}"
            )
            yield tick, rank, node, Line(_RING_LOGGER, "info", text)


def _group_collectives(
    model: Model, outcome: _core.Outcome, rank: int
) -> Iterator[tuple[int, int, str, int]]:
    graph = model.graphs.of(rank)
    groups, names, kinds = graph.pg_name, model.graphs.group_names(rank), graph.comm_type.value
    starts, first = outcome.start, outcome.first_node[rank]
    for node, node_type in enumerate(graph.type):
        if node_type != _COLLECTIVE_NODE or groups[node] < 0 or starts[first + node] == NEVER:
            continue
        if kinds[node] in _KINDS_WITH_PLAN:
            yield starts[first + node], node, names[groups[node]], kinds[node]


def _node_events(
    model: Model, outcome: _core.Outcome, key_of: Callable[[int, int, int, int], Key]
) -> Iterator[tuple[Key, Callable[[], Iterator[Line]]]]:
    starts, ends = outcome.start, outcome.end
    for rank, first in zip(range(model.ranks), outcome.first_node, strict=False):
        graph = model.graphs.of(rank)
        for node in range(len(graph)):
            start, end = starts[first + node], ends[first + node]
            about = (
                f"node->id={graph.id[node]}, node->name={graph.name(node)}, "
                f"node->type={graph.type[node]}"
            )
            for event, tick, phase in (
                ("issue", start, _ISSUED),
                ("callback", end, _COMPLETED_AT_ONCE if start == end else _COMPLETED),
            ):
                if tick != NEVER:
                    text = f"{event},sys->id={rank}, tick={_cycles(model, tick)}, {about}"
                    line = Line("workload", "debug", text)
                    yield key_of(tick, rank, phase, node), partial(iter, (line,))


def _finish(result: Result, rank: int, roofline: _core.Roofline) -> Iterator[Line]:
    model, outcome = result.model, result.outcome
    finish = outcome.finish[rank]
    exposed = _cycles(model, (finish - outcome.compute_busy[rank]) % _UINT64)
    yield Line(
        "workload",
        "info",
        f"sys[{rank}] finished, {_cycles(model, finish)} cycles, "
        f"exposed communication {exposed} cycles.",
    )
    for text in _statistics(model, outcome, rank, roofline):
        yield Line("statistics", "info", f"sys[{rank}]{text}")
    if model.scenario.track_local_memory:
        peak = local_memory.human_size(local_memory.usage(result, rank).peak_bytes)
        yield Line("workload", "info", f"sys[{rank}] peak memory usage: {peak}")


def _statistics(
    model: Model, outcome: _core.Outcome, rank: int, roofline: _core.Roofline
) -> Iterator[str]:
    used = _core.Roofline() if model.scenario.replay_only else roofline
    statistics = _core.rank_statistics(model.native, outcome, rank, used)
    yield ". Post statistics processing start."
    yield ". Post statistics processing end."
    yield f", Wall time: {_cycles(model, statistics.wall)}"
    for node_class in statistics.classes:
        ticks = _cycles(model, statistics.ticks_of(node_class))
        yield f", {_CLASSES[node_class]} time: {ticks}"
    if statistics.overlap:
        overlap = _cycles(model, statistics.overlap)
        yield f", Total compute-communication overlap: {overlap}"
    if roofline.enabled:
        yield f", Compute bound percentage: {_fixed(100 * statistics.compute_bound)}%"
        yield f", Average compute utilization: {_fixed(100 * statistics.compute_utilisation)}%"
        yield f", Average memory utilization: {_fixed(100 * statistics.memory_utilisation)}%"
        yield f", Average operation intensity: {_fixed(statistics.operation_intensity)}"


def _fixed(value: float) -> str:
    """Write three decimals as upstream does, which prints the x86's not-a-number with its sign."""
    return "-nan" if value != value else f"{value:.3f}"


def _cycles(model: Model, ticks: int) -> int:
    """Return ticks as whole ns; a difference that wrapped around below zero stays wrapped."""
    if ticks >= _UINT64 // 2:
        return _UINT64 - (_UINT64 - ticks) // model.ticks_per_ns
    return ticks // model.ticks_per_ns
