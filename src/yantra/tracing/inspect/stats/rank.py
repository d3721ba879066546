"""Statistics of one rank's trace.

Recorded durations are summed per kind: concurrent work counts twice.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from yantra import _core
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import KINDS, Columns, Integers, collective_name
from yantra.tracing.inspect.names import normalised
from yantra.tracing.inspect.paths import critical_path

_DELAYS = "(delay)"
_TOP_OF_PATH = 10
_LATER_PARTS = ("slice", "wait")
_AT_ONCE = 1 << 18  # nodes
_EXACT = 1 << 53  # whole numbers up to here are exact as doubles


class Traffic(NamedTuple):
    """Calls of a collective in a group, or messages with a peer."""

    what: str
    with_whom: str
    calls: int
    bytes: int
    time_us: int


class Operator(NamedTuple):
    """Nodes of one kind and normalised name; a call's slices count as one."""

    name: str
    kind: str
    calls: int
    time_us: int


class PathNode(NamedTuple):
    id: int
    name: str
    kind: str
    duration_us: int


class RankStats(NamedTuple):
    """One trace; `work_us` sums durations, `span_us` those of the critical path.

    `unsized`: communication of unknown size or members. `num_ops`: devices' operations;
    `host_num_ops`: CPU operators', often the same work again. `kernel_us`, `counted_us`: time of
    computation on devices, and of what has operations or bytes.
    """

    nodes: int
    types: dict[str, int]
    data_edges: int
    control_edges: int
    distinct_edges: int
    time_us: dict[str, int]
    nodes_of_kind: dict[str, int]
    num_ops: int
    host_num_ops: int
    kernel_us: int
    counted_us: int
    touched_bytes: int
    memory_bytes: int
    collectives: list[Traffic]
    messages: list[Traffic]
    unsized: list[Traffic]
    operators: list[Operator]
    work_us: int
    span_us: int
    span_us_of_kind: dict[str, int]
    path_nodes: int
    path_top: list[PathNode]
    depth: int
    width: int
    nodes_in_cycles: int

    @property
    def average_parallelism(self) -> float | None:
        """Work over span (Brent): workers that could be busy; None without durations."""
        return self.work_us / self.span_us if self.span_us else None


def rank_stats(columns: Columns) -> RankStats:
    native = columns.native
    kind, duration = columns.kind, columns.duration
    path = critical_path(columns)
    sizes = _present(columns.tensor_size)
    memory = total(sizes[np.asarray(kind.places) == KINDS.index("memory")])
    top = sorted(path.nodes, key=lambda node: (-duration[node], node))[:_TOP_OF_PATH]
    types, counts = np.unique(np.asarray(columns.type), return_counts=True)
    on_cpu = np.frombuffer(columns.is_cpu, np.bool_)
    operations = _present(columns.integers("num_ops"))
    return RankStats(
        nodes=columns.count,
        types=dict(zip(map(_type_name, types.tolist()), counts.tolist(), strict=True)),
        data_edges=native.data_edges,
        control_edges=native.control_edges,
        distinct_edges=len(columns.parent),
        time_us=_of_kinds(kind.places, duration),
        nodes_of_kind=_of_kinds(kind.places, np.ones(columns.count, np.uint8)),
        num_ops=total(operations[~on_cpu]),
        host_num_ops=total(operations[on_cpu]),
        **_counted(columns, operations, sizes),
        touched_bytes=total(sizes) - memory,
        memory_bytes=memory,
        collectives=_collectives(columns),
        messages=_messages(columns),
        unsized=_unsized(columns),
        operators=_operators(columns),
        work_us=total(np.asarray(duration)),
        span_us=path.length,
        span_us_of_kind=_of_kinds(
            [kind.places[node] for node in path.nodes], [duration[node] for node in path.nodes]
        ),
        path_nodes=len(path.nodes),
        path_top=[PathNode(columns.id[n], columns.name(n), kind[n], duration[n]) for n in top],
        depth=path.depth,
        width=path.width,
        nodes_in_cycles=path.cyclic,
    )


def total(values: Any) -> int:
    """The exact sum of whole numbers, however large."""
    if not len(values):
        return 0
    most = max(abs(int(values.max())), abs(int(values.min())))
    if most * len(values) < 1 << 63:
        return int(values.sum(dtype=np.int64))
    return sum(values.tolist())


def sums(values: Any, places: Any, count: int) -> list[int]:
    """Exact sums of whole numbers, 0 or more, by place."""
    values, places = np.asarray(values), np.asarray(places, dtype=np.intp)
    if not len(values) or int(values.max()) * len(values) < _EXACT:
        return [int(one) for one in np.bincount(places, values, count)]
    found = [0] * count
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        found[place] += value
    return found


def _present(attribute: Integers) -> Any:
    """An attribute by node, 0 where it is missing."""
    values, kinds = np.asarray(attribute.values), np.asarray(attribute.kinds)
    if not len(kinds):
        return np.zeros(len(attribute), np.int64)
    others = kinds == _core.IntColumn.Kind.OTHER.value
    return np.where(others, 0, values) if others.any() else values  # 0 where absent


def merged_operators(parts: list[tuple[RankStats, int]]) -> list[Operator]:
    counts: Counter[tuple[str, str]] = Counter()
    times: Counter[tuple[str, str]] = Counter()
    for stats, times_run in parts:
        for operator in stats.operators:
            counts[operator.name, operator.kind] += operator.calls * times_run
            times[operator.name, operator.kind] += operator.time_us * times_run
    return _ranked(counts, times)


def _operators(columns: Columns) -> list[Operator]:
    counts: Counter[tuple[str, str]] = Counter()
    times: Counter[tuple[str, str]] = Counter()
    known: dict[int, tuple[str, str]] = {}
    extra = columns.extra
    counted = ~np.logical_or(*(extra.has(extra.part, wanted=part) for part in _LATER_PARTS))
    for begin in range(0, columns.count, _AT_ONCE):
        here = slice(begin, begin + _AT_ONCE)
        codes = np.asarray(columns.graph.name_at)[here].astype(np.int64) * len(KINDS)
        codes += np.asarray(columns.kind.places)[here]
        found, first, which = np.unique(codes, return_index=True, return_inverse=True)
        calls = np.bincount(which[counted[here]], minlength=len(found)).tolist()
        lasting = sums(columns.duration[here], which, len(found))
        for at, code in enumerate(found.tolist()):
            if code not in known:
                known[code] = _named(columns, begin + int(first[at]))
            counts[known[code]] += calls[at]
            times[known[code]] += lasting[at]
    return _ranked(counts, times)


def _named(columns: Columns, node: int) -> tuple[str, str]:
    kind = columns.kind[node]
    return (_DELAYS if kind == "delay" else normalised(columns.name(node)), kind)


def _ranked(counts: Counter[tuple[str, str]], times: Counter[tuple[str, str]]) -> list[Operator]:
    order = sorted(counts, key=lambda key: (-times[key], -counts[key], key))
    return [Operator(name, kind, counts[name, kind], times[name, kind]) for name, kind in order]


def _nodes(columns: Columns, type: NodeType) -> list[int]:
    found: list[int] = np.flatnonzero(np.asarray(columns.type) == type).tolist()
    return found


def _collectives(columns: Columns) -> list[Traffic]:
    calls = _Calls()
    for node in _nodes(columns, NodeType.COMM_COLL):
        what = collective_name(columns.comm_type[node])
        calls.add(columns, node, what, columns.group[node])
    return calls.rows()


def _messages(columns: Columns) -> list[Traffic]:
    calls = _Calls()
    for type, what, end in (
        (NodeType.COMM_SEND, "send", "comm_dst"),
        (NodeType.COMM_RECV, "receive", "comm_src"),
    ):
        peers = columns.integers(end)
        for node in _nodes(columns, type):
            peer = peers[node]
            calls.add(columns, node, what, "unknown" if peer is None else str(peer))
    return calls.rows()


def _unsized(columns: Columns) -> list[Traffic]:
    calls = _Calls()
    extra = columns.extra
    found = extra.has(extra.communication) & (np.asarray(columns.type) == NodeType.COMP)
    for node in np.flatnonzero(found).tolist():
        calls.add(columns, node, extra[node].communication, "unknown")
    return calls.rows()


class _Calls:
    def __init__(self) -> None:
        self.found: dict[tuple[str, str], list[int]] = {}

    def add(self, columns: Columns, node: int, what: str, with_whom: str) -> None:
        sums = self.found.setdefault((what, with_whom), [0, 0, 0])
        sums[0] += 1
        sums[1] += columns.comm_size[node] or 0
        sums[2] += columns.duration[node]

    def rows(self) -> list[Traffic]:
        rows = [Traffic(what, whom, *sums) for (what, whom), sums in self.found.items()]
        return sorted(rows, key=lambda row: (-row.bytes, -row.calls, row.what, row.with_whom))


def _counted(columns: Columns, operations: Any, sizes: Any) -> dict[str, int]:
    kernels = np.asarray(columns.kind.places) == KINDS.index("gpu_compute")
    duration = np.asarray(columns.duration)
    known = kernels & ((operations != 0) | (sizes != 0))
    return {"kernel_us": total(duration[kernels]), "counted_us": total(duration[known])}


def _of_kinds(places: Any, values: Any) -> dict[str, int]:
    return dict(zip(KINDS, sums(values, places, len(KINDS)), strict=True))


def _type_name(number: int) -> str:
    names: dict[int, Any] = {int(type): type.name for type in NodeType}
    return str(names.get(number, f"type {number}"))
