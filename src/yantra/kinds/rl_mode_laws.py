"""The laws every mode of post-training keeps, and a command that checks one against them.

    python -m yantra.kinds.rl_mode_laws one-off
    python -m yantra.kinds.rl_mode_laws path/to/my_mode.py

A law plays the job that a mode makes of a case, or asks the mode. Lengths are random; iterations
take 10 ticks and one a token.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import NamedTuple

import numpy as np

from yantra.base import contract
from yantra.base.contract import Contract, first_broken
from yantra.base.errors import ConfigError
from yantra.base.text import count
from yantra.rl.groups import Groups
from yantra.rl.job import Job
from yantra.rl.laws import Law as Phase
from yantra.rl.laws import Ticks
from yantra.rl.loop import run
from yantra.rl.modes import Asked, Mode, loop_of, mode_of
from yantra.rl.schedule import Schedule

_STEPS = 4
_SAMPLES = 3
_SPARE = 12  # steps whose groups are there beyond those that are trained


class Case(NamedTuple):
    """A step's question, and the share of its groups that are thrown away."""

    asked: Asked
    filtered: float = 0.0

    def __str__(self) -> str:
        of = self.asked
        ahead = f", {of.staleness} ahead" if of.staleness else ""
        return f"{of.prompts} prompts in mini-batches of {of.minibatch}{ahead}, {of.refit_rule}"

    def job(self, mode: Mode) -> Job:
        draw = Random(repr(self))
        asked = self.asked
        loop = loop_of(mode, asked)
        each = loop.groups_per_step or asked.prompts
        steps = _STEPS * asked.prompts // each
        count = round((_STEPS + _SPARE) * asked.prompts / (1 - self.filtered))
        samples = count * _SAMPLES
        return Job(
            groups=Groups.columns(
                prompt=20,
                sizes=[_SAMPLES] * count,
                output=[draw.randrange(1, 60) for _ in range(samples)],
                reward=[draw.randrange(9) for _ in range(samples)],
                filtered=[draw.random() < self.filtered for _ in range(count)],
            ),
            iteration=Ticks(10, 1),
            placement="colocated" if mode.colocated else "split",
            replicas=2,
            seats=8,
            steps=steps,
            groups_per_step=each,
            groups_per_minibatch=asked.minibatch,
            train=Phase(100, 1),
            logp=Phase(20),
            refit=30,
            switch=0 if not mode.colocated else 15,
            **loop.fields(),
        )

    def play(self, mode: Mode) -> Schedule:
        return run(self.job(mode))


def cases(mode: Mode) -> tuple[Case, ...]:
    """Cases that a mode may be asked."""
    ahead = (1, 3) if mode.counts else (mode.ahead,)
    return tuple(
        Case(Asked(prompts, minibatch, staleness, 0, refit_rule, kv), filtered)
        for staleness in ahead
        for prompts, minibatch, refit_rule, kv, filtered in (
            (4, 4, "drain", "keep", 0.0),
            (6, 2, "pause", "keep", 0.0),
            (6, 3, "in-flight", "recompute", 0.0),
            (4, 2, "pause", "recompute", 0.3),
        )
    )


Law = Callable[[Mode, Case], str | None]


def it_makes_a_job(mode: Mode, case: Case) -> str | None:
    try:
        case.job(mode).check()
    except ConfigError as error:
        return str(error)
    return None


def the_same_is_said_twice(mode: Mode, case: Case) -> str | None:
    first, again = loop_of(mode, case.asked), loop_of(type(mode)(), case.asked)
    return None if first == again else f"{first}, then {again}"


def the_job_plays_to_its_end(mode: Mode, case: Case) -> str | None:
    played = case.play(mode)
    if played.status == "ok":
        return None
    ended = int((played.ended >= 0).sum())
    return f"after {ended} of {played.job.steps} steps nothing runs, and no group may start"


def every_step_trains_its_groups(mode: Mode, case: Case) -> str | None:
    trained, expected = case.play(mode).fates().get("trained", 0), _STEPS * case.asked.prompts
    return None if trained == expected else f"{trained} groups are trained; expected {expected}"


def no_sample_is_staler_than_it_states(mode: Mode, case: Case) -> str | None:
    bound = mode.most_stale(case.asked)
    most = int(case.play(mode).stale.max())
    if bound is None or most <= bound:
        return None
    return f"a sample is {_batches(most)} stale, and it states {bound} at most"


def where_it_waits_nothing_is_generated_beside_training(mode: Mode, case: Case) -> str | None:
    if not mode.waits:
        return None
    played = case.play(mode)
    for begin, end in zip(played.minibatch_start, played.minibatch_end, strict=True):
        beside = (played.begun >= 0) & (played.begun < end) & (played.finished > begin)
        if beside.any():
            sample = int(np.flatnonzero(beside)[0])
            return f"sample {sample} runs while there is training, from tick {begin} to {end}"
    return None


LAWS: tuple[Law, ...] = (
    it_makes_a_job,
    the_same_is_said_twice,
    the_job_plays_to_its_end,
    every_step_trains_its_groups,
    no_sample_is_staler_than_it_states,
    where_it_waits_nothing_is_generated_beside_training,
)


def violations(mode: Mode) -> Iterator[str]:
    """Yield the first broken law of each case."""
    if mode.counts not in ("", "steps", "mini-batches"):
        yield f"counts: expected steps, mini-batches or nothing, got {mode.counts!r}"
    for case in cases(mode):
        if wrong := first_broken(LAWS, str(case), mode, case):
            yield wrong


def summary(mode: Mode) -> str:
    """Say what holds, and how stale samples are."""
    tried = cases(mode)
    stale = [int(case.play(mode).stale.max()) for case in tried]
    bounds = [bound for case in tried if (bound := mode.most_stale(case.asked)) is not None]
    stated = f"{max(bounds)} may be" if bounds else "no bound is stated"
    held = f"{len(LAWS)} laws hold for {len(tried)} jobs of {_STEPS} steps"
    return f"{held}\nsamples are {_batches(max(stale))} stale at most; {stated}"


def _batches(number: int) -> str:
    return count(number, "mini-batch", "mini-batches")


CONTRACT = Contract(
    kind="mode of post-training",
    module="yantra.kinds.rl_mode_laws",
    about="Check a mode: that its job plays to the end, and how stale samples are.",
    argument="a name (one-off), or a file with a line PLUGIN =",
    find=mode_of,
    violations=violations,
    summary=summary,
)

main = partial(contract.main, CONTRACT)

if __name__ == "__main__":
    sys.exit(main())
