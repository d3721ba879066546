"""Pages of bars, tables and curves of shares: what lives and steps of post-training have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from yantra.export.report.bars import Piece, legend, row
from yantra.export.report.columns import Columns
from yantra.export.report.markup import Html, element, join
from yantra.export.report.power import Course, as_data
from yantra.export.report.shell import CHARTS, Page, Section, render

_MOST_POINTS = 1_000


class Curve(NamedTuple):
    """Values, and in words what they are and whose; unit `share`, `count` or `usd`."""

    id: str
    title: str
    of: str
    unit: str
    values: Any


class Bar(NamedTuple):
    name: str
    about: str
    parts: Sequence[tuple[str, float]]
    """Names and amounts, in their order."""


def page(
    title: str,
    head: Html,
    sections: Sequence[Section],
    curves: Iterable[Curve],
    courses: Iterable[Course] = (),
) -> str:
    """The page as HTML; a curve, or a course of power, is drawn into the box of its id."""
    columns, drawn = Columns(), []
    for curve in curves:
        values = sorted(map(float, curve.values))
        step = max(len(values) // _MOST_POINTS, 1)
        kept = [*range(step - 1, len(values) - 1, step), len(values) - 1]
        columns.add_reals(f"{curve.id}.at", [values[at] for at in kept])
        columns.add_reals(f"{curve.id}.share", [(at + 1) / len(values) for at in kept])
        drawn.append(curve._replace(values=None)._asdict())
    data = {"curves": drawn, "power": as_data(courses, columns)}
    scripts, styles = (
        (*CHARTS, "ready.js", "power.js", "curves.js"),
        ("uplot.css", "report.css", "curves.css"),
    )
    top = element("section", head, id="top", aria_label="The answer")
    return render(Page(title, top, sections, scripts, styles, data, columns))


def boxes(curves: Iterable[Curve]) -> Html:
    return join(element("div", id=one.id, class_="chart") for one in curves)


def bars(rows: Sequence[Bar], whole: float, show: Callable[[float], str]) -> Html:
    """Bars of one whole with their legend; a name has one colour in all."""
    names = list(dict.fromkeys(name for bar in rows for name, _ in bar.parts))
    style = {name: f"s{at % 10}" for at, name in enumerate(names)}
    drawn = [
        row(
            bar.name, bar.about,
            [Piece(name, style[name], amount) for name, amount in bar.parts],
            whole, show,
        )
        for bar in rows
    ]  # fmt: skip
    return join((legend(style.items()), element("div", *drawn, class_="bars wide")))
