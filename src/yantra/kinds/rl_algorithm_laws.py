"""The laws every algorithm of post-training keeps, and a command that checks one against them.

    python -m yantra.kinds.rl_algorithm_laws dapo
    python -m yantra.kinds.rl_algorithm_laws path/to/my_algorithm.py

Laws ask for the seconds of made-up steps; the last one computes a step of a small model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from yantra.base import contract
from yantra.base.contract import Contract, asked, first_broken
from yantra.base.errors import ConfigError
from yantra.rl.algorithms import Algorithm, Alone, algorithms, thrown_by, work_of
from yantra.rl.algorithms.grpo import GRPO

if TYPE_CHECKING:
    from yantra.rl.parts import Parts
    from yantra.rl.step import Step

CASES = (Alone(0.0, 0.0), Alone(10.0, 30.0), Alone(0.5, 1.5), Alone(7.0, 11.0), Alone(400.0, 900.0))
SHARES = (0.0, 0.1, 0.5, 0.9)
_CLOSE = 1e-9

Kind = type[Algorithm]
Law = Callable[[Kind, Alone], str | None]


def seconds_are_finite_and_not_negative(kind: Kind, alone: Alone) -> str | None:
    try:
        work_of(kind(), alone)
    except ConfigError as error:
        return error.problem
    return None


def the_same_is_said_twice(kind: Kind, alone: Alone) -> str | None:
    first, again = work_of(kind(), alone), work_of(kind(), alone)
    return None if first == again else f"{first}, then {again}"


def every_sample_is_trained(kind: Kind, alone: Alone) -> str | None:
    """Optimizer steps take no less than those of one model that take each sample once."""
    took = work_of(kind(), alone).training
    return None if took >= alone.training else f"training takes {took:g} s of {alone.training:g} s"


def what_is_not_there_takes_no_time(kind: Kind, alone: Alone) -> str | None:
    """`policy` and `reference` off, as a user may set them, and no critic or reward model."""
    of = kind(policy=False, reference=False)
    work = work_of(of, alone)
    there = {"policy": False, "reference": False, "critic": of.critic or of.reward_model}
    for name, is_there in there.items():
        if not is_there and (seconds := getattr(work, name)):
            return f"{name} takes {seconds:g} s, though it says that there is none"
    return None


def slower_passes_take_no_less(kind: Kind, alone: Alone) -> str | None:
    before = sum(work_of(kind(), alone))
    for slower in (alone._replace(scoring=2 * alone.scoring), Alone(*(2 * one for one in alone))):
        if (after := sum(work_of(kind(), slower))) < before:
            return f"{slower} takes {after:g} s, {alone} {before:g} s"
    return None


def what_is_filtered_is_generated_again(kind: Kind, alone: Alone) -> str | None:
    """Groups of equal rewards are thrown away, each for another one."""
    for share in SHARES:
        try:
            thrown = thrown_by(kind(), share)
        except ConfigError as error:
            return error.problem
        if thrown < share:
            return f"{share:g} of groups are filtered, and {thrown:g} generated again"
    return None


def a_step_is_that_of_grpo_and_what_it_adds(kind: Kind) -> str | None:
    """Seconds differ from those of GRPO, with the same flags, by those of its own work, and of the
    switch of its models, alone.
    """
    own, usual = _step(kind), _step(GRPO, kind().policy, kind().reference)
    more = _worked(own.parts) - _worked(usual.parts)
    if abs(own.seconds - usual.seconds - more) <= _CLOSE * own.seconds:
        return None
    return f"it takes {own.seconds:g} s, GRPO {usual.seconds:g} s, and its work {more:+g} s"


LAWS: tuple[Law, ...] = (
    seconds_are_finite_and_not_negative,
    the_same_is_said_twice,
    every_sample_is_trained,
    what_is_not_there_takes_no_time,
    slower_passes_take_no_less,
    what_is_filtered_is_generated_again,
)


def violations(kind: Kind) -> Iterator[str]:
    """Yield what is wrong, the first broken law of each case."""
    for name in ("title", "source"):
        if not isinstance(getattr(kind, name), str) or not getattr(kind, name):
            yield f"{name}: expected a text, got {getattr(kind, name)!r}"
    for alone in CASES:
        if wrong := first_broken(LAWS, f"{alone}", kind, alone):
            yield wrong
    law = a_step_is_that_of_grpo_and_what_it_adds
    if wrong := asked(law, kind):
        yield f"{law.__name__}: {wrong}"


def summary(kind: Kind) -> str:
    """Say what holds, and how long a step takes beside that of GRPO."""
    own, usual = _step(kind), _step(GRPO)
    held = f"{len(LAWS) + 1} laws hold for {len(CASES)} steps"
    return f"{held}\na step of a small job: {own.seconds:.3g} s, with grpo {usual.seconds:.3g} s"


CONTRACT = Contract(
    kind="algorithm of post-training",
    module="yantra.kinds.rl_algorithm_laws",
    about="Check an algorithm: the seconds that it asks of a trainer, and what it throws away.",
    argument="a name (dapo), or a file with a line PLUGIN =",
    find=algorithms.get,
    violations=violations,
    summary=summary,
)

main = partial(contract.main, CONTRACT)


def _step(kind: Kind, policy: bool | None = None, reference: bool | None = None) -> Step:
    from yantra.rl.answer import answered
    from yantra.rl.question import made

    small = made(
        "llama3-8b", "hgx-h100", gpus=8, prompts=8, generations=8,
        lengths="lognormal:mean=300,sigma=0.5,cap=1024", prompt_tokens=100,
        generate={"tp": 1}, train={"tp": 4, "recompute": "full"},
    )  # fmt: skip
    return answered(small._replace(algorithm=kind(policy, reference))).steps[0]


def _worked(parts: Parts) -> float:
    return parts.policy + parts.reference + parts.critic + parts.training + parts.switch


if __name__ == "__main__":
    sys.exit(main())
