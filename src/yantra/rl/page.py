"""The report of a step of post-training: phases by group of GPUs, idle time, staleness, lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.output import Path, write_text
from yantra.base.text import count
from yantra.export.report.curves import Bar, Curve, bars, boxes, page
from yantra.export.report.markup import Cell, Head, Html, element, facts, join, table
from yantra.export.report.shell import Section
from yantra.rl.answer import binding, plans, title
from yantra.rl.modes import modes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.rl.answer import Answer

_WAITS = "waits"
_PHASES = (
    "What each group of GPUs does, in its order; where generation runs beside training, shares of "
    "a mean step. Bars end with the step."
)
_IDLE = "Shares of the time of all GPUs in which they wait, by what they wait for."
_STALE = "Versions of the weights, in mini-batches, between a sample's tokens and its training."
_LENGTHS = "The share of samples that have at most so many tokens: a long tail keeps replicas idle."
_MODES = "The same samples in each mode, the most samples a second first; below is the first."


def write_page(answers: Sequence[Answer], path: Path) -> None:
    write_text(path, html(answers))


def html(answers: Sequence[Answer]) -> str:
    """Return the page of the fastest answer, with the others beside it."""
    ordered = sorted(answers, key=lambda one: -one.samples_per_s)
    best = ordered[0]
    lengths = _lengths(best)
    sections = [
        Section("phases", "Phases", _PHASES, join((phases(best), _seconds(best)))),
        Section("idle", "Where GPUs wait", _IDLE, _idle(ordered)),
        Section("staleness", "Staleness", _STALE, _staleness(best)),
        Section("lengths", "Lengths of samples", _LENGTHS, boxes(lengths)),
    ]
    if len(ordered) > 1:
        sections.insert(0, Section("modes", "Modes", _MODES, _modes(ordered)))
    return page(title(best.question), _head(best), sections, lengths)


def _head(answer: Answer) -> Html:
    said = element(
        "p",
        element("span", f"{answer.seconds:.3g} s", class_="makespan"),
        element(
            "span",
            f" a step, {answer.low:.3g} to {answer.high:.3g} s in 90 of 100 cases",
            class_="unit",
        ),
    )
    bound = element("p", waiting(answer), class_="bound")
    return join((said, bound, facts([("plans", plans(answer.question)), *known(answer)])))


def waiting(answer: Answer) -> str:
    """Say how long GPUs wait, and for what."""
    waits = answer.steps[0].idle
    told = f"GPUs wait {sum(waits.values()):.0%} of their time"
    if waits:
        most = max(waits, key=lambda name: waits[name])
        told += f", most for: {most} ({waits[most]:.0%})"
    return f"{told}."


def known(answer: Answer) -> Iterator[tuple[str, str]]:
    """Rates, cost and energy, and what the answer rests on."""
    yield "samples", f"{answer.samples_per_s:.3g} a second"
    yield "tokens", f"{answer.tokens_per_s:,.0f} a second and GPU"
    if answer.usd is not None:
        yield "cost", f"{answer.usd:,.3g} USD a step"
    if answer.kwh is not None:
        yield "energy", f"{answer.kwh:,.3g} kWh a step"
    yield "rests on", answer.rests_on


def phases(answer: Answer) -> Html:
    """Bars of each group of GPUs."""
    question, step = answer.question, answer.steps[0]
    sizes = {
        "all": question.gpus, "generating": question.generating, "training": question.training,
    }  # fmt: skip
    lanes: dict[str, list[tuple[str, float]]] = {}
    ends: dict[str, float] = {}
    for span in step.spans:
        lane, end = lanes.setdefault(span.gpus, []), ends.get(span.gpus, 0.0)
        if span.begin > end + 1e-9:
            lane.append((_WAITS, span.begin - end))
        lane.append((_told(span.phase), span.end - span.begin))
        ends[span.gpus] = span.end
    found = [Bar(name, f"{sizes[name]:,} GPUs", parts) for name, parts in lanes.items()]
    return bars(found, answer.seconds, lambda seconds: f"{seconds:.3g} s")


def _told(phase: str) -> str:
    return phase.replace("wait-", f"{_WAITS} for ")


def _seconds(answer: Answer) -> Html:
    heads = [Head("GPUs", False), Head("phase", False), Head("seconds"), Head("of the step")]
    found = [
        (
            gpus,
            _told(name),
            Cell(f"{value:.4g}", value),
            Cell(f"{value / answer.seconds:.1%}", value),
        )
        for gpus, lane in answer.steps[0].lanes.items()
        for name, value in lane.items()
    ]
    return table("Phases; those of a group add up to the step", heads, found)


def _idle(answers: Sequence[Answer]) -> Html:
    best = answers[0]
    heads = [Head("for", False), Head("of the GPUs' time"), Head("GPU-seconds a step"), Head("USD")]
    rows = []
    for cause, share in _causes(best):
        cost = "" if best.usd is None else f"{best.usd * share:.3g}"
        seconds = share * best.seconds * best.question.gpus
        cells = (Cell(f"{share:.1%}", share), Cell(f"{seconds:,.0f}", share), Cell(cost, share))
        rows.append((cause, *cells))
    name = modes.shown(best.question.mode)
    return join((waits(answers), table(f"Waiting, {name}", heads, rows)))


def waits(answers: Sequence[Answer]) -> Html:
    """Bars of what GPUs wait for."""
    found = [
        Bar(modes.shown(one.question.mode), f"{one.seconds:.3g} s", _causes(one)) for one in answers
    ]
    return bars(found, 1.0, lambda share: f"{share:.1%}")


def _causes(answer: Answer) -> list[tuple[str, float]]:
    return sorted(answer.steps[0].idle.items(), key=lambda cause: -cause[1])


def _staleness(answer: Answer) -> Html:
    rolled = answer.steps[0].rolled
    if rolled is None:
        return element("p", "None: each step trains what it has made.", class_="note")
    side = binding(answer.steps[0])
    said = facts(
        [
            ("mean", f"{rolled.stale_mean:.3g}"),
            ("most", f"{rolled.stale_most}"),
            ("groups thrown away", f"{rolled.discarded:.2g} for each that is trained"),
            ("tokens computed again", f"{rolled.recomputed:.1%}"),
            ("binds", "neither side" if side is None else side),
        ]
    )
    heads = [Head("mini-batches"), Head("of the samples")]
    rows = [
        (Cell(f"{age}", age), Cell(f"{share:.1%}", share))
        for age, share in rolled.stale_shares.items()
    ]
    shares = [(f"{age}", share) for age, share in rolled.stale_shares.items()]
    drawn = bars([Bar("samples", "by staleness", shares)], 1.0, lambda share: f"{share:.1%}")
    return join((said, drawn, table("Samples by staleness", heads, rows)))


def _lengths(answer: Answer) -> list[Curve]:
    of = answer.question
    drawn = of.lengths.drawn(of.prompts, of.generations, of.seed)[0]
    return [Curve("tokens", "tokens of a sample", "samples", "count", drawn.own)]


def _modes(answers: Sequence[Answer]) -> Html:
    heads = [
        Head("mode", False), Head("step"), Head("90 %"), Head("samples/s"), Head("idle"),
        Head("staleness"), Head("USD a step"),
    ]  # fmt: skip
    rows = []
    for one in answers:
        idle, rolled = sum(one.steps[0].idle.values()), one.steps[0].rolled
        stale = None if rolled is None else rolled.stale_mean
        rows.append(
            (
                modes.shown(one.question.mode),
                Cell(f"{one.seconds:.3g} s", one.seconds),
                Cell(f"{one.low:.3g} to {one.high:.3g} s", one.low),
                Cell(f"{one.samples_per_s:.3g}", one.samples_per_s),
                Cell(f"{idle:.1%}", idle),
                Cell("" if stale is None else f"{stale:.2g}", stale),
                Cell("" if one.usd is None else f"{one.usd:.3g}", one.usd),
            )
        )
    return table(count(len(answers), "mode"), heads, rows)
