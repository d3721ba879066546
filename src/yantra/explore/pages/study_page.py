"""A study's page: its front as a picture, all trials, the next dollar, the winner's odds.

The picture shows the first two objectives, logarithmic beyond a factor of ten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log10
from typing import TYPE_CHECKING, Any

from yantra.base.text import count
from yantra.base.units import format_time
from yantra.explore.answers.next_dollar import NextDollar, Worth
from yantra.explore.answers.why import plan_text, winner
from yantra.explore.study.objectives import shown
from yantra.explore.study.point import Run
from yantra.explore.study.study import Finished
from yantra.explore.study.study_file import Study, scale_words
from yantra.export.report.markup import Cell, Head, Html, element, join
from yantra.export.report.markup import table as html_table
from yantra.export.report.shell import Page, Section, render

if TYPE_CHECKING:
    from yantra.explore.answers.odds import Odds

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 640, 340, 76, 16, 16, 52
_TICKS = 4
_DECADE = 10.0


def study_page(
    study: Study,
    finished: Finished,
    dollar: NextDollar,
    odds: Sequence[Odds],
    runs: Mapping[int, Run] | None = None,
) -> str:
    """Return the page as HTML; `runs` are trials with a report."""
    best = finished.trials[winner(study, finished)]
    first = study.objectives[0]
    header = element(
        "section",
        element(
            "p",
            element("span", _shown(first, best[first]), class_="makespan"),
            element("span", f" {_words(first)} at best, on {_name(best)}", class_="unit"),
        ),
        element("p", f"{_count(finished)} The plan: {plan_text(best['plan'])}.", class_="note"),
        id="top",
        aria_label="The answer",
    )
    sections = [
        Section(
            "trials", "Trials", "No other trial beats one on the front in every objective.",
            _trials(study, finished, runs or {}),
        ),
        Section(
            "dollar", "The next dollar",
            f"Offers for trial {dollar.trial}, the best. An offer pays if it costs less than its "
            "'pays up to', in USD per hour and device.",
            _dollar(dollar),
        ),
        Section(
            "odds", "How sure the winner is",
            f"Probability of being the best in {_words(first)}, if errors are independent.",
            _odds(finished, odds),
        ),
    ]  # fmt: skip
    if len(study.objectives) > 1:
        lead = f"{_words(study.objectives[1])} by {_words(first)}; the line joins the front."
        sections.insert(0, Section("front", "The front", lead, _front(study, finished, runs or {})))
    trials = count(len(finished.trials), "trial")
    title = f"{study.model}, global batch {study.global_batch}: {trials}"
    return render(Page(title, header, sections, ("study.js",), ("report.css", "study.css")))


def _count(finished: Finished) -> str:
    broken = sum(bool(one["broken"]) for one in finished.trials)
    what = f"{count(len(finished.trials), 'trial')}, {len(finished.front)} on the front"
    return f"{what}, {broken} not feasible."


def _name(trial: dict[str, Any]) -> str:
    scale = "".join(f", {rate} x{factor:g}" for rate, factor in trial["scale"].items())
    return f"{trial['cluster']}, {trial['ranks']} ranks{scale}"


def _words(objective: str) -> str:
    return objective.replace("_", " ").replace("usd", "USD").replace("kwh", "kWh")


def _axis_words(objective: str) -> str:
    unit = {"memory": ", bytes"}.get(objective, ", s" if "time" in objective else "")
    return _words(objective) + unit


def _shown(objective: str, value: float | None) -> str:
    if value is None:
        return ""
    return format_time(value * 1e9) if "time" in objective else f"{value:.4g}"


def _front(study: Study, finished: Finished, runs: Mapping[int, Run]) -> Html:
    across, up = study.objectives[:2]
    known = [
        (number, one) for number, one in enumerate(finished.trials)
        if one.get(across) is not None and one.get(up) is not None and not one["broken"]
    ]  # fmt: skip
    if not known:
        return element("p", "No trial is feasible.", class_="note")
    x_of, x_ticks = _axis([one[across] for _, one in known], _LEFT, _WIDTH - _RIGHT)
    y_of, y_ticks = _axis([one[up] for _, one in known], _HEIGHT - _BOTTOM, _TOP)
    on_front = sorted(finished.front, key=lambda number: finished.trials[number][across])
    places = {number: (x_of(one[across]), y_of(one[up])) for number, one in known}
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (places[number] for number in on_front))
    points = [
        _point(number, _told(study, number, one), places[number], number in finished.front, runs)
        for number, one in known
    ]
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    drawn = element(
        "svg",
        *_grid(x_ticks, y_ticks),
        element("polyline", points=line),
        *points,
        element("text", _axis_words(across), x=_WIDTH / 2, y=_HEIGHT - 10, text_anchor="middle"),
        element(
            "text", _axis_words(up), x=14, y=middle, text_anchor="middle",
            transform=f"rotate(-90 14 {middle})",
        ),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        class_="study",
        role="img",
        aria_label=f"{_words(up)} by {_words(across)} of {len(known)} trials; the table has them",
    )  # fmt: skip
    return join((drawn, element("p", "", id="told", class_="told note", aria_live="polite")))


def _point(
    number: int, told: str, place: tuple[float, float], is_front: bool, runs: Mapping[int, Run]
) -> Html:
    dot = Html(f'<circle cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="5"/>')
    if number in runs:
        dot = element("a", dot, href=runs[number].report)
    return element(
        "g",
        element("title", told),
        dot,
        class_="front" if is_front else "behind",
        data_trial=number,
        tabindex=None if number in runs else "0",
    )


def _told(study: Study, number: int, trial: dict[str, Any]) -> str:
    values = (f"{_words(name)} {_shown(name, trial.get(name))}" for name in study.objectives)
    return f"trial {number}: {_name(trial)}; {', '.join(values)}; {plan_text(trial['plan'])}"


def _axis(
    values: Sequence[float], start: float, end: float
) -> tuple[Callable[[float], float], list[tuple[float, float]]]:
    """Return an axis's function of place, and its ticks."""
    low, high = min(values), max(values)
    is_log = low > 0 and high / low > _DECADE
    a, b = (log10(low), log10(high)) if is_log else (low, high)
    margin = 0.06 * (b - a) or abs(a) * 0.1 or 1.0
    a, b = a - margin, b + margin

    def place(value: float) -> float:
        at = log10(value) if is_log else value
        return start + (at - a) / (b - a) * (end - start)

    marks = [a + (b - a) * (at + 0.5) / _TICKS for at in range(_TICKS)]
    shown = [10**mark if is_log else mark for mark in marks]
    return place, [(value, place(value)) for value in shown]


def _grid(x_ticks: list[tuple[float, float]], y_ticks: list[tuple[float, float]]) -> list[Html]:
    bottom = _HEIGHT - _BOTTOM
    drawn = []
    for value, x in x_ticks:
        drawn.append(_line(x, x, _TOP, bottom))
        text = f"{value:.3g}"
        drawn.append(element("text", text, x=x, y=bottom + 18, text_anchor="middle"))
    for value, y in y_ticks:
        drawn.append(_line(_LEFT, _WIDTH - _RIGHT, y, y))
        drawn.append(element("text", f"{value:.3g}", x=_LEFT - 6, y=y + 4, text_anchor="end"))
    return drawn


def _line(x1: float, x2: float, y1: float, y2: float) -> Html:
    return Html(f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>')


def _trials(study: Study, finished: Finished, runs: Mapping[int, Run]) -> Html:
    heads = [
        Head("trial"), Head("cluster", False), Head("ranks"), Head("scale", False),
        *(Head(_words(name)) for name in shown(study.objectives, {})),
        *([Head("simulated step", about="Opens the report of the run")] if runs else []),
        Head("front, or broken", False), Head("plan", False),
    ]  # fmt: skip
    on_front = set(finished.front)
    order = sorted(range(len(finished.trials)), key=lambda number: (number not in on_front, number))
    rows = []
    for number in order:
        one = finished.trials[number]
        scale = scale_words(study, one)
        told = shown(study.objectives, one).items()
        values = (Cell(_shown(name, value), value) for name, value in told)
        said = "front" if number in on_front else "; ".join(one["broken"])
        plan = plan_text(one["plan"]) if "plan" in one else ""
        simulated = [_link(runs.get(number))] if runs else []
        start = (str(number), one["cluster"], str(one["ranks"]), scale)
        rows.append((*start, *values, *simulated, said, plan))
    return html_table("Trials", heads, rows)


def _link(run: Run | None) -> Cell:
    if run is None:
        return Cell("")
    return Cell(element("a", format_time(run.time_ns), href=run.report), run.time_ns)


def _dollar(dollar: NextDollar) -> Html:
    names = ("offer", "USD/h", "pays up to", "step time", "saved", "per USD/h of the job", "pays")
    heads = [Head(name, name not in ("offer", "pays")) for name in names]
    return html_table("Offers", heads, [_offer(one) for one in dollar.worths])


def _offer(one: Worth) -> tuple[Cell, ...]:
    price, most, value = one.offer.usd_per_h, one.most_usd_per_h, one.value_ns_per_usd
    pays = {True: "yes", False: "no", None: ""}[one.pays]
    return (
        Cell(f"{one.offer.rate} x{one.offer.factor:g}"),
        Cell("" if price is None else f"{price:g}", price),
        Cell("" if most is None else f"{most:.3g}", most),
        Cell(format_time(one.time_ns), one.time_ns),
        Cell(format_time(one.saved_ns), one.saved_ns),
        Cell("" if value is None else format_time(value), value),
        Cell(f"{pays}, with another plan".removeprefix(", ") if one.other_plan else pays),
    )


def _odds(finished: Finished, odds: Sequence[Odds]) -> Html:
    heads = [Head("trial"), Head("on", False), Head("is best"), Head("beats the winner")]
    rows = [
        (
            str(one.trial),
            _name(finished.trials[one.trial]),
            Cell(f"{100 * one.best:.1f} %", one.best),
            "" if one.beats is None else Cell(f"{100 * one.beats:.1f} %", one.beats),
        )
        for one in odds
    ]
    return html_table("Odds", heads, rows)
