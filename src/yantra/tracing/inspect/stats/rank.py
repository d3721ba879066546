"""Statistics of one rank's trace.

Recorded durations are summed per kind: concurrent work counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import KINDS, Columns, collective_name
from yantra.tracing.inspect.names import normalised
from yantra.tracing.inspect.paths import critical_path

_DELAYS = "(delay)"
_TOP_OF_PATH = 10
_LATER_PARTS = ("slice", "wait")


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
    native = columns.trace.native
    records = range(len(native))
    kind, duration = columns.kind, columns.duration
    path = critical_path(columns)
    memory = sum(
        columns.tensor_size[node] or 0 for node in range(columns.count) if kind[node] == "memory"
    )
    top = sorted(path.nodes, key=lambda node: (-duration[node], node))[:_TOP_OF_PATH]
    return RankStats(
        nodes=columns.count,
        types={_type_name(type): count for type, count in sorted(Counter(columns.type).items())},
        data_edges=sum(len(native.data_deps(record)) for record in records),
        control_edges=sum(len(native.ctrl_deps(record)) for record in records),
        distinct_edges=len(columns.parent),
        time_us=_sums(kind, duration),
        nodes_of_kind=_sums(kind, [1] * columns.count),
        num_ops=_operations(columns, on_cpu=False),
        host_num_ops=_operations(columns, on_cpu=True),
        **_counted(columns),
        touched_bytes=sum(value or 0 for value in columns.tensor_size) - memory,
        memory_bytes=memory,
        collectives=_collectives(columns),
        messages=_messages(columns),
        unsized=_unsized(columns),
        operators=_operators(columns),
        work_us=sum(duration),
        span_us=path.length,
        span_us_of_kind=_sums([kind[n] for n in path.nodes], [duration[n] for n in path.nodes]),
        path_nodes=len(path.nodes),
        path_top=[PathNode(columns.id[n], columns.name(n), kind[n], duration[n]) for n in top],
        depth=path.depth,
        width=path.width,
        nodes_in_cycles=path.cyclic,
    )


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
    known: dict[str, str] = {}
    for node, (kind, (part, _)) in enumerate(zip(columns.kind, columns.extra.parts(), strict=True)):
        name = columns.name(node)
        if name not in known:
            known[name] = normalised(name)
        key = (_DELAYS if kind == "delay" else known[name], kind)
        counts[key] += part not in _LATER_PARTS
        times[key] += columns.duration[node]
    return _ranked(counts, times)


def _ranked(counts: Counter[tuple[str, str]], times: Counter[tuple[str, str]]) -> list[Operator]:
    order = sorted(counts, key=lambda key: (-times[key], -counts[key], key))
    return [Operator(name, kind, counts[name, kind], times[name, kind]) for name, kind in order]


def _collectives(columns: Columns) -> list[Traffic]:
    calls = _Calls()
    for node, type in enumerate(columns.type):
        if type == NodeType.COMM_COLL:
            what = collective_name(columns.comm_type[node])
            calls.add(columns, node, what, columns.group[node])
    return calls.rows()


def _messages(columns: Columns) -> list[Traffic]:
    calls = _Calls()
    ends: dict[int, tuple[str, list[int | None]]] = {
        NodeType.COMM_SEND: ("send", columns.integers("comm_dst")),
        NodeType.COMM_RECV: ("receive", columns.integers("comm_src")),
    }
    for node, type in enumerate(columns.type):
        if type in ends:
            what, peers = ends[type]
            peer = peers[node]
            calls.add(columns, node, what, "unknown" if peer is None else str(peer))
    return calls.rows()


def _unsized(columns: Columns) -> list[Traffic]:
    calls = _Calls()
    for node, (_, communication) in enumerate(columns.extra.parts()):
        if communication is not None and columns.type[node] == NodeType.COMP:
            calls.add(columns, node, communication, "unknown")
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


def _operations(columns: Columns, *, on_cpu: bool) -> int:
    pairs = zip(columns.integers("num_ops"), columns.is_cpu, strict=True)
    return sum(value or 0 for value, cpu in pairs if cpu == on_cpu)


def _counted(columns: Columns) -> dict[str, int]:
    known = [0, 0]
    rows = zip(
        columns.kind, columns.duration, columns.integers("num_ops"), columns.tensor_size,
        strict=True,
    )  # fmt: skip
    for kind, duration, operations, moved in rows:
        if kind == "gpu_compute":
            known[0] += duration
            known[1] += duration if operations or moved else 0
    return {"kernel_us": known[0], "counted_us": known[1]}


def _sums(kinds: Sequence[str], values: Sequence[int]) -> dict[str, int]:
    sums = dict.fromkeys(KINDS, 0)
    for kind, value in zip(kinds, values, strict=True):
        sums[kind] += value
    return sums


def _type_name(number: int) -> str:
    names: dict[int, Any] = {int(type): type.name for type in NodeType}
    return str(names.get(number, f"type {number}"))
