"""Result -> HTML for notebooks: what bounds it, where the time goes, its dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import Any

from yantra.base.text import Grid, count
from yantra.base.units import format_time
from yantra.export.exporter import TextExporter
from yantra.export.summary import summarise
from yantra.result import Result
from yantra.result.html import MOST_ROWS, Bar, bars_html, grid_html
from yantra.result.parts import ALL
from yantra.result.parts import NAMES as PARTS

_MOST_BARS = 12
_COLOURS = {part.name: part.colour for part in ALL}


class Notebook(TextExporter):
    """A result in a notebook; texts of traces are escaped."""

    def pieces(self, result: Result, **options: Any) -> Iterator[str]:
        summary = summarise(result)
        ranks = count(result.model.ranks, "rank")
        semantics = result.model.scenario.semantics
        head = f"{ranks}, {format_time(result.makespan_ns)}, {semantics} semantics"
        ran = escape(result.what_ran.text)
        yield f"<div><p><b>{escape(head)}</b><br>{ran}<br>{escape(summary.bound_by)}</p>"
        if summary.figures:
            yield grid_html(Grid(("figure", "value"), list(summary.figures)))
        yield bars_html(_bars(result), result.makespan_ns, _COLOURS)
        yield from (grid_html(grid) for grid in (summary.ranks, summary.dimensions))
        yield from (f"<p>warning: {escape(text)}</p>" for text in result.warnings[:MOST_ROWS])
        yield "</div>"


def _bars(result: Result) -> list[Bar]:
    columns = [result.ranks.values(f"{part}_ns") for part in PARTS]
    rows = list(zip(*columns, strict=True))
    bars = []
    for row, run in groupby(range(len(rows)), key=lambda rank: rows[rank]):
        ranks = list(run)
        label = f"{ranks[0]}-{ranks[-1]}" if len(ranks) > 1 else f"{ranks[0]}"
        bars.append(Bar(f"rank {label}", dict(zip(PARTS, row, strict=True))))
        if len(bars) > _MOST_BARS:
            break
    if len(bars) <= _MOST_BARS:
        return bars
    finish = result.ranks.values("finish_ns")
    order = sorted(range(len(rows)), key=lambda rank: (finish[rank], rank))
    chosen = {"first": order[0], "median": order[(len(order) - 1) // 2], "last": order[-1]}
    return [
        Bar(f"{name}: {rank}", dict(zip(PARTS, rows[rank], strict=True)))
        for name, rank in chosen.items()
    ]


PLUGIN = Notebook
