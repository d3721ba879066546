"""A study's page: its front as a picture, all trials, the next dollar, the winner's odds.

The picture shows the first two objectives, logarithmic from a factor of ten on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yantra.base.text import count
from yantra.base.units import format_time
from yantra.explore.answers.next_dollar import NextDollar, Worth
from yantra.explore.answers.why import plan_text, winner
from yantra.explore.study.objectives import KNOWN, shown
from yantra.explore.study.point import Run
from yantra.explore.study.study import Finished
from yantra.explore.study.study_file import Study, scale_words
from yantra.export.report.markup import Cell, Head, Html, element
from yantra.export.report.markup import table as html_table
from yantra.export.report.shell import CHARTS, Page, Section, render

if TYPE_CHECKING:
    from yantra.explore.answers.odds import Odds

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
    data = _picture(study, finished, runs or {}) if len(study.objectives) > 1 else None
    if data is not None:
        lead = f"{_words(study.objectives[1])} by {_words(first)}; the line joins the front."
        none = element("p", "No trial is feasible.", class_="note")
        box = element("div", id="picture", class_="chart") if data["points"] else none
        sections.insert(0, Section("front", "The front", lead, box))
    trials = count(len(finished.trials), "trial")
    title = f"{study.model}, global batch {study.global_batch}: {trials}"
    scripts, styles = (*CHARTS, "points.js", "study.js"), ("uplot.css", "report.css", "study.css")
    return render(Page(title, header, sections, scripts, styles, data))


def _count(finished: Finished) -> str:
    broken = sum(bool(one["broken"]) for one in finished.trials)
    what = f"{count(len(finished.trials), 'trial')}, {len(finished.front)} on the front"
    return f"{what}, {broken} not feasible."


def _name(trial: dict[str, Any]) -> str:
    scale = "".join(f", {rate} x{factor:g}" for rate, factor in trial["scale"].items())
    return f"{trial['cluster']}, {trial['ranks']} ranks{scale}"


def _words(objective: str) -> str:
    return objective.replace("_", " ").replace("usd", "USD").replace("kwh", "kWh")


def _shown(objective: str, value: float | None) -> str:
    if value is None:
        return ""
    return format_time(value * 1e9) if "time" in objective else f"{value:.4g}"


def _picture(study: Study, finished: Finished, runs: Mapping[int, Run]) -> dict[str, Any]:
    across, up = study.objectives[:2]
    known = [
        (number, one) for number, one in enumerate(finished.trials)
        if one.get(across) is not None and one.get(up) is not None and not one["broken"]
    ]  # fmt: skip
    points = [
        {
            "trial": number,
            "at": [one[across], one[up]],
            "front": number in finished.front,
            "name": _name(one),
            "told": _told(study, number, one),
            "report": runs[number].report if number in runs else None,
        }
        for number, one in sorted(known, key=lambda pair: float(pair[1][across]))
    ]
    axes = [_axis(name, [one[name] for _, one in known]) for name in (across, up)]
    label = f"{_words(up)} by {_words(across)} of {len(known)} trials; the table has them"
    return {"points": points, "axes": axes, "label": label}


def _axis(objective: str, values: Sequence[float]) -> dict[str, Any]:
    low = min(values, default=0.0)
    is_log = low > 0 and max(values) / low >= _DECADE
    return {"name": _words(objective), "unit": KNOWN[objective].unit, "log": is_log}


def _told(study: Study, number: int, trial: dict[str, Any]) -> str:
    values = (f"{_words(name)} {_shown(name, trial.get(name))}" for name in study.objectives)
    return f"trial {number}: {_name(trial)}; {', '.join(values)}; {plan_text(trial['plan'])}"


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
