"""Results, tables and critical paths as HTML for notebooks.

Colours are few, readable on light and on dark ground, and everything else takes those of the page.
All texts are escaped: names come from traces. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.result.tables import PARTS

if TYPE_CHECKING:
    from yantra.result.critical_path import CriticalPath
    from yantra.result.result import Result
    from yantra.result.summary import Grid
    from yantra.result.table import Table

MOST_ROWS = 20
_MOST_BARS = 12
_COLOURS = {
    "compute": "#4c78a8",
    "exposed_communication": "#f58518",
    "exposed_memory": "#54a24b",
    "exposed_host": "#b279a2",
    "idle": "#a0a0a0",
}
_OTHERS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")
_WIDTH, _HEIGHT, _LABEL = 480, 16, 96


class Bar(NamedTuple):
    """A bar of the chart: its label, and the length of each part by name."""

    label: str
    parts: dict[str, float]


def result_html(result: Result) -> str:
    """Return a result: what bounds it, where the time of its ranks goes, its dimensions."""
    from yantra.result.summary import summarise

    summary = summarise(result)
    ranks = "1 rank" if result.model.ranks == 1 else f"{result.model.ranks} ranks"
    head = f"{ranks}, {_number(result.makespan_ns)} ns, {result.model.scenario.semantics} semantics"
    grids = "".join(grid_html(grid) for grid in (summary.ranks, summary.dimensions))
    warnings = "".join(f"<p>warning: {escape(text)}</p>" for text in result.warnings[:MOST_ROWS])
    return (
        f"<div><p><b>{escape(head)}</b><br>{escape(summary.bound_by)}</p>"
        f"{bars_html(_bars(result), result.makespan_ns, _COLOURS)}{grids}{warnings}</div>"
    )


def table_html(table: Table) -> str:
    """Return the first rows of a table, and how many there are."""
    cells = [[_cell(value) for value in row] for row in table.head(MOST_ROWS)]
    rows = "1 row" if len(table) == 1 else f"{len(table)} rows"
    cut = f", of which these are the first {len(cells)}" if len(table) > len(cells) else ""
    said = escape(f"{table.name}: {rows}{cut}")
    return f"<div>{_rows_html(table.columns, cells)}<p>{said}</p></div>"


def path_html(path: CriticalPath) -> str:
    """Return a critical path: its length by kind, and its longest steps."""
    by_kind = path.by_kind()
    kinds = {kind: length for kind, length in by_kind.items() if length > 0}
    chart = bars_html([Bar("time by kind", kinds)], path.length_ns, colours_of(kinds))
    longest = sorted(path.steps, key=lambda step: step.start_ns - step.end_ns)[:MOST_ROWS]
    head = ("kind", "ns", "rank", "node", "name", "from", "until", "peer", "dimension")
    rows = [[_cell(value) for value in (step.kind, step.length_ns, *step[1:])] for step in longest]
    said = f"{len(path)} steps, {_number(path.length_ns)} ns; the longest:"
    return f"<div>{chart}<p>{escape(said)}</p>{_rows_html(head, rows)}</div>"


def grid_html(grid: Grid) -> str:
    """Return a small table of texts."""
    return _rows_html(grid.head, grid.rows)


def bars_html(bars: Sequence[Bar], longest: float, colours: dict[str, str]) -> str:
    """Return stacked bars, each part with its length as a tooltip, and what the colours mean."""
    if longest <= 0:
        return ""
    shown = {name for bar in bars for name, length in bar.parts.items() if length > 0}
    drawn = "".join(_bar(bar, place, longest, colours) for place, bar in enumerate(bars))
    height = len(bars) * _HEIGHT
    legend = " ".join(
        f'<span style="white-space:nowrap"><span style="color:{colour}">&#9632;</span> '
        f"{escape(name.replace('_', ' '))}</span>"
        for name, colour in colours.items()
        if name in shown
    )
    return (
        f'<svg role="img" aria-label="time by part" width="{_LABEL + _WIDTH}" height="{height}" '
        f'viewBox="0 0 {_LABEL + _WIDTH} {height}" style="max-width:100%">{drawn}</svg>'
        f"<p>{legend}</p>"
    )


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name."""
    return {name: _OTHERS[place % len(_OTHERS)] for place, name in enumerate(names)}


def _bar(bar: Bar, place: int, longest: float, colours: dict[str, str]) -> str:
    top = place * _HEIGHT
    pieces = [
        f'<text x="{_LABEL - 6}" y="{top + 12}" font-size="11" text-anchor="end" '
        f'fill="currentColor">{escape(bar.label)}</text>'
    ]
    at = float(_LABEL)
    for name, colour in colours.items():
        length = bar.parts.get(name, 0)
        if length > 0:
            width = _WIDTH * length / longest
            told = escape(f"{name.replace('_', ' ')}: {_number(length)} ns")
            pieces.append(
                f'<rect x="{at:.2f}" y="{top + 2}" width="{width:.2f}" height="{_HEIGHT - 4}" '
                f'fill="{colour}"><title>{told}</title></rect>'
            )
            at += width
    return "".join(pieces)


def _bars(result: Result) -> list[Bar]:
    """Return a bar for each run of equal ranks, or for the first, median and last to finish."""
    from itertools import groupby

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


def _rows_html(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    return f"<table><thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) and value != round(value, 3) else str(value)


def _number(value: float) -> str:
    return f"{value:,}"
