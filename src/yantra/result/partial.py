"""`Partial`: what a run had come to when it was interrupted.

A message counts on its links when sent, so early shares may be too high.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from yantra import _core
from yantra.base.text import as_text, count, filled, format_bytes, shortened
from yantra.base.units import format_time
from yantra.compile import Model
from yantra.result.codes import NEVER, nanoseconds
from yantra.result.network import DimensionUse, dimension_table, dimension_uses, link_table
from yantra.result.table import Table
from yantra.result.tables import node_table, per_rank
from yantra.result.what_ran import what_ran

TABLES = ("ranks", "nodes", "dimensions", "links")
"""Tables of a partial result."""

_SHOWN = 16
_WIDTH = 80


class Partial:
    """What had happened until `until_ns`; in the core's `outcome` the rest is `never`."""

    def __init__(
        self, model: Model, outcome: _core.Outcome, until_ticks: int, nodes_done: int
    ) -> None:
        self.model = model
        self.outcome = outcome
        self.until_ns = until_ticks / model.ticks_per_ns
        self.nodes_done = nodes_done

    @cached_property
    def nodes_of_run(self) -> int:
        classes = set(self.outcome.class_of) if self.outcome.folded else None
        seen: set[int] = set()
        total = 0
        for rank in range(self.model.ranks):
            if classes is not None:
                of_class = self.outcome.class_of[rank]
                if of_class in seen:
                    continue
                seen.add(of_class)
            total += len(self.model.graphs.of(rank))
        return total

    @cached_property
    def finished_ranks(self) -> int:
        return sum(tick != NEVER for tick in self.outcome.finish)

    @cached_property
    def dimension_uses(self) -> list[DimensionUse]:
        """What the links of each dimension, or label of a fabric, had carried."""
        uses = dimension_uses(self.model, self.outcome, self.until_ns)
        if not self.model.keeps_links:
            return uses
        return [
            use._replace(utilisation=min(use.utilisation, 1.0), busy=min(use.busy, 1.0))
            for use in uses
        ]

    @cached_property
    def nodes(self) -> Table:
        """One row per node of every rank; without `end_ns` it had not ended, or not begun."""
        return node_table(self.model, self.outcome)

    @cached_property
    def dimensions(self) -> Table:
        return dimension_table(self.dimension_uses)

    @cached_property
    def links(self) -> Table:
        return link_table(self.model, self.outcome, self.until_ns)

    @cached_property
    def ranks(self) -> Table:
        """One row per rank: its finish, its nodes, and the oldest node under way."""
        rows = per_rank(self.model, self.outcome, self._rank)
        kinds = ("real", "whole", "whole", "whole", "text", "real")
        names = ("finish_ns", "nodes", "nodes_done", "under_way", "oldest", "oldest_start_ns")

        def column(at: int) -> Any:
            return lambda: [row[at] for row in rows]

        columns: dict[str, Any] = {"rank": ("whole", lambda: list(range(self.model.ranks)))}
        for at, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            columns[name] = (kind, column(at))
        return Table("ranks", self.model.ranks, columns)

    @cached_property
    def _starts(self) -> Any:
        return _array(self.outcome.start)

    @cached_property
    def _ends(self) -> Any:
        return _array(self.outcome.end)

    def _rank(self, rank: int) -> tuple[Any, ...]:
        graph, outcome = self.model.graphs.of(rank), self.outcome
        first = outcome.first_node[rank]
        start = self._starts[first : first + len(graph)]
        is_open = self._ends[first : first + len(graph)] == NEVER
        left = int(is_open.sum())
        is_open &= start != NEVER
        open_nodes = is_open.nonzero()[0]
        since = oldest = None
        if len(open_nodes):
            oldest = int(open_nodes[start[open_nodes].argmin()])
            since = int(start[oldest])
        return (
            self._ns(outcome.finish[rank]),
            len(graph),
            len(graph) - left,
            len(open_nodes),
            "" if oldest is None else graph.name(oldest),
            None if since is None else self._ns(since),
        )

    def _ns(self, ticks: int) -> float | None:
        return nanoseconds(ticks, self.model.ticks_per_ns)

    def table(self, name: str) -> Table | None:
        """A table by name; None for one of whole runs only."""
        table: Table | None = getattr(self, name) if name in TABLES else None
        return table

    def sentences(self) -> list[str]:
        of_all = f"{self.nodes_done:,} of {self.nodes_of_run:,} nodes done"
        if self.outcome.folded:
            of_all += " (of one rank of each class)"
        finished = f"{self.finished_ranks} of {count(self.model.ranks, 'rank')} finished"
        return [
            f"PARTIAL: interrupted when the run had come to {format_time(self.until_ns)}",
            f"{of_all}; {finished}",
        ]

    def summary(self) -> str:
        import numpy as np

        from yantra.base.text import Grid

        ran = [filled(text, _WIDTH) for text in what_ran(self.model).clauses]
        head = "\n".join([*self.sentences(), *ran])
        shares = self.ranks["nodes_done"] / np.maximum(self.ranks["nodes"], 1)
        rows = list(self.ranks.rows())
        rows = [rows[at] for at in np.argsort(shares, kind="stable").tolist()]
        ranks = Grid(
            ("rank", "finished", "nodes done", "under way since", "in"),
            [_rank_row(row) for row in rows[:_SHOWN]],
        )
        uses: list[tuple[str, ...]] = [
            (
                f"{use.dimension}: {use.linked}",
                f"{use.messages}",
                format_bytes(use.bytes),
                f"{100 * use.utilisation:.1f} %",
                f"{100 * use.busy:.1f} %",
            )
            for use in self.dimension_uses
        ]
        links = Grid(("dimension", "messages", "carried", "utilisation", "busy"), uses)
        more = len(rows) - _SHOWN
        told = f"\n{count(more, 'more rank')} with a larger share done" if more > 0 else ""
        return "\n\n".join([head, as_text(ranks) + told, as_text(links)])

    def as_dict(self) -> dict[str, Any]:
        return {
            "partial": True,
            "until_ns": self.until_ns,
            "nodes_done": self.nodes_done,
            "nodes": self.nodes_of_run,
            "finished_ranks": self.finished_ranks,
            "folded": self.outcome.folded,
            "events": self.outcome.events,
            "messages": self.outcome.messages,
            "what_ran": what_ran(self.model).as_dict(),
            "tables": {
                name: table.as_dict()
                for name in ("ranks", "dimensions", "links")
                if (table := self.table(name)) is not None
            },
        }


def _rank_row(row: tuple[Any, ...]) -> tuple[str, ...]:
    rank, finish_ns, nodes, done, _, oldest, since_ns = row
    finished = "" if finish_ns is None else format_time(finish_ns)
    since = "" if since_ns is None else format_time(since_ns)
    return f"{rank}", finished, f"{done:,} of {nodes:,}", since, shortened(oldest, 24)


def _array(ticks: Any) -> Any:
    import numpy as np

    return np.asarray(ticks)
