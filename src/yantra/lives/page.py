"""The report of lives: where their time goes, how they differ, what interrupts, other policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.output import Path, write_text
from yantra.base.text import count
from yantra.export.report.curves import Bar, Curve, bars, boxes, page
from yantra.export.report.markup import Cell, Head, Html, element, facts, join, table
from yantra.export.report.power import Course, joined
from yantra.export.report.power import section as power_section
from yantra.export.report.shell import Section
from yantra.lives.draws import DAY_NS, NS
from yantra.lives.energy import AFTER
from yantra.lives.play import PARTS
from yantra.lives.words import PARTS as NAMES
from yantra.lives.words import rows, title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.lives.life import Life

_TENTH = 0.1
_BEFORE = 0.2
"""Of the time that a failure takes, as steps before and behind it."""
_POWER = "Of the building for the job's hosts; phases add up to the energy without spare hosts."
_SPENT = "Parts of the time, which add up; bars of lives are in the order of their goodput."
_DIFFER = "The share of lives that have at most a value: chance, and rates that are not known well."
_POLICIES = "Played on the same failures; the difference holds 90 % of lives."


def write_page(life: Life, path: Path) -> None:
    write_text(path, html(life))


def html(life: Life) -> str:
    """Return the page."""
    drawn = list(_curves(life))
    sections = [
        Section("spent", "Where the time goes", _SPENT, join((_bars(life), _parts(life)))),
        Section("lives", "How lives differ", _DIFFER, boxes(drawn)),
        Section("causes", "What interrupts", "", _causes(life)),
        Section("policies", "Other policies", _POLICIES, _policies(life)),
    ]
    courses = list(_courses(life))
    if life.power:
        least = bool(life.question.job.draws and life.question.job.draws.unknown)
        told = power_section(courses, life.power, least)
        sections.insert(1, Section("power-section", "Power", _POWER, told))
    return page(title(life), _head(life), sections, drawn, courses)


def _head(life: Life) -> Html:
    said: dict[str, str] = {}
    last = ""
    for name, text in rows(life):
        last = name or last
        said[last] = f"{said[last]}; {text}" if last in said else text
    said |= {f"UNKNOWN rate of {name}": why for name, why in life.question.rates.unknown}
    goodput = life.goodput
    answer = element(
        "p",
        element("span", f"{goodput.mean:.1%}", class_="makespan"),
        element(
            "span",
            f" of the time is useful, {goodput.low:.1%} to {goodput.high:.1%} in 90 of 100 lives",
            class_="unit",
        ),
    )
    worst = max(life.lost, key=lambda name: life.lost[name])
    told = f"Most is lost to {NAMES[worst]}: {life.lost[worst]:.2%}."
    bound = element("p", told, class_="bound") if life.lost[worst] > 0 else None
    return join(
        (
            answer,
            bound,
            facts(said.items()),
            facts([("rests on", life.question.job.rests_on or "nothing measured")]),
        )
    )


def _shares(life: Life, chosen: Any) -> list[tuple[str, float]]:
    parts = zip(PARTS, life.lives.parts(), strict=True)
    horizon = life.question.horizon
    return [(NAMES[name], float(part[chosen].mean()) / horizon) for name, part in parts]


def _bars(life: Life) -> Html:
    order = np.argsort(life.lives.useful, kind="stable")
    few = max(round(len(order) * _TENTH), 1)
    groups = (
        ("all lives", order), ("the worst tenth", order[:few]), ("the best tenth", order[-few:]),
    )  # fmt: skip
    found = [
        Bar(name, count(len(chosen), "life", "lives", commas=True), _shares(life, chosen))
        for name, chosen in groups
    ]
    return bars(found, 1.0, lambda share: f"{share:.2%}")


def _parts(life: Life) -> Html:
    hours = life.question.horizon / DAY_NS * 24.0
    usd, kwh = life.usd_by_part or {}, life.kwh_by_part or {}
    shares = {"useful": life.goodput.mean} | life.lost
    heads = [Head("part", False), Head("share"), Head("hours"), Head("USD"), Head("kWh")]
    found = []
    for name in (*PARTS, "spares"):
        share = shares.get(name)
        values = (
            (share, "" if share is None else f"{share:.3%}"),
            (share, "" if share is None else f"{share * hours:,.1f}"),
            (usd.get(name), f"{usd[name]:,.0f}" if name in usd else ""),
            (kwh.get(name), f"{kwh[name]:,.0f}" if name in kwh else ""),
        )
        cells = (Cell(text, value) for value, text in values)
        found.append((NAMES.get(name, "spare hosts"), *cells))
    return table("Time, cost and energy by part, means of all lives", heads, found)


def _curves(life: Life) -> Iterator[Curve]:
    useful = life.lives.useful / life.question.horizon
    yield Curve("goodput", "goodput", "lives", "share", useful)
    yield Curve("met", "interruptions", "lives", "count", life.lives.counts.sum(axis=0))
    if life.usd is not None and life.question.job.tokens:
        usd = life.usd / np.maximum(life.tokens_of_lives, 1.0) * 1e6
        yield Curve("usd", "cost of a million tokens", "lives", "usd", usd)


def _courses(life: Life) -> Iterator[Course]:
    """A checkpoint between steps, and what follows a failure."""
    draws = life.question.job.draws
    if draws is None:
        return
    of = {one.name: (one.seconds, one.watts) for one in life.power}
    step = life.question.job.step / NS
    each = [(step / len(draws.profile_w), watts) for watts in draws.profile_w]
    if "checkpoint" in of:
        parts = [*each, *each, of["checkpoint"], *each]
        yield joined("step-power", "Power of two steps, a checkpoint and a step", parts)
    after = [of[name] for name in AFTER if name in of]
    if after:
        whole = [(_BEFORE * sum(seconds for seconds, _ in after), draws.working_w)]
        yield joined("failure-power", "Power around a failure", [*whole, *after, *whole])


def _causes(life: Life) -> Html:
    whole = sum(life.by_component.values()) or 1.0
    causes = sorted(life.by_component.items(), key=lambda item: -item[1])
    heads = [Head("part", False), Head("times in a life"), Head("share")]
    found = [
        (name, Cell(f"{mean:,.2f}", mean), Cell(f"{mean / whole:.1%}", mean))
        for name, mean in causes
    ]
    return table("Interruptions by what fails, means", heads, found)


def _policies(life: Life) -> Html:
    heads = [Head("policy", False), Head("goodput"), Head("difference, points"), Head("90 %")]
    found = [
        (
            one.name,
            Cell(f"{one.goodput:.2%}", one.goodput),
            Cell(f"{one.gains * 100:+.2f}", one.gains),
            Cell(f"{one.low * 100:+.2f} to {one.high * 100:+.2f}", one.low),
        )
        for one in life.bought
    ]
    return table("Goodput of other policies", heads, found)
