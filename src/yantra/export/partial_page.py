"""A partial result as a page, marked as partial."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from yantra.base.output import Path, write_text
from yantra.base.units import format_time
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.shell import Page, Section, render
from yantra.result.partial import Partial
from yantra.result.table import Table
from yantra.result.what_ran import what_ran

_MOST_ROWS = 1_000  # of a table on the page; files have all


def write_page(partial: Partial, path: Path) -> None:
    write_text(path, page(partial))


def page(partial: Partial) -> str:
    how_far, what_is_done = partial.sentences()
    ran = what_ran(partial.model)
    header = join(
        [
            element("p", element("span", how_far, class_="makespan")),
            element("p", f"{what_is_done}. Nothing here says how long the run takes."),
            element("p", ran.text),
        ]
    )
    sections = [
        Section("ranks", "Ranks", "What each had done, and was doing.", _table(partial.ranks)),
        Section(
            "network",
            "Network",
            f"What links had carried until {format_time(partial.until_ns)}.",
            join([_table(partial.dimensions), _table(partial.links)]),
        ),
    ]
    return render(Page(f"Partial: {ran.short}", header, sections, ("plain.js",), ("report.css",)))


def _table(of: Table) -> Html:
    heads = [Head(name.replace("_", " "), of.kind(name) != "text") for name in of.columns]
    return table(of.name, heads, islice(_rows(of), _MOST_ROWS))


def _rows(of: Table) -> Iterator[list[Cell]]:
    for row in of.rows():
        yield [Cell("") if value is None else Cell(f"{value}", value) for value in row]
