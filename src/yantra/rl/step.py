"""A step in a mode: parts in their order on the GPUs, how long it is, and where GPUs wait.

* `sync`: generation, reward, switch, log-probabilities, training, refit, switch, on all GPUs.
* `sync-split`: the same without a switch; who generates waits for who trains.
* all others: generation beside training, by the loop (`rollouts.py`) that the mode says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra.base.errors import CapacityError
from yantra.rl.modes import mode_of
from yantra.rl.parts import (
    Machines,
    Parts,
    Widths,
    bounds,
    parts_of,
    sampled,
    whole,
    widths_of,
    written_s,
)
from yantra.rl.rollouts import Rolled, needed, rolled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yantra.rl.lengths import Drawn
    from yantra.rl.question import Question


WORKS = ("generation", "logp", "ref", "train")
"""Causes that are no waiting."""


class Span(NamedTuple):
    """What GPUs do from when to when, in s; `gpus` says which: all, generating or training."""

    gpus: str
    phase: str
    begin: float
    end: float


class Step(NamedTuple):
    """A step of one draw of lengths: seconds, their 90 % interval, and the timeline."""

    seconds: float
    low: float
    high: float
    parts: Parts
    spans: tuple[Span, ...]
    idle: dict[str, float]
    """Share of all GPUs' time that they wait, by cause."""
    mean_length: float
    rolled: Rolled | None = None
    """What the loop says, in modes that generate beside training."""


def step_of(question: Question, drawn: Drawn, machines: Machines, way: int = 0) -> Step:
    """Compute a step with these samples, drawn in that way of the lengths.

    Raises ConfigError and CapacityError, and DeadlockError for a mode in which nothing can go on.
    """
    parts = parts_of(question, machines, drawn)
    widths = widths_of(question, machines)
    seconds, low, high = ends_of(question.mode, parts, widths)
    _check_written(question, machines, seconds)
    if question.waits:
        spans = tuple(_spans(question, parts))
        idle = _idle(question, parts, spans, seconds) | _unasked(question, drawn, seconds, parts)
        return Step(seconds, low, high, parts, spans, idle, drawn.mean)
    draw = question.lengths.ways[way]
    draws = [
        draw(question.prompts, question.generations, question.seed + number)
        for number in range(needed(question))
    ]
    made = rolled(question, machines, draws, parts)
    longer = made.seconds / seconds
    spans = tuple(_lanes(made))
    return Step(
        made.seconds, low * longer, high * longer, parts, spans,
        _waits(question, made) | _unasked(question, drawn, made.seconds, parts), drawn.mean, made,
    )  # fmt: skip


def _check_written(question: Question, machines: Machines, seconds: float) -> None:
    of = question.beside
    if of.checkpoint != "async":
        return
    writes, between = written_s(question, machines.sizes, of.storage), of.checkpoint_every * seconds
    if writes > between:
        raise CapacityError(
            "--set checkpoint_every",
            f"a checkpoint takes {writes:.3g} s to write, and the next begins {between:.3g} s "
            "later; give more steps, or faster storage",
        )


def ends_of(mode: str, parts: Parts, widths: Widths) -> tuple[float, float, float]:
    """Seconds of a step in a mode, and the ends of its 90 % interval."""
    sides = _generating(parts, widths), _training(parts, widths)
    rule = mode_of(mode)
    if not (rule.waits or rule.colocated):
        refit, validation = (parts.refit, widths.around), (parts.validation, widths.generation)
        sides = [*sides[0], refit], [*sides[1], validation]
        ends = [bounds(side) for side in sides]
        seconds = max(sum(one for one, _ in side) for side in sides)
        return seconds, max(low for low, _ in ends), max(high for _, high in ends)
    terms = [*sides[0], *sides[1]]
    low, high = bounds(terms)
    return sum(one for one, _ in terms), low, high


def _generating(parts: Parts, widths: Widths) -> list[tuple[float, float]]:
    made = parts.generation + parts.validation
    return [(made, widths.generation), (parts.reward, widths.around)]


def _training(parts: Parts, widths: Widths) -> list[tuple[float, float]]:
    worked = parts.policy + parts.reference + parts.critic + parts.training
    around = parts.refit + parts.switch + parts.reference_moves + parts.controller
    around += parts.checkpoint
    return [(worked, widths.trainer), (around, widths.around)]


def _spans(question: Question, parts: Parts) -> Iterator[Span]:
    ahead = [
        ("validation", parts.validation), ("generation", parts.generation),
        ("reward", parts.reward),
    ]  # fmt: skip
    behind = [
        ("switch", parts.to_training), ("controller", parts.controller),
        ("log-probabilities", parts.scoring), ("training", parts.training),
        ("checkpoint", parts.checkpoint),
        ("refit", parts.refit), ("switch", parts.to_generation),
    ]  # fmt: skip
    if question.is_colocated:
        yield from _row("all", ahead + behind, 0.0)
        return
    yield from _row("generating", ahead, 0.0)
    yield from _row("training", behind, sum(seconds for _, seconds in ahead))


def _lanes(made: Rolled) -> Iterator[Span]:
    first = "generating" if made.training else "all"
    lanes = (first, made.generating), ("training", made.training)
    for gpus, shares in lanes:
        at = 0.0
        for cause, share in shares.items():
            yield Span(gpus, cause, at, at + share * made.seconds)
            at += share * made.seconds


def _waits(question: Question, made: Rolled) -> dict[str, float]:
    """Shares of all GPUs' time by cause: what they wait for, not what they do."""
    sides = (made.generating, question.generating), (made.training, question.training)
    found: dict[str, float] = {}
    for shares, gpus in sides:
        for cause, share in shares.items():
            if cause not in WORKS:
                name = cause.removeprefix("wait-")
                found[name] = found.get(name, 0.0) + share * gpus / question.gpus
    return found


def _unasked(question: Question, drawn: Drawn, seconds: float, parts: Parts) -> dict[str, float]:
    """Share of all GPUs' time that those of a reward model wait for samples."""
    of = question.reward
    if not of.gpus:
        return {}
    every, _ = sampled(question, drawn)
    busy = of.busy(whole(question, every), seconds) * parts.rounds
    return {"samples": max(1 - busy, 0.0) * of.gpus / question.gpus}


def _row(gpus: str, works: list[tuple[str, float]], at: float) -> Iterator[Span]:
    for phase, seconds in works:
        if seconds > 0:
            yield Span(gpus, phase, at, at + seconds)
            at += seconds


def _idle(
    question: Question, parts: Parts, spans: tuple[Span, ...], seconds: float
) -> dict[str, float]:
    generating, training = question.generating / question.gpus, question.training / question.gpus
    generation = parts.generation / seconds * generating
    found = {"tail": parts.tail * generation, "tool": parts.tool * generation}
    for cause in ("reward", "switch", "controller", "checkpoint", "refit"):
        for one in spans:
            if one.phase == cause:
                share = {"all": generating, "generating": generating, "training": training}[
                    one.gpus
                ]
                found[cause] = found.get(cause, 0.0) + (one.end - one.begin) / seconds * share
    if not question.is_colocated:
        for lane, share, cause in (
            ("generating", generating, "trainer"), ("training", training, "generation"),
        ):  # fmt: skip
            busy = sum(one.end - one.begin for one in spans if one.gpus == lane)
            found[cause] = max(seconds - busy, 0.0) / seconds * share
    return {cause: share for cause, share in found.items() if share > 0}
