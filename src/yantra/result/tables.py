"""Outcome -> tables: one row per rank, node, collective.

Times are ns from the start of the run: whole where the model counts whole ns, else with the three
decimals of its ps. What never ran has none.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import accumulate
from typing import Any, TypeVar

from yantra import _core
from yantra.compile import Model
from yantra.result.codes import COLLECTIVE_KINDS as COLLECTIVE_KINDS
from yantra.result.codes import NEVER as NEVER
from yantra.result.codes import NODE_TYPES as NODE_TYPES
from yantra.result.columns import Coded, Gathered, Ticks, numbered
from yantra.result.columns import nanoseconds as nanoseconds
from yantra.result.parts import NAMES as PARTS
from yantra.result.table import Column, Table

_Value = TypeVar("_Value")


def per_rank(model: Model, outcome: _core.Outcome, of: Callable[[int], _Value]) -> list[_Value]:
    """`of(rank)` for every rank, asked once for a class of a folded run."""
    if not outcome.folded:
        return [of(rank) for rank in range(model.ranks)]
    known: dict[int, _Value] = {}
    for rank, at in enumerate(outcome.class_of):
        if at not in known:
            known[at] = of(rank)
    return [known[at] for at in outcome.class_of]


def rank_table(model: Model, outcome: _core.Outcome) -> Table:
    """One row per rank: its finish, and where the time up to it went.

    The parts add up to the finish. A moment counts for the first of PARTS under way:
    communication is exposed where the device computes nothing. A posted receive waits until the
    first byte leaves. `communication_ns` has all communication, exposed or not.
    """
    parts: list[tuple[Any, ...]] = []

    def in_ns(ticks: int) -> Any:
        return nanoseconds(ticks, model.ticks_per_ns)

    def row(rank: int) -> tuple[Any, ...]:  # shared by the ranks of a class
        return tuple(in_ns(ticks) for ticks in breakdown(model, outcome, rank))

    def part(index: int) -> Callable[[], list[Any]]:
        def make() -> list[Any]:
            if not parts:
                parts.extend(per_rank(model, outcome, row))
            return [row[index] for row in parts]

        return make

    def finish() -> list[Any]:
        ticks = outcome.finish
        return per_rank(model, outcome, lambda rank: in_ns(ticks[rank]))

    columns: dict[str, Column] = {
        "rank": ("whole", lambda: array("Q", range(model.ranks))),
        "finish_ns": ("real", finish),
    }
    columns |= {f"{name}_ns": ("real", part(index)) for index, name in enumerate(PARTS)}
    columns["communication_ns"] = ("real", lambda: _communication(model, outcome))
    return Table("ranks", model.ranks, columns)


def breakdown(model: Model, outcome: _core.Outcome, rank: int) -> tuple[int, ...]:
    parts = _core.breakdown(model.native, outcome, rank)
    return tuple(getattr(parts, name) for name in PARTS)


def node_table(model: Model, outcome: _core.Outcome) -> Table:
    """One row per node of every rank's trace, by rank and then by id."""
    by_rank, distinct = model.graphs.by_rank, model.graphs.distinct
    begins = node_begins(model)

    def by_graph(column: Callable[[_core.Graph], Any], wrap: Any) -> Callable[[], Gathered]:
        def make() -> Gathered:
            stretches = [column(graph) for graph in distinct]
            return Gathered(begins, lambda rank: stretches[by_rank[rank]], wrap, alike=by_rank)

        return make

    names = Names()
    columns: dict[str, Column] = {
        "rank": ("whole", lambda: numbered(begins)),
        "id": ("id", by_graph(lambda graph: graph.id, lambda ids: ids)),
        "name": ("text", by_graph(names.of, lambda codes: Coded(codes, names.texts))),
        "type": (
            "text",
            by_graph(lambda graph: array("Q", graph.type), lambda some: Coded(some, NODE_TYPES)),
        ),
        "start_ns": ("real", lambda: node_times(model, outcome, outcome.start)),
        "end_ns": ("real", lambda: node_times(model, outcome, outcome.end)),
    }
    return Table("nodes", begins[-1], columns)


def node_begins(model: Model) -> array[int]:
    lengths = [len(graph) for graph in model.graphs.distinct]
    return array("Q", accumulate((lengths[at] for at in model.graphs.by_rank), initial=0))


def node_times(model: Model, outcome: _core.Outcome, ticks: memoryview[int]) -> Gathered:
    lengths = [len(graph) for graph in model.graphs.distinct]
    by_rank, first_node = model.graphs.by_rank, outcome.first_node

    def stretch(rank: int) -> memoryview[int]:
        first = first_node[rank]
        return ticks[first : first + lengths[by_rank[rank]]]

    return Gathered(
        node_begins(model),
        stretch,
        lambda some: Ticks(some, model.ticks_per_ns),
        alike=runs_of(model, outcome),
    )


def runs_of(model: Model, outcome: _core.Outcome) -> list[int]:
    pairs = list(zip(model.graphs.by_rank, outcome.first_node, strict=False))
    places = {pair: at for at, pair in enumerate(dict.fromkeys(pairs))}
    return [places[pair] for pair in pairs]


class Names:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self._places: dict[str, int] = {}

    def of(self, graph: _core.Graph) -> array[int]:
        return array("Q", (self.place(graph.name(node)) for node in range(len(graph))))

    def place(self, name: str) -> int:
        place = self._places.setdefault(name, len(self.texts))
        if place == len(self.texts):
            self.texts.append(name)
        return place


def communication_ticks(model: Model, outcome: _core.Outcome, rank: int) -> int:
    return _core.breakdown(model.native, outcome, rank).communication


def _communication(model: Model, outcome: _core.Outcome) -> list[Any]:
    def under_way(rank: int) -> Any:
        return nanoseconds(communication_ticks(model, outcome, rank), model.ticks_per_ns)

    return per_rank(model, outcome, under_way)
