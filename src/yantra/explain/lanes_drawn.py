"""The timelines of results as pictures of one scale, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from yantra.base.units import format_time
from yantra.explain.timelines import KINDS, UNITS, Lanes, lanes_of
from yantra.export.report.bars import legend
from yantra.export.report.markup import Html, element
from yantra.export.report.shell import part
from yantra.export.stored import Form

SCRIPT, STYLE = "compare.js", "compare.css"
_NAMES = dict(zip(KINDS, ("kernels", "collectives", "sends", "memory"), strict=True))
_STYLES = dict(zip(KINDS, ("compute", "collective", "message", "memory"), strict=True))
_ROW, _GAP = 10, 2


def drawn(names: Sequence[str], forms: Sequence[Form]) -> Html | None:
    longest = max((form["makespan_ns"] for form in forms), default=0)
    found = [lanes_of(form, longest) for form in forms]
    used = [k for k in KINDS if any(k in lanes.spans for ranks in found for lanes in ranks)]
    if not used:
        return None
    results = [
        _result(name, form["makespan_ns"], longest, ranks, used)
        for name, form, ranks in zip(names, forms, found, strict=True)
    ]
    axis = element(
        "div",
        element("span", "time", class_="bar-name"),
        element("div", id="axis", data_longest=longest),
        class_="bar-row",
    )
    key = legend((_NAMES[kind], _STYLES[kind]) for kind in used)
    return element("div", Html(part("lanes.html")), key, axis, *results, class_="lanes")


def _result(
    name: str, makespan_ns: float, longest_ns: float, ranks: Sequence[Lanes], kinds: Sequence[str]
) -> Html:
    heading = element("h3", name, element("small", f" {format_time(makespan_ns)}"))
    if not ranks:
        said = "It has no times of nodes; yantra run -o keeps them."
        return element("div", heading, element("p", said, class_="note"))
    end = round(UNITS * makespan_ns / longest_ns)
    rows = [_rank(name, lanes, end, kinds) for lanes in ranks]
    return element("div", heading, element("div", *rows, class_="bars"))


def _rank(name: str, lanes: Lanes, end: int, kinds: Sequence[str]) -> Html:
    paths = []
    for at, kind in enumerate(kinds):
        y = at * (_ROW + _GAP)
        spans = lanes.spans.get(kind, [])
        steps = "".join(f"M{start} {y}h{past - start}v{_ROW}H{start}z" for start, past in spans)
        paths.append(element("g", element("path", d=steps), class_=_STYLES[kind]))
    high = len(kinds) * (_ROW + _GAP) - _GAP
    line = element("g", element("line", x1=end, x2=end, y1=0, y2=high), class_="end")
    told = "; ".join(f"{_NAMES[kind]} {100 * lanes.busy.get(kind, 0):.0f} %" for kind in kinds)
    picture = element(
        "svg",
        *paths,
        line,
        viewBox=f"0 0 {UNITS} {high}",
        preserveAspectRatio="none",
        height=high,
        role="img",
        aria_label=f"{name}, rank {lanes.rank}: {told} of its run",
        class_="lane",
    )
    row = (
        element("span", f"rank {lanes.rank}", class_="bar-name"),
        picture,
        element("span", told, class_="bar-text"),
    )
    return element("div", *row, class_="bar-row")
