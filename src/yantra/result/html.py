"""Pieces of HTML for notebooks: tables, and bars of stacked parts.

All texts are escaped, as names come from traces.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from yantra.base.text import Grid, count
from yantra.base.units import format_time

MOST_ROWS = 20
_STEPS = {
    "compute": "#2f6fb2",
    "memory": "#9a5fb0",
    "host": "#2a9076",
    "latency": "#d9b310",
    "wire": "#e08214",
    "queued": "#c0392b",
    "hand_over": "#8c6d4f",
    "reduction": "#56a8d8",
    "waiting": "#7b8591",
}
_OTHER = "#b4bbc4"
_WIDTH, _HEIGHT, _LABEL = 480, 16, 96


class Bar(NamedTuple):
    """A bar: its label, and the length of each part by name."""

    label: str
    parts: dict[str, float]


def table_html(
    name: str, columns: Sequence[str], head: Iterable[Sequence[Any]], length: int
) -> str:
    cells = [[cell_text(value) for value in row] for row in head]
    rows = count(length, "row")
    cut = f", of which these are the first {len(cells)}" if length > len(cells) else ""
    return f"<div>{rows_html(columns, cells)}<p>{escape(f'{name}: {rows}{cut}')}</p></div>"


def grid_html(grid: Grid) -> str:
    return rows_html(grid.head, grid.rows)


def bars_html(bars: Sequence[Bar], longest: float, colours: dict[str, str]) -> str:
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


def step_colour(kind: str) -> str:
    return _STEPS.get(kind, _OTHER)


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
            told = escape(f"{name.replace('_', ' ')}: {format_time(length)}")
            pieces.append(
                f'<rect x="{at:.2f}" y="{top + 2}" width="{width:.2f}" height="{_HEIGHT - 4}" '
                f'fill="{colour}"><title>{told}</title></rect>'
            )
            at += width
    return "".join(pieces)


def rows_html(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"

    body = "".join(cells("td", row) for row in rows)
    return f"<table><thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>"


def cell_text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) and value != round(value, 3) else str(value)
