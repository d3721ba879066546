"""Power over time of a run or a life: curves, and phases with what each draws."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from yantra.export.report.markup import Cell, Head, Html, element, join, table

if TYPE_CHECKING:
    from yantra.export.report.columns import Columns
    from yantra.result.energy import Energy, Phase


_WHOLE = 1e3


class Course(NamedTuple):
    """W of the building over time: from `times_s[i]` on it draws `watts[i]`."""

    id: str
    title: str
    times_s: list[float]
    watts: list[float]
    end_s: float


def of_run(of: Energy) -> Course:
    """The mean of each equal part."""
    each = of.seconds / len(of.profile_w)
    times = [at * each for at in range(len(of.profile_w))]
    return Course("power", "Power of the building over the run", times, [*of.profile_w], of.seconds)


def joined(id: str, title: str, parts: Iterable[tuple[float, float]]) -> Course:
    """A course of parts of so many s and W, one after another."""
    times, watts, end = [], [], 0.0
    for seconds, drawn in parts:
        times.append(end)
        watts.append(drawn)
        end += seconds
    return Course(id, title, times, watts, end)


def section(courses: Iterable[Course], phases: Iterable[Phase], least: bool) -> Html:
    """Boxes of the curves, and a table; `least` if some of the power is unknown."""
    boxes = (element("div", id=one.id, class_="chart") for one in courses)
    heads = [Head("phase", False), Head("s, each"), Head("kW"), Head("times"), Head("kWh, all")]
    rows = [
        (
            one.name,
            *(_cell(value) for value in (one.seconds, one.watts / 1e3, one.times, one.kwh)),
        )
        for one in phases
    ]
    told = [table("What the building draws by phase", heads, rows)] if rows else []
    if least:
        told.append(element("p", "At least: some of it nobody states.", class_="note"))
    return join((*boxes, *told))


def _cell(value: float) -> Cell:
    return Cell(f"{value:,.0f}" if value >= _WHOLE else f"{value:.4g}", value)


def as_data(courses: Iterable[Course], columns: Columns) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for one in courses:
        columns.add_reals(f"{one.id}.at", [seconds * 1e9 for seconds in one.times_s])
        columns.add_reals(f"{one.id}.watts", one.watts)
        found.append({"id": one.id, "title": one.title, "end": one.end_s * 1e9})
    return found
