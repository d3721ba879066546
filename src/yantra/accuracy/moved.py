"""What a refit moves: factors of stacks, and the mean error of each data set, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from yantra.accuracy.default import Judgement
from yantra.accuracy.suite import Report
from yantra.fabric import stacks
from yantra.fabric.stacks.types import FACTORS, Stack

LEAST = 0.01


class State(NamedTuple):
    """Stacks by name, and mean errors by what they are of, as shares."""

    stacks: Mapping[str, Stack]
    errors: Mapping[str, float]


def state(report: Report, default: Judgement) -> State:
    """Return what is recorded now."""
    errors = {f"{one.dataset}, {one.machine}, {one.kind}": one.known.mean for one in report.lines}
    errors |= {f"{one.name}, default": one.mean for one in (*default.datasets, default.whole)}
    return State({name: stacks.load(name) for name in stacks.names()}, errors)


def moved(before: State, after: State) -> list[str]:
    """Return a line for each machine of a stack, and each error, that moved by a hundredth."""
    lines = [*_factors(before.stacks, after.stacks)]
    for name, error in after.errors.items():
        was = before.errors.get(name)
        if was is None or abs(error - was) >= LEAST:
            lines.append(f"{name}: {'new' if was is None else f'{was:.1%}'} -> {error:.1%}")
    return lines


def _factors(before: Mapping[str, Stack], after: Mapping[str, Stack]) -> Iterator[str]:
    for name, stack in after.items():
        was = dict(before[name].machines) if name in before else {}
        for machine, terms in stack.machines:
            now = [getattr(terms, key).value for key in FACTORS]
            old = [getattr(was[machine], key).value for key in FACTORS] if machine in was else []
            if not old or max(abs(a - b) for a, b in zip(now, old, strict=True)) >= LEAST:
                yield f"{name} {machine}: {_shown(old) or 'new'} -> {_shown(now)}"
    yield from (f"{name}: gone" for name in before if name not in after)


def _shown(factors: Sequence[float]) -> str:
    return " ".join(f"{one:.2f}" for one in factors)
