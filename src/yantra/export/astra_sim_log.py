"""Result -> the lines that ASTRA-sim 2 prints and logs, for scripts that parse them.

Source: ASTRA-sim 2 (master of 2026-03), observed on its binaries.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from yantra import _core
from yantra._core import NodeClass
from yantra.compile import Model
from yantra.compile.as_astra_sim import spelled
from yantra.compile.kernels import roofline_of
from yantra.result import Result
from yantra.result.codes import NEVER, NODE_TYPES
from yantra.scenario import COLLECTIVE_TYPES, Custom

if TYPE_CHECKING:
    from collections.abc import Iterator

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
What = _core.Happening.What
_KINDS_WITH_PLAN = (0, 2, 6, 7)  # comm_type of all-reduce, all-gather, all-to-all, reduce-scatter


class Line(NamedTuple):
    """One line of the log, without its time."""

    logger: str
    level: str
    message: str

    def text(self, stamp: str) -> str:
        return f"[{stamp}] [{self.logger}] [{self.level}] {self.message}"


def stamp() -> str:
    """The present time as `YYYY-MM-DD HH:MM:SS.mmm`."""
    now = time.time()
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1000):03d}"


def lines(result: Result) -> Iterator[Line]:
    """All lines of a run; those of level debug go only to the log file."""
    model = result.model
    yield from _rings(model)
    rings = _GroupRings(model)
    rooflines = [roofline_of(device) for device in model.scenario.all_devices()]
    for what, rank, node in _happenings(result):
        if what is What.FINISHES:
            yield from _finish(result, rank, rooflines[model.graphs.device(rank)])
            continue
        if model.scenario.trace_nodes:
            yield _node_event(result, what, rank, node)
        if what is What.STARTS and not model.scenario.replay_only:
            yield from rings.built(rank, node)
    if not _is_ns3(model):  # which exits before it takes down its systems
        yield Line("system", "warning", "Exiting")


def banner(result: Result) -> list[str]:
    if not _is_ns3(result.model):
        return []
    sizes = [dimension.size for dimension in result.model.scenario.topology.dimensions]
    listed = "".join(f"{size}," for size in sizes)
    return ["ASTRA-sim + NS3", f"There are {result.model.ranks} npus: {listed}"]


def _is_ns3(model: Model) -> bool:
    return model.scenario.fabric is not None


def _happenings(result: Result) -> Iterator[tuple[What, int, int]]:
    model, outcome = result.model, result.outcome
    if not (model.groups or model.scenario.trace_nodes):
        for rank in result.finish_order:
            yield What.FINISHES, rank, 0
    elif outcome.folded:
        yield from _of_folded(model, outcome)
    else:
        for noted in outcome.happenings:
            yield noted.what, noted.rank, noted.node or 0


_ENDS, _STARTS, _ENDS_AT_ONCE, _FINISHES = range(4)


def _of_folded(model: Model, outcome: _core.Outcome) -> Iterator[tuple[What, int, int]]:
    found: list[tuple[int, int, int, int, What]] = []
    for rank, first in zip(range(model.ranks), outcome.first_node, strict=False):
        found.append((outcome.finish[rank], rank, _FINISHES, 0, What.FINISHES))
        for node in range(len(model.graphs.of(rank))):
            start, end = outcome.start[first + node], outcome.end[first + node]
            if start != NEVER:
                ends = _ENDS_AT_ONCE if start == end else _ENDS
                found.append((start, rank, _STARTS, node, What.STARTS))
                found.append((end, rank, ends, node, What.ENDS))
    for _, rank, _, node, what in sorted(found, key=lambda one: one[:4]):
        yield what, rank, node


def _rings(model: Model) -> Iterator[Line]:
    for kind in COLLECTIVE_TYPES:
        chosen = getattr(model.scenario.collectives, kind)
        names = chosen.instead_of if isinstance(chosen, Custom) else chosen or ()
        offset = 1
        for dimension, name in enumerate(names):
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


class _GroupRings:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._members = {str(group): members for group, members in model.groups}
        names = spelled(model.graphs.with_arriving(), self._members) if model.groups else {}
        names |= model.graphs.spellings
        self._members |= {name: self._members[group] for name, group in names.items()}
        self._asked: set[tuple[int, int, int]] = set()
        self._columns: dict[int, tuple[memoryview[int], memoryview[int], memoryview[int]]] = {}

    def built(self, rank: int, node: int) -> Iterator[Line]:
        columns = self._columns.get(rank)
        if columns is None:
            graph = self._model.graphs.of(rank)
            columns = self._columns[rank] = graph.type, graph.pg_name, graph.comm_type.value
        types, groups, kinds = columns
        if types[node] != _COLLECTIVE_NODE or groups[node] < 0:
            return
        asked = rank, groups[node], kinds[node]
        if asked in self._asked:
            return
        self._asked.add(asked)
        _, group, kind = asked
        members = self._members.get(self._model.graphs.group_names(rank)[group], ())
        if kind in _KINDS_WITH_PLAN and rank in members and len(members) < self._model.ranks:
            text = (
                f"custom ring, id: {rank}, dimension: local total nodes in ring: {len(members)} "
                f"index in ring: {members.index(rank)} total nodes in ring {len(members)}"
            )
            yield Line(_RING_LOGGER, "info", text)


def _node_event(result: Result, what: What, rank: int, node: int) -> Line:
    model, outcome = result.model, result.outcome
    starts = what is What.STARTS
    graph = model.graphs.of(rank)
    tick = (outcome.start if starts else outcome.end)[outcome.first_node[rank] + node]
    text = (
        f"{'issue' if starts else 'callback'},sys->id={rank}, tick={_cycles(model, tick)}, "
        f"node->id={graph.id[node]}, node->name={graph.name(node)}, node->type={graph.type[node]}"
    )
    return Line("workload", "debug", text)


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
        from yantra.export.local_memory import human_size, usage

        # The order of ends within a tick does not change how many bytes live.
        peak = human_size(usage(result, rank, {}).peak_bytes)
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
    # upstream prints the x86's not-a-number with its sign
    return "-nan" if value != value else f"{value:.3f}"


def _cycles(model: Model, ticks: int) -> int:
    # a difference that wrapped below zero stays wrapped
    if ticks >= _UINT64 // 2:
        return _UINT64 - (_UINT64 - ticks) // model.ticks_per_ns
    return ticks // model.ticks_per_ns
