"""Steps of a mode on one clock: the loop of `yantra.rl.run` over several, from which one is told.

Iterations have the engine's measured times, phases those of packed micro-batches; ticks are ps. The
first steps fill buffers, so figures are those of a longer run less those of a shorter one. Where
the first to end are trained, short samples come first: such runs go on until long ones have come.

Fully asynchronous steps are of one mini-batch, as in SkyRL: weights move after each.

Trade-off: a phase goes by the tokens of its samples alone, in a line through a mean mini-batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.base.errors import DeadlockError
from yantra.rl.algorithms import Alone, work_of
from yantra.rl.groups import Groups
from yantra.rl.job import Job
from yantra.rl.laws import Curve
from yantra.rl.loop import run
from yantra.rl.modes import Asked, loop_of, mode_of
from yantra.rl.parts import trained_on, whole
from yantra.rl.phases.packing import pack
from yantra.rl.schedule import FATES, REPLICA_CAUSES, TRAINER_CAUSES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yantra.rl.lengths import Drawn
    from yantra.rl.parts import Machines, Parts
    from yantra.rl.phases.generation import Generator
    from yantra.rl.question import Question
    from yantra.rl.schedule import Schedule

_PS = 1e12
_WARM = 2
"""Steps before them, with one for each that may be ahead."""
_MORE = {"submitted": 6, "accepted": 24}
"""Steps that are measured, by the order in which groups are trained."""
_MULTIPLE = 64
_LOST = ("filtered", "stale", "surplus")


class Rolled(NamedTuple):
    """A mean step: seconds, shares of the GPUs' time by cause, and how stale samples are."""

    seconds: float
    generating: dict[str, float]
    """Shares of the time of GPUs that generate; when colocated, of all."""
    training: dict[str, float]
    """Shares of the time of GPUs that train, when split."""
    stale_mean: float
    """In mini-batches."""
    stale_most: int
    stale_shares: dict[int, float]
    """Of trained samples, by mini-batches."""
    discarded: float
    """Groups thrown away for each that is trained."""
    recomputed: float
    """Tokens computed again for each that is made."""


def rolled(question: Question, machines: Machines, draws: Sequence[Drawn], parts: Parts) -> Rolled:
    """Play a question's mode. `draws` are those of as many steps as `needed` says.

    Raises ConfigError for options that cannot be, DeadlockError where nothing can go on.
    """
    job = job_of(question, machines, draws, parts)
    each = question.prompts // job.groups_per_step  # steps of the loop that are one of the job's
    warm, more = _WARM + _ahead(question), _MORE[job.takes]
    short, long = _played(question, job, each * warm, each * (warm + more))
    ticks = long.end - short.end
    stale = _stale(long, each * warm)
    counts = np.unique(stale, return_counts=True)
    trained, lost = _fates(long, short)
    made = max(long.tokens - short.tokens, 1)
    return Rolled(
        ticks / _PS / more,
        _shares(REPLICA_CAUSES, long.replica_ticks.sum(0) - short.replica_ticks.sum(0)),
        {}
        if job.placement == "colocated"
        else _shares(TRAINER_CAUSES, long.trainer_ticks - short.trainer_ticks),
        float(stale.mean()),
        int(stale.max()),
        {int(age): float(many / len(stale)) for age, many in zip(*counts, strict=True)},
        lost / max(trained, 1),
        (long.recomputed - short.recomputed) / made,
    )


def _played(question: Question, job: Job, *steps: int) -> list[Schedule]:
    made = [run(job.replace(steps=many)) for many in steps]
    if any(one.status != "ok" for one in made):
        raise DeadlockError(
            f"{question.mode}: nothing runs, the trainer waits and no group may start; allow "
            "more staleness, or more groups at once"
        )
    return made


def made_s(question: Question, generator: Generator) -> float:
    """Seconds in which replicas make a step's samples, if training took no time."""
    draw = question.lengths.ways[0]
    draws = [
        draw(question.prompts, question.generations, question.seed + number)
        for number in range(needed(question))
    ]
    job = _job(question, generator, draws)
    each, warm = question.prompts // job.groups_per_step, _WARM + _ahead(question)
    more = _MORE["submitted"]
    short, long = _played(question, job, each * warm, each * (warm + more))
    return (long.end - short.end) / _PS / more


def _ahead(question: Question) -> int:
    """Steps that may be generated before one is trained."""
    return max(question.staleness, -(-question.at_once // question.prompts), 1)


def needed(question: Question) -> int:
    """Steps whose samples a run takes: what is trained, and what may be ahead of it."""
    steps = _WARM + max(_MORE.values()) + 2 * _ahead(question) + 1
    return round(steps / (1 - question.filtered) + 1)


def job_of(question: Question, machines: Machines, draws: Sequence[Drawn], parts: Parts) -> Job:
    """Return the loop of a question."""
    lengths = np.concatenate([whole(question, one) for one in draws])
    job = _job(question, machines.generator, draws)
    share = job.groups_per_step / question.prompts
    tokens = question.samples * lengths.mean()
    return job.replace(
        logp=_curve(_scored(question, machines, lengths), tokens,
                    (parts.controller + parts.checkpoint) * share),
        ref=_curve(parts.reference + parts.critic, tokens, parts.reference_moves),
        train=_curve(parts.training / (question.samples // question.train_batch),
                     question.train_batch * lengths.mean(), 0.0),
        refit=round((parts.refit + parts.validation * share) * _PS),
        switch=round(parts.switch / 2 * _PS) if question.is_colocated else 0,
    )  # fmt: skip


def _job(question: Question, generator: Generator, draws: Sequence[Drawn]) -> Job:
    """It, with phases of the trainer that take no time."""
    lengths = np.concatenate([whole(question, one) for one in draws])
    reward = question.reward.busier(lengths)
    batch = max(question.train_batch // question.generations, 1)
    asked = Asked(question.prompts, batch, question.staleness, question.at_once,
                  question.refit_rule, question.kv)  # fmt: skip
    loop = loop_of(mode_of(question.mode), asked)
    return Job(
        groups=_groups(question, draws),
        placement="colocated" if question.is_colocated else "split",
        **generator.on(),
        groups_per_step=loop.groups_per_step or question.prompts,
        groups_per_minibatch=batch,
        reward_servers=reward.workers if reward.seconds or reward.gpus else None,
        reward_overlap=reward.overlaps,
        **loop.fields(),
    )  # fmt: skip


def _scored(question: Question, machines: Machines, lengths: np.ndarray) -> float:
    some = trained_on(question, lengths[: question.samples])
    packed = pack(some, question.score_tokens, machines.passes.replicas, _MULTIPLE)
    scoring = machines.passes.score_s(packed, pads=question.framework.pads)
    return work_of(question.algorithm, Alone(scoring, 0.0)).policy


def _curve(seconds: float, tokens: float, base: float) -> Curve:
    most = max(round(tokens), 1)
    return Curve((0, most), (base * _PS, (base + seconds) * _PS))


def _groups(question: Question, draws: Sequence[Drawn]) -> Groups:
    output = np.concatenate([one.output for one in draws])
    tokens = np.concatenate([whole(question, one) for one in draws])
    turns = [several for one in draws if one.turns is not None for several in one.turns.ticks()]
    count = len(output) // question.generations
    prompts = [
        np.full(question.prompts, question.prompt_tokens) if one.prompt is None else one.prompt
        for one in draws
    ]
    thrown = np.random.default_rng(question.seed).permutation(count) < question.filtered * count
    return Groups.columns(
        prompt=np.concatenate(prompts),
        sizes=np.full(count, question.generations),
        output=output,
        reward=np.rint(question.reward.busier(tokens).each_s(tokens) * _PS).astype(np.int64),
        filtered=thrown.astype(np.int64),
        turns=turns or None,
    )


def _shares(names: tuple[str, ...], ticks: np.ndarray) -> dict[str, float]:
    total = ticks.sum()
    return {name: float(one / total) for name, one in zip(names, ticks, strict=True) if one}


def _stale(schedule: Schedule, steps: int) -> np.ndarray:
    first = int(np.searchsorted(schedule.minibatch_step, steps))
    return np.asarray(schedule.stale[schedule.stale_begin[first] :])


def _fates(long: Schedule, short: Schedule) -> tuple[int, int]:
    def many(of: Mapping[str, int], names: Sequence[str]) -> int:
        return sum(of.get(name, 0) for name in names)

    after, before = long.fates(), short.fates()
    assert set(after) <= set(FATES)
    trained = many(after, ("trained",)) - many(before, ("trained",))
    return trained, many(after, _LOST) - many(before, _LOST)
