"""Critics and reward models: their memory, and rewards from GPUs of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.base.errors import CapacityError, ConfigError
from yantra.rl.answer import Answer, answered
from yantra.rl.parts import machines_of
from yantra.rl.phases.memory import training_bytes
from yantra.rl.phases.reward import Reward
from yantra.rl.question import Question, made

_ASKED: dict[str, Any] = {
    "gpus": 8, "prompts": 16, "generations": 8, "lengths": "uniform:least=100,most=400",
    "prompt_tokens": 100, "train": {"tp": 4, "recompute": "full"}, "generate": {"tp": 1},
}  # fmt: skip


def _question(mode: str = "sync", **more: Any) -> Question:
    return made("llama3-8b", "hgx-h100", mode=mode, **(_ASKED | more))


def _answer(mode: str = "sync", **more: Any) -> Answer:
    return answered(_question(mode, **more))


@pytest.mark.parametrize("mode", ["sync", "sync-split"])
def test_a_critic_takes_the_state_of_a_model_and_a_reward_model_its_weights(mode: str) -> None:
    questions = [_question(mode, algorithm=one) for one in ("grpo", "ppo")]
    passes = machines_of(questions[0], questions[0].lengths.drawn(16, 8)[0]).passes
    grpo, ppo = (training_bytes(one, passes) for one in questions)
    parameters = 8.03e9
    weights = 2 * parameters / 4
    # Weights and gradients in bf16, and 12 bytes of Adam over the GPUs that train.
    state = (2 + 2) * parameters / 4 + 12 * parameters / questions[0].training
    assert ppo - grpo == pytest.approx(state + weights, rel=0.05)


def test_models_that_do_not_fit_are_refused() -> None:
    fits: dict[str, Any] = {"gpus": 2, "train": {"tp": 2, "recompute": "full"}}
    assert _answer(algorithm="grpo", **fits).seconds > 0
    with pytest.raises(CapacityError, match="PPO"):
        _answer(algorithm="ppo", **fits)


def test_a_switch_moves_every_model() -> None:
    grpo, ppo = (_answer(algorithm=one).steps[0].parts for one in ("grpo", "ppo"))
    assert 2 * grpo.to_generation > ppo.to_generation > grpo.to_generation


def test_servers_are_list_scheduling_of_their_own_times() -> None:
    reward = Reward(workers=2, gpus=2, knots=((100, 200), (1.0, 2.0)))
    tokens = np.array([100, 200, 300, 100])
    assert reward.each_s(tokens).tolist() == [1.0, 2.0, 3.0, 1.0]
    assert reward.ends_s(np.zeros(4), tokens) == 4.0
    assert reward.busy(tokens, 7.0) == pytest.approx(0.5)


@pytest.mark.parametrize("mode", ["sync", "one-off"])
def test_a_reward_model_of_its_own_leaves_the_trainers(mode: str) -> None:
    beside = _answer(mode, algorithm="ppo", gpus=16, train={"tp": 4}, generate={"tp": 1, "gpus": 8})
    own = _answer(
        mode, algorithm="ppo", gpus=18, train={"tp": 4}, generate={"tp": 1, "gpus": 8},
        reward_gpus=2,
    )  # fmt: skip
    assert own.question.training == beside.question.training
    assert own.steps[0].parts.critic == pytest.approx(beside.steps[0].parts.critic / 2)
    assert 0 < own.steps[0].idle["samples"] < 2 / 18
    assert own.question.reward.workers == 2


def test_more_servers_are_no_slower_and_one_that_binds_is_the_step() -> None:
    found = [
        _answer("sync-split", gpus=8 + one, reward_gpus=one, reward_model="llama3-8b")
        for one in (1, 4)
    ]
    assert found[1].seconds <= found[0].seconds
    one = found[0]
    (drawn,) = one.question.lengths.drawn(16, 8)
    service = one.question.reward.each_s(drawn.output + 100).sum()
    assert one.steps[0].parts.generation + one.steps[0].parts.reward >= service
    assert service > 0


def test_a_batch_is_no_slower_a_sample() -> None:
    one, eight = (_question(reward_gpus=2, reward_batch=many).reward for many in (1, 8))
    tokens = np.array([100, 300, 500])
    assert (eight.each_s(tokens) <= one.each_s(tokens)).all()
    assert (8 * eight.each_s(tokens) > one.each_s(tokens)).all()


def test_workers_and_a_model_reward_a_sample_when_both_have() -> None:
    workers = Reward(3.0, 2)
    both = Reward(workers=1, gpus=1, knots=((100, 200), (1.0, 2.0)), beside=workers)
    ends, tokens = np.array([0.0, 1.0, 5.0]), np.array([100, 100, 100])
    alone = both._replace(beside=None)
    assert both.ends_s(ends, tokens) == max(
        workers.ends_s(ends, tokens), alone.ends_s(ends, tokens)
    )
    assert both.busier(tokens) == workers
    assert both.busier(tokens * 10) == alone
    model, some = (_answer(reward_gpus=2, gpus=10, **more) for more in ({}, {"reward_s": 1.0}))
    assert some.seconds > model.seconds + 100  # 128 samples, a worker


@pytest.mark.parametrize(
    "more",
    [{"reward_model": "llama3-8b"}, {"reward_batch": 4}, {"reward_gpus": 8},
     {"reward_gpus": 3, "reward_model": "llama3-70b"}],
)  # fmt: skip
def test_rewards_that_cannot_be_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises((ConfigError, CapacityError), match="reward"):
        _question(**more)
