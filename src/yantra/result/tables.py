"""Outcome -> tables: one row per rank, node, collective.

Times are nanoseconds from the start of the run: whole numbers where the model counts whole
nanoseconds, else with the three decimals of its picoseconds. What never ran has none.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, TypeVar

from yantra import _core
from yantra.compile import Model
from yantra.result.parts import NEVER as NEVER
from yantra.result.parts import Coded, Gathered, Ticks
from yantra.result.parts import nanoseconds as nanoseconds
from yantra.result.table import Column, Table

NODE_TYPES = (
    "INVALID",
    "METADATA",
    "MEM_LOAD",
    "MEM_STORE",
    "COMP",
    "COMM_SEND",
    "COMM_RECV",
    "COMM_COLL",
)
COLLECTIVE_KINDS = (
    "all_reduce",
    "reduce",
    "all_gather",
    "gather",
    "scatter",
    "broadcast",
    "all_to_all",
    "reduce_scatter",
    "reduce_scatter_block",
    "barrier",
)
PARTS = ("compute", "exposed_communication", "exposed_memory", "exposed_host", "idle")
"""Where a rank's time goes, in the order in which a moment with several counts for one."""

_COLLECTIVE_NODE = NODE_TYPES.index("COMM_COLL")
_COMMUNICATION = 2  # place of the class in the core's statistics
_Value = TypeVar("_Value")


def per_rank(model: Model, outcome: Any, of: Callable[[int], _Value]) -> list[_Value]:
    """Return `of(rank)` for every rank, asked once for all ranks of a class of a folded run."""
    if not outcome.folded:
        return [of(rank) for rank in range(model.ranks)]
    known: dict[int, _Value] = {}
    for rank, at in enumerate(outcome.class_of):
        if at not in known:
            known[at] = of(rank)
    return [known[at] for at in outcome.class_of]


def rank_table(model: Model, outcome: Any) -> Table:
    """One row per rank: its finish, and where the time up to it went.

    The five parts add up to the finish exactly. Each moment counts for the first of PARTS that is
    under way: communication is exposed where the rank computes nothing on its device meanwhile.
    `communication_ns` is all time with a collective, send or receive under way, exposed or not.
    """
    parts: list[tuple[int, ...]] = []

    def part(index: int) -> Callable[[], list[Any]]:
        def make() -> list[Any]:
            if not parts:
                parts.extend(per_rank(model, outcome, lambda rank: breakdown(model, outcome, rank)))
            return [nanoseconds(row[index], model.ticks_per_ns) for row in parts]

        return make

    columns: dict[str, Column] = {
        "rank": ("whole", lambda: list(range(model.ranks))),
        "finish_ns": ("real", lambda: [nanoseconds(t, model.ticks_per_ns) for t in outcome.finish]),
    }
    columns |= {f"{name}_ns": ("real", part(index)) for index, name in enumerate(PARTS)}
    columns["communication_ns"] = ("real", lambda: _communication(model, outcome))
    return Table("ranks", model.ranks, columns)


def breakdown(model: Model, outcome: Any, rank: int) -> tuple[int, ...]:
    """Return the PARTS of a rank's time in ticks."""
    parts: tuple[int, ...] = _core.breakdown(model.native, outcome, rank)
    return parts


def node_table(model: Model, outcome: Any) -> Table:
    """One row per node of every rank's trace, by rank and then by id."""
    by_rank, distinct = model.graphs.by_rank, model.graphs.distinct
    lengths = [len(graph) for graph in distinct]
    begins = array("Q", accumulate((lengths[at] for at in by_rank), initial=0))

    def by_graph(column: Callable[[Any], Any], wrap: Any) -> Callable[[], Gathered]:
        def make() -> Gathered:
            stretches = [column(graph) for graph in distinct]
            return Gathered(begins, lambda rank: stretches[by_rank[rank]], wrap)

        return make

    first_node = outcome.first_node

    def times(ticks: Any) -> Callable[[], Gathered]:
        def stretch(rank: int) -> Any:
            first = first_node[rank]
            return ticks[first : first + lengths[by_rank[rank]]]

        return lambda: Gathered(begins, stretch, lambda some: Ticks(some, model.ticks_per_ns))

    def ranks(rank: int) -> array[int]:
        return array("Q", [rank]) * lengths[by_rank[rank]]

    names = Names()
    columns: dict[str, Column] = {
        "rank": ("whole", lambda: Gathered(begins, ranks)),
        "id": ("id", by_graph(lambda graph: graph.id, lambda ids: ids)),
        "name": ("text", by_graph(names.of, lambda codes: Coded(codes, names.texts))),
        "type": (
            "text",
            by_graph(lambda graph: array("Q", graph.type), lambda some: Coded(some, NODE_TYPES)),
        ),
        "start_ns": ("real", times(outcome.start)),
        "end_ns": ("real", times(outcome.end)),
    }
    return Table("nodes", begins[-1], columns)


class Names:
    """The distinct names of nodes, and those of a graph as places among them."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}

    def of(self, graph: Any) -> array[int]:
        """Return the places of the names of a graph's nodes."""
        return array("Q", (self._place(graph.name(node)) for node in range(len(graph))))

    def _place(self, name: str) -> int:
        place = self._places.setdefault(name, len(self.texts))
        if place == len(self.texts):
            self.texts.append(name)
        return place


def collective_table(model: Model, outcome: Any) -> Table:
    """One row per collective and rank that took part, by rank and then by node id.

    `size_bytes` is the trace's comm_size: the whole buffer of a rank, for an all-gather its shard.
    `algorithm_bandwidth_gb_per_s` is that size over the time from issue to completion on the rank,
    in 10^9 bytes per second (the "algbw" of NVIDIA's nccl-tests, doc/PERFORMANCE.md).
    """
    rows = list(_collectives(model, outcome))

    def column(index: int) -> Callable[[], list[Any]]:
        return lambda: [row[index] for row in rows]

    def time(index: int) -> Callable[[], list[Any]]:
        return lambda: [nanoseconds(row[index], model.ticks_per_ns) for row in rows]

    def bandwidth() -> list[Any]:
        return [_bytes_per_ns(row, model.ticks_per_ns) for row in rows]

    columns: dict[str, Column] = {
        "rank": ("whole", column(0)),
        "node": ("id", column(1)),
        "kind": ("text", column(2)),
        "group": ("text", column(3)),
        "size_bytes": ("whole", column(4)),
        "start_ns": ("real", time(5)),
        "end_ns": ("real", time(6)),
        "algorithm_bandwidth_gb_per_s": ("real", bandwidth),
    }
    return Table("collectives", len(rows), columns)


def _communication(model: Model, outcome: Any) -> list[Any]:
    roofline = _core.Roofline()

    def ticks(rank: int) -> int:
        statistics = _core.rank_statistics(model.native, outcome, rank, roofline)
        return int(statistics.class_ticks[_COMMUNICATION])

    return [nanoseconds(t, model.ticks_per_ns) for t in per_rank(model, outcome, ticks)]


def _collectives(model: Model, outcome: Any) -> Iterator[tuple[Any, ...]]:
    distinct = [list(_collectives_of(graph)) for graph in model.graphs.distinct]
    starts, ends = outcome.start, outcome.end
    for rank, (at, first) in enumerate(zip(model.graphs.by_rank, outcome.first_node, strict=False)):
        names = model.graphs.group_names(rank)
        for node, id, kind, group, size_bytes in distinct[at]:
            if ends[first + node] != NEVER:
                name = names[group] if group >= 0 else ""
                times = (starts[first + node], ends[first + node])
                yield (rank, id, kind, name, size_bytes, *times)


def _collectives_of(graph: Any) -> Iterator[tuple[int, int, str, int, int]]:
    for node, node_type in enumerate(graph.type):
        if node_type != _COLLECTIVE_NODE:
            continue
        yield (
            node,
            graph.id[node],
            _kind(_integer(graph.comm_type, node)),
            graph.pg_name[node],
            _integer(graph.comm_size, node) or 0,
        )


def _integer(column: tuple[Any, Any], node: int) -> int | None:
    kinds, values = column
    return values[node] if len(kinds) and kinds[node] == 1 else None


def _kind(number: int | None) -> str:
    known = number is not None and number < len(COLLECTIVE_KINDS)
    return COLLECTIVE_KINDS[number] if known and number is not None else "unknown"


def _bytes_per_ns(row: tuple[Any, ...], ticks_per_ns: int) -> float | None:
    size, start, end = row[4:]
    return size * ticks_per_ns / (end - start) if end > start else None
