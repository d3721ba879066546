"""`CriticalPath` and its `Step`s: what a run, or one node of it, waited for.

Of everything that had to come first, the walk follows what came last, so steps touch and their
lengths add up exactly. Where two came last in the same tick, either would do; the walk takes the
one that the engine handled last. docs/concepts/accounting.md defines the kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from yantra import _core
from yantra.compile import Model
from yantra.result.columns import Kind
from yantra.result.table import Column, Table
from yantra.result.tables import nanoseconds

KINDS = tuple(kind.name.lower() for kind in _core.StepKind.__members__.values())
"""What a step can be, in the order of the core's numbers."""

KIND_TEXTS: Mapping[str, str] = {
    "compute": "kernels",
    "memory": "remote memory",
    "host": "host work",
    "latency": "latency of links",
    "wire": "bytes on links",
    "queued": "waiting for links",
    "hand_over": "hand-overs at endpoints",
    "reduction": "local reductions",
    "waiting": "waiting for a slot or queue",
    "other": "other",
    "mixed": "mixed",
}
"""How texts and pictures call the kinds of steps."""

_NONE = 2**32 - 1


def kind_text(kind: str) -> str:
    """Return how texts call a kind; a kind of a newer version by its own name."""
    return KIND_TEXTS.get(kind, kind.replace("_", " "))


class Step(NamedTuple):
    """One stretch of time and what filled it.

    `rank` and `node` are those that did it: of a message its sender, with `peer` as the rank it
    went to and `dimension` as the one it crossed, the lowest where it crossed several at once.
    """

    kind: str
    """What filled it, one of KINDS."""
    rank: int | None
    """The rank that did it; None if no node did."""
    node: int | None
    """The id of the node."""
    name: str
    """The name of the node."""
    start_ns: float
    """When it begins, in ns from the start of the run."""
    end_ns: float
    """When it ends, in ns from the start of the run."""
    peer: int | None
    """The rank to which a message went."""
    dimension: int | None
    """The dimension that a message crossed, the lowest of several."""

    @property
    def length_ns(self) -> float:
        """How long it took."""
        return self.end_ns - self.start_ns


class CriticalPath:
    """The steps from the start of a run to the finish of its last rank, and their sums.

    `columns` are the core's, in ticks, with places in KINDS and in the traces of ranks.
    """

    def __init__(self, model: Model, columns: _core.Steps) -> None:
        self._model = model
        self.columns = columns
        """The core's columns, in ticks."""

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order; each starts where the one before ends."""
        return tuple(steps_of(self._model, self.columns))

    @property
    def length_ns(self) -> float:
        """The sum of the steps: the makespan of the run."""
        ends, starts = self.columns.end, self.columns.start
        return _ns(ends[-1] - starts[0], self._model.ticks_per_ns) if len(ends) else 0

    def by_kind(self) -> dict[str, float]:
        """Return the time of each kind in ns, of all kinds; they add up to `length_ns`."""
        ticks = dict.fromkeys(KINDS, 0)
        columns = self.columns
        for kind, start, end in zip(columns.kind, columns.start, columns.end, strict=True):
            ticks[KINDS[kind]] += end - start
        return {kind: _ns(sum_, self._model.ticks_per_ns) for kind, sum_ in ticks.items()}

    def kinds(self) -> list[str]:
        """Return the kinds of the steps, in the order in which they first come."""
        return [KINDS[kind] for kind in dict.fromkeys(self.columns.kind)]

    def table(self) -> Table:
        """Return the steps as a table, in their order."""
        kinds: dict[str, Kind] = {
            "kind": "text",
            "rank": "whole",
            "node": "id",
            "name": "text",
            "start_ns": "real",
            "end_ns": "real",
            "peer": "whole",
            "dimension": "whole",
        }

        def column(at: int) -> Callable[[], list[Any]]:
            return lambda: [step[at] for step in self.steps]

        columns: dict[str, Column] = {
            name: (kind, column(Step._fields.index(name))) for name, kind in kinds.items()
        }
        return Table("critical_path", len(self), columns)

    def __len__(self) -> int:
        return len(self.columns.kind)

    def _repr_html_(self) -> str:
        from yantra.base.text import count
        from yantra.base.units import format_time
        from yantra.result.html import MOST_ROWS, Bar, bars_html, cell_text, rows_html, step_colour

        kinds = {kind: length for kind, length in self.by_kind().items() if length > 0}
        chart = bars_html(
            [Bar("time by kind", {kind_text(kind): length for kind, length in kinds.items()})],
            self.length_ns,
            {kind_text(kind): step_colour(kind) for kind in kinds},
        )
        longest = sorted(self.steps, key=lambda step: step.start_ns - step.end_ns)[:MOST_ROWS]
        head = ("kind", "time", "rank", "node", "name", "from", "until", "peer", "dimension")
        rows = [
            [
                kind_text(step.kind),
                format_time(step.length_ns),
                *(cell_text(value) for value in (step.rank, step.node, step.name)),
                *(format_time(at) for at in (step.start_ns, step.end_ns)),
                *(cell_text(value) for value in (step.peer, step.dimension)),
            ]
            for step in longest
        ]
        said = f"{count(len(self), 'step')}, {format_time(self.length_ns)}; the longest:"
        return f"<div>{chart}<p>{said}</p>{rows_html(head, rows)}</div>"

    def __repr__(self) -> str:
        return f"<CriticalPath: {len(self)} steps, {self.length_ns} ns>"


def steps_of(model: Model, columns: _core.Steps, first: int = 0) -> Iterator[Step]:
    """Yield the core's columns of steps as `Step`s, from the `first` on."""
    per_ns = model.ticks_per_ns
    ticks: int | None = None
    until: float = 0
    names: dict[tuple[int, int], tuple[int, str]] = {}
    for kind, rank, node, peer, dimension, start, end in zip(
        columns.kind[first:],
        columns.rank[first:],
        columns.node[first:],
        columns.peer[first:],
        columns.dimension[first:],
        columns.start[first:],
        columns.end[first:],
        strict=True,
    ):
        since = until if start == ticks else _ns(start, per_ns)
        ticks, until = end, _ns(end, per_ns)
        times = (since, until)
        if rank == _NONE:
            yield Step(KINDS[kind], None, None, "", *times, None, None)
            continue
        if (rank, node) not in names:
            graph = model.graphs.of(rank)
            names[rank, node] = (graph.id[node], graph.name(node))
        yield Step(KINDS[kind], rank, *names[rank, node], *times, _known(peer), _known(dimension))


def _known(value: int) -> int | None:
    return None if value == _NONE else value


def _ns(ticks: int, ticks_per_ns: int) -> float:
    return nanoseconds(ticks, ticks_per_ns) or 0
