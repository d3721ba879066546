"""Rounds of sampling: their mean is that of drawn ones, and what a step takes with them."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import CapacityError, ConfigError
from yantra.rl.answer import Answer, answered, as_dict, lines
from yantra.rl.phases.rounds import Rounds, at_least
from yantra.rl.question import made

_ASKED: dict[str, Any] = {
    "gpus": 8, "prompts": 16, "generations": 8, "lengths": "uniform:least=100,most=400",
    "prompt_tokens": 100, "train": {"tp": 4, "recompute": "full"}, "generate": {"tp": 1},
}  # fmt: skip


def _answer(mode: str = "sync", **more: Any) -> Answer:
    return answered(made("llama3-8b", "hgx-h100", mode=mode, **(_ASKED | more)))


@pytest.mark.parametrize(("least", "trials", "chance"), [(1, 5, 0.3), (4, 9, 0.5), (9, 9, 0.9)])
def test_the_tail_of_the_binomial_is_the_sum_of_its_terms(
    least: int, trials: int, chance: float
) -> None:
    terms = [
        comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(least, trials + 1)
    ]
    assert at_least(least, trials, chance) == pytest.approx(sum(terms))
    assert at_least(trials + 1, trials, chance) == 0
    assert at_least(least, trials, 1.0) == 1


@pytest.mark.parametrize(("over", "thrown"), [(1.0, 0.3), (3.0, 2 / 3), (0.5, 0.1)])
def test_mean_rounds_are_those_of_drawn_ones(over: float, thrown: float) -> None:
    draws = np.random.default_rng(1)
    many = []
    for _ in range(4000):
        kept = number = 0
        while kept < 32:
            kept += draws.binomial(round(32 * over), 1 - thrown)
            number += 1
        many.append(number)
    assert Rounds(over).expected(32, thrown) == pytest.approx(np.mean(many), rel=0.02)


def test_nothing_thrown_away_is_one_round() -> None:
    assert Rounds().expected(64, 0.0) == 1.0
    assert Rounds(2.0, 1).expected(64, 0.0) == 1.0


def test_steps_that_give_up_do_not_count() -> None:
    unbounded, bounded = Rounds(3.0).expected(32, 2 / 3), Rounds(3.0, 1).expected(32, 2 / 3)
    assert bounded == 1.0 < unbounded < 2
    with pytest.raises(CapacityError, match="most_rounds"):
        Rounds(1.0, 2).expected(32, 0.9)


@pytest.mark.parametrize("mode", ["sync", "sync-split"])
def test_rounds_follow_each_other(mode: str) -> None:
    """Each takes as long as one of as many groups of which none is thrown away."""
    one = _answer(mode, oversampling=2.0, reward_s=0.5)
    some = _answer(mode, oversampling=2.0, reward_s=0.5, filtered=0.5)
    of, alone = some.steps[0].parts, one.steps[0].parts
    assert of.rounds == Rounds(2.0).expected(16, 0.5) > 1
    assert of.generation == pytest.approx(of.rounds * alone.generation)
    assert of.reward == pytest.approx(of.rounds * alone.reward)
    assert of.training == alone.training
    moved = of.to_generation - alone.to_generation
    engine = 2 * 8.03e9
    again = engine / 3e9 + engine / 64e9  # to the host, into new memory, and back
    assert moved == pytest.approx((of.rounds - 1) * again * (mode == "sync"), rel=0.02)
    assert f"{of.rounds:.3g} in the mean, of 32 groups" in "\n".join(lines(some))
    assert as_dict(some)["rounds"] == of.rounds


def test_groups_that_start_one_by_one_have_no_rounds() -> None:
    with pytest.raises(ConfigError, match="one by one"):
        _answer("one-off", oversampling=2.0)
    assert _answer("one-off", filtered=0.5).steps[0].parts.rounds == 1


@pytest.mark.parametrize("over", [0.0, -1.0, 65.0])
def test_rounds_of_no_or_too_many_groups_are_refused(over: float) -> None:
    with pytest.raises(ConfigError, match="oversampling"):
        _answer(oversampling=over)


def test_samples_that_are_not_packed_count_as_the_longest() -> None:
    packed, apart = (_answer(packing=one).steps[0].parts for one in (True, False))
    even = _answer(lengths="fixed:tokens=400", packing=False).steps[0].parts
    assert packed.training < apart.training == pytest.approx(even.training, rel=0.02)
    assert packed.policy < apart.policy


def test_an_engine_of_its_own_makes_no_text_between_iterations() -> None:
    shared, own = (_answer(async_engine=one).steps[0].parts for one in (False, True))
    assert own.generation < shared.generation
