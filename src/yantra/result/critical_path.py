"""`CriticalPath` and its `Step`s: what a run, or one node of it, waited for: what came last of all
that had to come first. docs/concepts/accounting.md defines the kinds.
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
"""Kinds of steps, numbered as in the core."""

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
    "unexplained_device": "unexplained time of the device",
    "unexplained_host": "unexplained time of the host",
    "begin": "a rank's later begin",
    "communication": "communication as recorded",
    "mixed": "mixed",
}
"""Kinds in texts and pictures."""

_NONE = 2**32 - 1


def kind_text(kind: str) -> str:
    return KIND_TEXTS.get(kind, kind.replace("_", " "))


class Step(NamedTuple):
    """One stretch of time and what filled it.

    A message has its sender as `rank` and `node`.
    """

    kind: str
    """What filled it, one of KINDS."""
    rank: int | None
    """The rank that did it, if any."""
    node: int | None
    """The id of the node."""
    name: str
    """The name of the node."""
    start_ns: float
    """Start, in ns from the start of the run."""
    end_ns: float
    """End, in ns from the start of the run."""
    peer: int | None
    """The rank that a message went to."""
    dimension: int | None
    """The dimension that a message crossed, the lowest of several."""

    @property
    def length_ns(self) -> float:
        """How long it took."""
        return self.end_ns - self.start_ns


class CriticalPath:
    """The steps of a run up to the finish of its last rank, and their sums."""

    def __init__(self, model: Model, columns: _core.Steps) -> None:
        self._model = model
        self.columns = columns
        """The core's, in ticks; places in KINDS and in ranks' traces."""

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order; each starts where the one before ends."""
        return tuple(steps_of(self._model, self.columns))

    @property
    def length_ns(self) -> float:
        """The sum of the steps: the makespan."""
        ends, starts = self.columns.end, self.columns.start
        return _ns(ends[-1] - starts[0], self._model.ticks_per_ns) if len(ends) else 0

    def by_kind(self) -> dict[str, float]:
        """Time of every kind in ns; they add up to `length_ns`."""
        ticks = dict.fromkeys(KINDS, 0)
        columns = self.columns
        for kind, start, end in zip(columns.kind, columns.start, columns.end, strict=True):
            ticks[KINDS[kind]] += end - start
        return {kind: _ns(sum_, self._model.ticks_per_ns) for kind, sum_ in ticks.items()}

    def kinds(self) -> list[str]:
        """Kinds of the steps, by first occurrence."""
        return [KINDS[kind] for kind in dict.fromkeys(self.columns.kind)]

    def table(self) -> Table:
        """The steps as a table, in order."""
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
