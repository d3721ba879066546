"""The answer of a plan search in words, as plain values, and as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from yantra.base.text import count, format_bytes, room_text, table
from yantra.base.units import format_time
from yantra.explore.answers.best import FULL, Answer
from yantra.explore.answers.causes import CAUSES, PARTS
from yantra.explore.answers.plan_words import ENDS, also, command_of
from yantra.explore.answers.ranked import Lost, Ranked
from yantra.explore.answers.sizes import Neighbour
from yantra.export.report.markup import Head, element
from yantra.export.report.markup import table as html_table
from yantra.export.report.shell import Page, Section, render
from yantra.fabric.stacks.choice import NOMINAL, ROOFLINE, TOO_FAST

_HEAD = ("#", "time", "MFU", "tokens/s", "memory", "USD/Mtoken")
_PRICES = {
    "published": "a list price",
    "derived": "a list price",
    "estimate": "an estimated price",
    "yours": "your price",
}
"""Whose a price is, by its basis."""
_POWERS = {
    "published": "the data sheet's",
    "derived": "a derived",
    "estimate": "an estimated",
    "yours": "your",
}
"""Whose a power is, by its basis."""
_SURE = ("90 %", "wins")
_AT_SPEEDS = {
    ROOFLINE: f"at speeds of the roofline: usually {TOO_FAST[ROOFLINE]} too fast; give --stack",
    NOMINAL: "at speeds of the data sheet: further from any machine than the roofline",
}
_WORDS = ("recompute", "gradient_dtype", "also")
_FIELD = {"overlap": "overlap_gradients"}


def lines(answer: Answer) -> Iterator[str]:
    yield f"{answer.cluster}, {count(answer.ranks, 'rank')}: {count_words(answer)}"
    yield from (f"  {line}" for line in table((*head(answer), *fields(answer)), rows(answer)))
    yield from (f"  {text}" for text in why(answer))


def count_words(answer: Answer, *, timed: bool = True) -> str:
    judged = f"{answer.legal} legal plans judged" + (
        f" in {answer.judged_s:.1f} s" if timed else ""
    )
    fit = f"{answer.fitting} fit into {room_text(answer.capacity_bytes, answer.reserve_bytes)}"
    if answer.error is None:
        return f"{judged}, {fit}, none simulated"
    exact = f"{answer.simulated} simulated; the closed form is at most {100 * answer.error:.1f} %"
    return f"{judged}, {fit}, {exact} off on these"


def compared(answers: Sequence[Answer]) -> Iterator[str]:
    if len(answers) < 2:
        return
    by: dict[str, Callable[[Ranked], float | None]] = {
        "the fastest": lambda one: one.time_ns,
        "the least money a token": lambda one: one.usd_per_million_tokens,
        "the least energy a token": lambda one: one.kwh_per_million_tokens,
    }
    for words, of in by.items():
        values = [of(answer.ranked[0]) for answer in answers]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            best = answers[known.index(min(known))]
            yield f"{words}: {count(best.ranks, 'rank')} of {best.cluster}"


def why(answer: Answer) -> Iterator[str]:
    best = answer.ranked[0]
    for number, one in enumerate(answer.ranked[1:], start=2):
        lost = format_time(one.time_ns - best.time_ns)
        yield f"{number} loses {lost}: {', '.join(_by(one, best))}"
    yield f"1 is made by: {command_of(answer.model, best.plan, answer.sequence)}"
    if answer.full_gradients_ns is not None and best.plan.gradient_dtype != FULL:
        more = 100 * (answer.full_gradients_ns / best.closed_ns - 1)
        took = format_time(answer.full_gradients_ns)
        yield f"gradients of {FULL} take {took} at best by closed form ({more:+.1f} %)"
    yield from (_lost_words(lost, answer.shown) for lost in answer.lost)
    yield from (_neighbour_words(one, answer) for one in answer.neighbours)
    if best.sure is not None:
        yield f"rests on: {best.sure.rests_on}"
    elif answer.stack in _AT_SPEEDS:
        yield _AT_SPEEDS[answer.stack]
    yield f"not searched: {', '.join(answer.held)}"
    if answer.reserve:
        yield f"reserve: {answer.reserve}"
    numbers = [str(n) for n, one in enumerate(answer.ranked, start=1) if one.not_simulated]
    if numbers:
        reason = next(one.not_simulated for one in answer.ranked if one.not_simulated)
        yield f"by closed form alone (~): {', '.join(numbers)}; {reason}"
    if answer.rates.usd_per_h is None:
        yield "no cost: the cluster states no price; give --price"
    else:
        whose = _PRICES.get(answer.rates.basis or "", "a price")
        yield f"cost by {whose} of {answer.rates.usd_per_h:g} USD/h a device"
    each = best.kwh_per_million_tokens
    if each is None:
        yield "no energy: the cluster states no power"
    else:
        power = f"{_POWERS.get(answer.rates.power_basis or '', 'a')} {answer.rates.power_w:g} W"
        yield f"1 takes {each:.4g} kWh per million tokens, by the law of power and {power} a device"


def as_dict(answer: Answer) -> dict[str, Any]:
    return {
        **answer._asdict(),
        "rates": answer.rates._asdict(),
        "ranked": [_plain(one) for one in answer.ranked],
        "neighbours": [one._asdict() for one in answer.neighbours],
        "lost": [{**lost._asdict(), "plan": split_of(lost, answer.shown)} for lost in answer.lost],
    }


def page(title: str, answers: Sequence[Answer]) -> str:
    fastest = min(answers, key=lambda answer: answer.ranked[0].time_ns)
    best = fastest.ranked[0]
    top = element(
        "section",
        element(
            "p",
            element("span", format_time(best.time_ns), class_="makespan"),
            element("span", f" a step at best, on {fastest.cluster}", class_="unit"),
        ),
        *[
            element("p", f"{one.cluster}: {count_words(one, timed=False)}", class_="note")
            for one in answers
        ],
        id="top",
        aria_label="The answer",
    )
    sections = [
        Section(
            f"cluster{at}",
            answer.cluster,
            " ".join(f"{text}." for text in why(answer)),
            html_table(
                f"Plans on {answer.cluster}",
                [Head(name, name not in _WORDS) for name in (*head(answer), *fields(answer))],
                rows(answer),
            ),
        )
        for at, answer in enumerate(answers)
    ]
    return render(Page(title, top, sections, ("plain.js",), ("report.css",)))


def fields(answer: Answer) -> tuple[str, ...]:
    columns = _columns(answer.shown)
    more = any(also(one.plan, columns) for one in answer.ranked)
    return (*columns, *(("also",) if more else ()))


def _columns(shown: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in shown if name not in ENDS)


def head(answer: Answer) -> tuple[str, ...]:
    return (*_HEAD, *(_SURE if answer.ranked[0].sure is not None else ()))


def rows(answer: Answer) -> list[tuple[str, ...]]:
    columns = _columns(answer.shown)
    found = [_row(number, one, columns) for number, one in enumerate(answer.ranked, start=1)]
    if fields(answer) == columns:
        return found
    more = (also(one.plan, columns) for one in answer.ranked)
    return [(*row, words) for row, words in zip(found, more, strict=True)]


def _row(number: int, one: Ranked, shown: Sequence[str]) -> tuple[str, ...]:
    each = one.usd_per_million_tokens
    return (
        str(number),
        f"{'~' if one.not_simulated else ''}{format_time(one.time_ns)}",
        "" if one.mfu is None else f"{100 * one.mfu:.1f} %",
        f"{one.tokens_per_s:,.0f}",
        format_bytes(one.memory_bytes),
        "" if each is None else f"{each:.4g}",
        *_sure(one),
        *(str(value) for value in split_of(one, shown).values()),
    )


def _sure(one: Ranked) -> tuple[str, ...]:
    if one.sure is None:
        return ()
    ends = (format_time(one.time_ns * end) for end in (one.sure.low, one.sure.high))
    return " to ".join(ends), f"{100 * one.sure.wins:.0f} %"


def split_of(one: Ranked | Lost, shown: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(one.plan, _FIELD.get(name, name)) for name in shown}


def _by(one: Ranked, best: Ranked) -> Iterator[str]:
    differences = [
        (round(theirs - own, 3), CAUSES[name])
        for name, theirs, own in zip(PARTS, one.parts_ns, best.parts_ns, strict=True)
    ]
    for ns, cause in sorted(differences, key=lambda pair: -abs(pair[0])):
        sign = "+" if ns >= 0 else "-"
        yield f"{cause} {sign}{format_time(abs(ns))}"


def _neighbour_words(one: Neighbour, answer: Answer) -> str:
    best = answer.ranked[0].time_ns
    share, ranks = 100 * (one.time_ns / best - 1), 100 * (one.ranks / answer.ranks - 1)
    tokens = 100 * (best * answer.ranks / (one.time_ns * one.ranks) - 1)
    took = f"{format_time(one.time_ns)} by closed form ({share:+.1f} %)"
    each = f"{tokens:+.1f} % tokens/s a device"
    return f"{one.ranks:,} ranks ({ranks:+.1f} %) may be better: {took}, {each}"


def _lost_words(lost: Lost, shown: Sequence[str]) -> str:
    split = " ".join(f"{name}={value}" for name, value in split_of(lost, shown).items())
    lacks = format_bytes(lost.lacks_bytes)
    return f"does not fit by {lacks}: {split}, {format_time(lost.closed_ns)} by closed form"


def _plain(one: Ranked) -> dict[str, Any]:
    parts = dict(zip(PARTS, one.parts_ns, strict=True))
    sure = None if one.sure is None else one.sure._asdict()
    return {**one._asdict(), "plan": dict(vars(one.plan)), "parts_ns": parts, "sure": sure}
