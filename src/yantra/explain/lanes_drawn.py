"""The timelines of results as charts of one scale, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from yantra.base.units import format_time
from yantra.explain.timelines import KINDS, UNITS, Lanes, lanes_of
from yantra.export.report.bars import legend
from yantra.export.report.columns import Columns
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.shell import CHARTS
from yantra.export.stored import Form

SCRIPTS, STYLES = (*CHARTS, "ready.js", "compare.js"), ("uplot.css", "report.css", "compare.css")
_NAMES = dict(zip(KINDS, ("kernels", "collectives", "sends", "memory"), strict=True))
_STYLES = dict(zip(KINDS, ("compute", "collective", "message", "memory"), strict=True))


class Drawn(NamedTuple):
    """Boxes of charts, and what is drawn into them."""

    boxes: Html
    data: dict[str, Any]
    columns: Columns


def drawn(names: Sequence[str], forms: Sequence[Form]) -> Drawn | None:
    longest = max((form["makespan_ns"] for form in forms), default=0)
    found = [lanes_of(form, longest) for form in forms]
    used = [k for k in KINDS if any(k in lanes.spans for ranks in found for lanes in ranks)]
    if not used:
        return None
    columns = Columns()
    boxes, results = [], []
    for at, (name, form, ranks) in enumerate(zip(names, forms, found, strict=True)):
        boxes.append(_box(at, name, form["makespan_ns"], ranks))
        for place, lanes in enumerate(ranks):
            _add(columns, f"lanes.{at}.{place}", lanes)
        shown = [lanes.rank for lanes in ranks]
        results.append({"name": name, "makespan_ns": form["makespan_ns"], "ranks": shown})
    kinds = [{"name": _NAMES[kind], "style": _STYLES[kind]} for kind in used]
    data = {"kinds": kinds, "longest_ns": longest, "unit_ns": longest / UNITS, "results": results}
    key = legend((_NAMES[kind], _STYLES[kind]) for kind in used)
    parts = [key, *boxes, _shares(names, found, used)]
    return Drawn(element("div", *parts, class_="lanes"), {"lanes": data}, columns)


def _box(at: int, name: str, makespan_ns: float, ranks: Sequence[Lanes]) -> Html:
    heading = element("h3", name, element("small", f" {format_time(makespan_ns)}"))
    if not ranks:
        said = "It has no times of nodes; yantra run -o keeps them."
        return join((heading, element("p", said, class_="note")))
    return join((heading, element("div", id=f"lanes-{at}", class_="chart")))


def _add(columns: Columns, name: str, lanes: Lanes) -> None:
    for kind, spans in lanes.spans.items():
        columns.add(f"{name}.{_STYLES[kind]}.start", [start for start, _ in spans])
        columns.add(f"{name}.{_STYLES[kind]}.end", [past for _, past in spans])


def _shares(names: Sequence[str], found: Sequence[Sequence[Lanes]], kinds: Sequence[str]) -> Html:
    heads = [Head("result", False), Head("rank"), *(Head(_NAMES[kind]) for kind in kinds)]
    rows = [
        [name, str(lanes.rank), *(_share(lanes.busy.get(kind, 0.0)) for kind in kinds)]
        for name, ranks in zip(names, found, strict=True)
        for lanes in ranks
    ]
    return table("Shares of a run in which a rank is at work", heads, rows)


def _share(share: float) -> Cell:
    return Cell(f"{100 * share:.1f} %", share)
