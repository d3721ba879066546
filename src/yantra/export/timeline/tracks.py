"""Nodes -> slices on their rank's tracks: device (`compute`), CPU (`host`), remote memory
(`memory`), sends, receives, and each group's collectives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.chakra.schema import NODE_TRAITS
from yantra.collectives.bandwidth import buffer_bytes, bus_factor
from yantra.export.timeline.sink import Sink, Writer
from yantra.result import Recording, Result
from yantra.result.accounting import COLLECTIVE_PARTS
from yantra.result.collectives import Members
from yantra.result.tables import COLLECTIVE_KINDS, NEVER, NODE_TYPES

if TYPE_CHECKING:
    from yantra.export.timeline.messages import Messages

Wholes = np.ndarray[Any, np.dtype[np.uint64]]
WHOLE, REAL, TEXT = _core.ArgumentKind.WHOLE, _core.ArgumentKind.REAL, _core.ArgumentKind.TEXT
ABSENT = np.uint64(2**64 - 1)
_COMPUTE, _HOST, _MEMORY, _SENDS, _RECEIVES, _OTHER, _COLLECTIVES = range(7)
_NAMES = (
    "compute",
    "host",
    "memory",
    "communication: sends",
    "communication: receives",
    "other",
)
_CATEGORIES = ("compute", "host", "memory", "send", "receive", "other", "collective")
_TRACK_OF_LANE = {
    "compute": _COMPUTE,
    "memory": _MEMORY,
    "send": _SENDS,
    "receive": _RECEIVES,
    "collective": _COLLECTIVES,
}
_ALL_RANKS = "all ranks"


class NamedColumn(NamedTuple):
    """An argument of every slice or message; ABSENT where one has none."""

    name: int
    kind: _core.ArgumentKind
    values: Wholes

    def native(self) -> _core.Argument:
        return _core.Argument(self.name, self.kind, self.values)


class Trace(NamedTuple):
    """What slices of all ranks that run a trace share; columns are by node.

    `track` counts kinds of tracks, then from `_COLLECTIVES` on groups: that of all ranks, the first
    named one, and so on. `kinds` are places in COLLECTIVE_KINDS, `involved` masks of dimensions of
    collectives without a group.
    """

    ids: Wholes
    track: Wholes
    names: Wholes
    categories: Wholes
    sizes: Wholes
    kinds: Wholes
    involved: Wholes
    arguments: list[NamedColumn]


def trace_columns(graph: _core.Graph, writer: Writer) -> Trace:
    types = np.asarray(graph.type)
    kinds = np.full(len(NODE_TYPES), _OTHER, np.int64)
    for type, traits in NODE_TRAITS.items():
        kinds[type] = _TRACK_OF_LANE[traits.lane]
    known = (types >= 0) & (types < len(NODE_TYPES))
    track: Any = np.where(known, kinds[np.where(known, types, 0)], _OTHER)
    track[(track == _COMPUTE) & (integers(graph.is_cpu_op, len(graph)) == 1)] = _HOST
    categories = np.array([writer.text(name) for name in _CATEGORIES], np.uint64)[track]
    collective = track == _COLLECTIVES
    groups = np.maximum(np.asarray(graph.pg_name).astype(np.int64), -1)
    track = np.where(collective, _COLLECTIVES + 1 + groups, track).astype(np.uint64)
    names = np.array([writer.text(graph.name(node)) for node in range(len(graph))], np.uint64)
    sizes = integers(graph.comm_size, len(graph))
    masks = np.asarray(graph.involved_mask).astype(np.uint64)
    return Trace(
        np.asarray(graph.id),
        track,
        names,
        categories,
        sizes,
        np.minimum(integers(graph.comm_type, len(graph)), np.uint64(len(COLLECTIVE_KINDS))),
        masks if len(masks) else np.zeros(len(graph), np.uint64),
        _arguments(graph, writer, collective),
    )


def integers(column: _core.IntColumn, length: int) -> Wholes:
    kinds, values = np.asarray(column.kind), np.asarray(column.value)
    if not len(kinds):
        return np.full(length, ABSENT)
    known = kinds == _core.IntColumn.Kind.INTEGER.value
    return np.where(known & (values < 2**63), values, ABSENT)


def _arguments(graph: _core.Graph, writer: Writer, collective: Any) -> list[NamedColumn]:
    number = integers(graph.comm_type, len(graph))
    texts = [writer.text(name) for name in COLLECTIVE_KINDS]
    kinds = np.array([*texts, writer.text("unknown")], np.uint64)
    named = kinds[np.minimum(number, np.uint64(len(COLLECTIVE_KINDS))).astype(np.int64)]
    found = [
        ("id", WHOLE, np.asarray(graph.id)),
        ("collective", TEXT, np.where(collective, named, ABSENT)),
        ("size_bytes", WHOLE, integers(graph.comm_size, len(graph))),
        ("tensor_bytes", WHOLE, integers(graph.tensor_size, len(graph))),
        ("operations", WHOLE, integers(graph.num_ops, len(graph))),
        ("source", WHOLE, integers(graph.comm_src, len(graph))),
        ("destination", WHOLE, integers(graph.comm_dst, len(graph))),
        ("tag", WHOLE, integers(graph.comm_tag, len(graph))),
    ]
    return [
        NamedColumn(writer.text(name), kind, values)
        for name, kind, values in found
        if np.any(values != ABSENT)
    ]


class Tracks:
    def __init__(self, result: Result, sink: Sink) -> None:
        self._model = result.model
        self._sink = sink
        self._first = result.outcome.first_node
        self._start = np.asarray(result.outcome.start)
        self._end = np.asarray(result.outcome.end)
        self._traces: dict[int, Trace] = {}
        self._recorded: dict[str, Wholes] = {}
        self._parts_at = np.zeros(0, np.int64)
        if result.recorded:
            self._read_recording(result.recording)

    def write(self, rank: int, process: int, messages: Messages) -> None:
        trace = self._trace(rank)
        first = self._first[rank]
        start = self._start[first : first + len(trace.ids)]
        end = self._end[first : first + len(trace.ids)]
        ran = np.flatnonzero(end != NEVER)
        rows = _core.rows_of(trace.track[ran], start[ran], end[ran])
        order = np.asarray(rows.order).astype(np.int64)
        nodes = ran[order]
        tracks = self._open(rank, process, trace.track[nodes], np.asarray(rows.row)[order])
        ticks = np.uint64(self._model.ticks_per_ns)
        begins, ends = start[nodes] // ticks, end[nodes] // ticks
        arguments = [column._replace(values=column.values[nodes]) for column in trace.arguments]
        arguments += self._of_rank(rank, trace, nodes, end - start)
        arguments += self._accounts(first, len(trace.ids), nodes)
        place = np.full(len(trace.ids), -1)
        place[nodes] = np.arange(len(nodes))
        slices = _core.Slices(
            track=tracks,
            name=trace.names[nodes],
            category=trace.categories[nodes],
            start=begins,
            end=ends,
            arguments=[column.native() for column in arguments],
        )
        self._sink.writer.slices(slices, messages.ends(rank, place))

    def _read_recording(self, recording: Recording) -> None:
        self._recorded["slack"] = np.asarray(recording.slack_ticks)
        parts = recording.collective_parts
        self._parts_at = np.asarray(parts.place).astype(np.int64)
        for name in COLLECTIVE_PARTS:
            self._recorded[name] = np.asarray(getattr(parts, name))

    def _accounts(self, first: int, count: int, nodes: Any) -> list[NamedColumn]:
        found = []
        low, high = np.searchsorted(self._parts_at, [first, first + count])
        for name, ticks in self._recorded.items():
            by_node = np.full(count, ABSENT)
            if name == "slack":
                by_node = ticks[first : first + count]
            else:
                by_node[self._parts_at[low:high] - first] = ticks[low:high]
            shown = by_node[nodes]
            known = (shown != ABSENT) & ((shown > 0) | (name == "slack"))
            if not known.any():
                continue
            exact = (shown / np.float64(self._model.ticks_per_ns)).view(np.uint64)
            text = self._sink.writer.text(f"{name}_ns")
            found.append(NamedColumn(text, REAL, np.where(known, exact, ABSENT)))
        return found

    def _trace(self, rank: int) -> Trace:
        at = self._model.graphs.by_rank[rank]
        if at not in self._traces:
            graph = self._model.graphs.distinct[at]
            self._traces[at] = trace_columns(graph, self._sink.writer)
        return self._traces[at]

    def _open(self, rank: int, process: int, track: Wholes, row: Wholes) -> Wholes:
        length = np.uint64(int(row.max()) + 1 if len(row) else 1)
        rows, at = np.unique(track * length + row, return_inverse=True)
        groups = self._model.graphs.group_names(rank)
        made = [
            self._sink.track(process, _name(int(key // length), groups)) for key in rows.tolist()
        ]
        return np.array(made, np.uint64)[at]

    def _of_rank(self, rank: int, trace: Trace, nodes: Any, duration: Any) -> list[NamedColumn]:
        text = self._sink.writer.text
        groups = ["", *self._model.graphs.group_names(rank)]
        names = [text(name or _ALL_RANKS) for name in groups]
        track = trace.track[nodes]
        collective = track >= _COLLECTIVES
        group = np.where(collective, track - np.uint64(_COLLECTIVES), 0).astype(np.int64)
        named = np.where(collective, np.array(names, np.uint64)[group], ABSENT)
        known = collective & (trace.sizes[nodes] != ABSENT) & (duration[nodes] > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = trace.sizes[nodes] * float(self._model.ticks_per_ns) / duration[nodes]
        parts, factors = self._conventions(rank, trace, nodes, known)
        bus = rate * parts * factors
        return [
            NamedColumn(text("group"), TEXT, named),
            NamedColumn(
                text("algorithm_bandwidth_gb_per_s"),
                REAL,
                np.where(known, (rate * parts).view(np.uint64), ABSENT),
            ),
            NamedColumn(
                text("bus_bandwidth_gb_per_s"),
                REAL,
                np.where(known & np.isfinite(bus), bus.view(np.uint64), ABSENT),
            ),
        ]

    def _conventions(self, rank: int, trace: Trace, nodes: Any, known: Any) -> tuple[Any, Any]:
        parts, factors = np.ones(len(nodes)), np.full(len(nodes), np.nan)
        members = Members(self._model, rank)
        columns = (trace.kinds, trace.track - np.uint64(_COLLECTIVES), trace.involved)
        keys = np.stack([column[nodes[known]] for column in columns], axis=1)
        found, which = np.unique(keys, axis=0, return_inverse=True)
        made = []
        for kind, group, involved in found.tolist():
            name = COLLECTIVE_KINDS[kind] if kind < len(COLLECTIVE_KINDS) else ""
            ranks = members.of(group, involved)
            factor = bus_factor(name, ranks)
            made.append((buffer_bytes(name, 1, ranks), np.nan if factor is None else float(factor)))
        if made:
            parts[known], factors[known] = np.array(made)[which.reshape(-1)].T
        return parts, factors


def _name(track: int, groups: Any) -> str:
    if track < _COLLECTIVES:
        return _NAMES[track]
    group = track - _COLLECTIVES - 1
    named = groups[group] if group >= 0 else ""
    return f"communication: group {named}" if named else f"communication: {_ALL_RANKS}"
