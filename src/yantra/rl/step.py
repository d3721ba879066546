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


WORKS = ("validation", "generation", "log-probabilities", "training")
"""Phases that are no waiting."""
_ORDER = (
    "wait-generation", "validation", "generation", "tail", "tool", "reward", "wait-reward",
    "wait-stop", "switch", "controller", "log-probabilities", "training", "checkpoint", "refit",
    "wait-trainer",
)  # fmt: skip
_CALLED = {
    "logp": "log-probabilities", "ref": "log-probabilities", "train": "training",
    "trainer": "wait-trainer",
}  # fmt: skip
_WITHIN = {
    "controller": "log-probabilities", "checkpoint": "log-probabilities", "validation": "refit",
}  # fmt: skip
"""Of which phase of the loop (`rollouts.job_of`) a part is a constant."""


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

    @property
    def lanes(self) -> dict[str, dict[str, float]]:
        """Seconds by group of GPUs and phase; those of a group add up to the step.

        Generation has its tail and tools; `wait-` is what the group waits for.
        """
        found: dict[str, dict[str, float]] = {}
        for one in self.spans:
            lane = found.setdefault(one.gpus, {})
            name = "generation" if one.phase in ("tail", "tool") else one.phase
            lane[name] = lane.get(name, 0.0) + one.end - one.begin
        return found


def step_of(question: Question, drawn: Drawn, machines: Machines, way: int = 0) -> Step:
    """Compute a step with these samples, drawn in that way of the lengths.

    Raises ConfigError and CapacityError, and DeadlockError for a mode in which nothing can go on.
    """
    parts = parts_of(question, machines, drawn)
    widths = widths_of(question, machines)
    seconds, low, high = ends_of(question.mode, parts, widths)
    _check_written(question, machines, seconds)
    if question.waits:
        spans = tuple(_spans(question, parts, seconds))
        idle = _idle(question, spans, seconds) | _unasked(question, drawn, seconds, parts)
        return Step(seconds, low, high, parts, spans, idle, drawn.mean)
    draw = question.lengths.ways[way]
    draws = [
        draw(question.prompts, question.generations, question.seed + number)
        for number in range(needed(question))
    ]
    made = rolled(question, machines, draws, parts)
    longer = made.seconds / seconds
    spans = tuple(_lanes(made, parts))
    return Step(
        made.seconds, low * longer, high * longer, parts, spans,
        _idle(question, spans, made.seconds) | _unasked(question, drawn, made.seconds, parts),
        drawn.mean, made,
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


def _spans(question: Question, parts: Parts, seconds: float) -> Iterator[Span]:
    tail, tool = parts.tail * parts.generation, parts.tool * parts.generation
    ahead = [
        ("validation", parts.validation), ("generation", parts.generation - tail - tool),
        ("tail", tail), ("tool", tool), ("reward", parts.reward),
    ]  # fmt: skip
    behind = [
        ("switch", parts.to_training), ("controller", parts.controller),
        ("log-probabilities", parts.scoring), ("training", parts.training),
        ("checkpoint", parts.checkpoint),
        ("refit", parts.refit), ("switch", parts.to_generation),
    ]  # fmt: skip
    if question.is_colocated:
        yield from _row("all", ahead + behind)
        return
    made = sum(took for _, took in ahead)
    yield from _row("generating", [*ahead, ("wait-trainer", seconds - made)])
    yield from _row("training", [("wait-generation", made), *behind])


def _lanes(made: Rolled, parts: Parts) -> Iterator[Span]:
    first = "generating" if made.training else "all"
    for gpus, shares in ((first, made.generating), ("training", made.training)):
        took = dict.fromkeys(_ORDER, 0.0)
        for cause, share in shares.items():
            took[_CALLED.get(cause, cause)] += share * made.seconds
        for name, within in _WITHIN.items():
            moved = min(getattr(parts, name), took[within])
            took[within] -= moved
            is_waited = name == "validation" and gpus == "training"
            took["wait-generation" if is_waited else name] += moved
        yield from _row(gpus, list(took.items()))


def _unasked(question: Question, drawn: Drawn, seconds: float, parts: Parts) -> dict[str, float]:
    """Share of all GPUs' time that those of a reward model wait for samples."""
    of = question.reward
    if not of.gpus:
        return {}
    every, _ = sampled(question, drawn)
    busy = of.busy(whole(question, every), seconds) * parts.rounds
    return {"samples": max(1 - busy, 0.0) * of.gpus / question.gpus}


def _row(gpus: str, works: list[tuple[str, float]]) -> Iterator[Span]:
    at = 0.0
    for phase, seconds in works:
        if seconds > 0:
            yield Span(gpus, phase, at, at + seconds)
            at += seconds


def _idle(question: Question, spans: tuple[Span, ...], seconds: float) -> dict[str, float]:
    """Shares of all GPUs' time by cause: all that is no work."""
    sizes = {
        "all": question.shared, "generating": question.generating, "training": question.training,
    }  # fmt: skip
    found: dict[str, float] = {}
    for one in spans:
        if one.phase not in WORKS:
            cause = one.phase.removeprefix("wait-")
            share = (one.end - one.begin) / seconds * sizes[one.gpus] / question.gpus
            found[cause] = found.get(cause, 0.0) + share
    return found
