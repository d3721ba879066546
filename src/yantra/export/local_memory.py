"""Result -> local memory over time: live tensors, peak, and a trace per rank.

As ASTRA-sim's `track-local-mem`: nodes name tensors they read and write (attributes `inputs` and
`outputs`, name and bytes in turn), from issue to completion. A tensor lives from its first write's
start (the run's, if read before) to the end of its last-completing read, for ever without one.
Tensors of no bytes do not count; a second write, at which upstream stops, changes nothing.

The trace is Chrome's trace-event JSON, byte for byte upstream's: see `local_memory_trace.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from yantra import _core
from yantra.result import Result
from yantra.result.tables import NEVER

_UNDEFINED_NS = 10
_ENDS = _core.Happening.What.ENDS
_LIST = _core.TensorColumn.Kind.LIST.value


class Access(NamedTuple):
    """A node reads or writes a tensor; times in ticks."""

    tensor: str
    size_bytes: int
    node_id: int
    node_name: str
    start: int
    end: int


class Lifetime(NamedTuple):
    """A tensor is live from `start` up to `end`; None if nobody ever reads it."""

    tensor: str
    size_bytes: int
    start: int
    end: int | None


class Usage(NamedTuple):
    """One rank's memory: accesses, lifetimes, and (tick, live bytes) where it changes."""

    reads: list[Access]
    writes: list[Access]
    lifetimes: list[Lifetime]
    timeline: list[tuple[int, int]]
    peak_bytes: int


def ended_in_order(result: Result) -> dict[int, list[int]]:
    ended: dict[int, list[int]] = {}
    for noted in result.outcome.happenings:
        if noted.what is _ENDS and noted.node is not None:
            ended.setdefault(noted.rank, []).append(noted.node)
    return ended


def usage(result: Result, rank: int, ended: dict[int, list[int]] | None = None) -> Usage:
    """For many ranks pass `ended` from `ended_in_order`."""
    ended = ended_in_order(result) if ended is None else ended
    graph = result.model.graphs.of(rank)
    reads: list[Access] = []
    writes: list[Access] = []
    born: dict[str, tuple[int, int]] = {}
    died: dict[str, int] = {}
    for node, start, end in _completions(result, rank, ended.get(rank)):
        for tensor, size_bytes in _tensors(graph, graph.inputs, node):
            if tensor not in born:
                born[tensor] = size_bytes, 0
                until = _UNDEFINED_NS * result.model.ticks_per_ns
                writes.append(Access(tensor, size_bytes, 2**64 - 1, "UNDEFINED", 0, until))
            reads.append(Access(tensor, size_bytes, graph.id[node], graph.name(node), start, end))
            died[tensor] = end
        for tensor, size_bytes in _tensors(graph, graph.outputs, node):
            born.setdefault(tensor, (size_bytes, start))
            writes.append(Access(tensor, size_bytes, graph.id[node], graph.name(node), start, end))
    lifetimes = [Lifetime(t, size, start, died.get(t)) for t, (size, start) in born.items()]
    timeline = _timeline(lifetimes)
    return Usage(reads, writes, lifetimes, timeline, max((live for _, live in timeline), default=0))


def human_size(size_bytes: int) -> str:
    value, units = float(size_bytes), ["B", "KB", "MB", "GB", "TB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.2f} {units[0]}"


def _completions(result: Result, rank: int, ended: list[int] | None) -> list[tuple[int, int, int]]:
    outcome = result.outcome
    first = outcome.first_node[rank]
    past = first + len(result.model.graphs.of(rank))
    times = list(zip(outcome.start[first:past], outcome.end[first:past], strict=True))
    if ended and not outcome.folded:
        return [(node, *times[node]) for node in ended]
    ran = [(node, start, end) for node, (start, end) in enumerate(times) if end != NEVER]
    return sorted(ran, key=lambda row: (row[2], row[1], row[0]))


def _tensors(
    graph: _core.Graph, column: _core.TensorColumn, node: int
) -> Iterator[tuple[str, int]]:
    if not len(column.kind) or column.kind[node] != _LIST:
        return
    for at in range(column.begin[node], column.begin[node + 1]):
        if column.size_bytes[at]:
            yield graph.tensor_names[column.tensor[at]], column.size_bytes[at]


def _timeline(lifetimes: list[Lifetime]) -> list[tuple[int, int]]:
    changes: dict[int, int] = {}
    for life in lifetimes:
        changes[life.start] = changes.get(life.start, 0) + life.size_bytes
        if life.end is not None:
            changes[life.end] = changes.get(life.end, 0) - life.size_bytes
    live = 0
    timeline = []
    for tick in sorted(changes):
        live += changes[tick]
        timeline.append((tick, live))
    return timeline
