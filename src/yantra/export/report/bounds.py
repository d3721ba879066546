"""How much shorter the run is without each cause of its time."""

from __future__ import annotations

from yantra.base.units import format_time
from yantra.export.report.bars import Piece, bar
from yantra.export.report.markup import Cell, Head, Html, element, join, table
from yantra.export.report.run import Run
from yantra.result.tables import nanoseconds

_LEAST = 0.0005
_NOT_RUN = (
    "Not run, because it would take long. yantra explain runs the job once without each cause."
)
_MORE = (
    "Each row is a run of its own in which the cause takes no time, so no real part gains more. "
    "Gains do not add up. "
)
_ADVICE = "yantra explain RESULT --advice"


def section(run: Run) -> Html:
    gains = run.result.gains
    if gains is None:
        return element("p", _NOT_RUN, class_="note")
    rows = []
    for gain in sorted(gains, key=lambda one: (not one.kind, -one.ticks)):
        share = gain.ticks / run.makespan if run.makespan else 0.0
        if abs(share) < _LEAST:
            continue
        left = nanoseconds(run.makespan - gain.ticks, run.ticks_per_ns) or 0
        rows.append(
            [
                gain.text,
                Cell(f"{100 * share:.1f} %", share),
                Cell(format_time(left), left),
                Cell(_drawn(gain.text, share), share),
            ]
        )
    heads = [
        Head("with", False),
        Head("shorter by"),
        Head("the run takes"),
        Head("of the run", False),
    ]
    return join([table("What the run would gain", heads, rows), _more()])


def _more() -> Html:
    tries = " also tries other speeds and other plans."
    return element("p", _MORE, element("code", _ADVICE), tries, class_="note")


def _drawn(name: str, share: float) -> Html:
    told = f"{name}: {100 * share:.1f} %"
    piece = Piece(name, "gain", max(share, 0.0))
    return bar([piece], 1.0, told, lambda _: "shorter by")
