"""A whole step: its parts add up, and its modes are ordered as they must be."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from yantra.rl.answer import Answer, answered, as_dict, binding, compared, lines, phases_of
from yantra.rl.parts import machines_of, parts_of
from yantra.rl.question import made
from yantra.rl.rollouts import needed, rolled
from yantra.rl.step import WORKS, step_of

_ASKED: dict[str, Any] = {
    "gpus": 16, "prompts": 16, "generations": 16,
    "lengths": "lognormal:mean=500,sigma=0.6,cap=2048",
    "prompt_tokens": 100, "train": {"pp": 2, "recompute": "full"}, "train_batch": 128,
}  # fmt: skip


@cache
def _answer(mode: str) -> Answer:
    return answered(made("llama3-8b", "hgx-h100", mode=mode, **_ASKED))


@pytest.mark.parametrize("mode", ["sync", "sync-split"])
def test_the_phases_of_a_synchronous_step_add_up(mode: str) -> None:
    step = _answer(mode).steps[0]
    assert step.seconds == pytest.approx(sum(phases_of(step).values()))


def test_one_step_off_is_the_longer_side() -> None:
    step = _answer("one-off").steps[0]
    of = step.parts
    trainer = of.scoring + of.training + of.refit + of.controller
    longer = max(of.generation + of.reward + of.refit, trainer)
    assert step.seconds == pytest.approx(longer, rel=0.1)
    assert step.seconds < _answer("sync-split").seconds


_AROUND: dict[str, Any] = {
    "checkpoint_every": 4, "storage": 1e11, "validate_every": 4, "validate_samples": 64,
}  # fmt: skip


@pytest.mark.parametrize("around", [{}, _AROUND], ids=["alone", "around"])
@pytest.mark.parametrize("mode", ["sync", "sync-split", "one-off", "k-off", "async", "partial"])
def test_work_and_waiting_fill_the_step_of_all_gpus(mode: str, around: dict[str, Any]) -> None:
    ahead = 2 if mode in ("k-off", "async") else None
    question = made("llama3-8b", "hgx-h100", mode=mode, staleness=ahead, **_ASKED, **around)
    answer = answered(question)
    step, sizes = answer.steps[0], {"all": 16, "generating": 8, "training": 8}
    for lane in step.lanes.values():
        assert sum(lane.values()) == pytest.approx(step.seconds)
    works = sum((one.end - one.begin) * sizes[one.gpus] for one in step.spans if one.phase in WORKS)
    idle = sum(step.idle.values()) * 16 * step.seconds
    assert works + idle == pytest.approx(16 * step.seconds)
    trains = answer.question.training / 16
    for cause in ("controller", "checkpoint"):  # counted alike in each mode
        took = getattr(step.parts, cause)
        assert step.idle.get(cause, 0.0) * step.seconds == pytest.approx(took * trains)
    assert step.low < step.seconds < step.high
    if question.is_colocated:
        assert step.seconds == pytest.approx(sum(phases_of(step).values()))


def test_more_staleness_makes_no_step_longer() -> None:
    asked = {**_ASKED, "lengths": "lognormal:mean=500,sigma=0.9,cap=4096", "train_batch": 256}
    found = [
        answered(made("llama3-8b", "hgx-h100", mode="async", staleness=ahead, **asked)).seconds
        for ahead in (1, 2, 3, 4, 8)
    ]
    for less, more in pairwise(found):
        assert more <= 1.01 * less


def test_trainers_that_never_wait_bind() -> None:
    asked = {**_ASKED, "generate": {"tp": 1, "gpus": 12}, "train": {"pp": 4}}
    answer = answered(made("llama3-8b", "hgx-h100", mode="async", staleness=4, **asked))
    lane = answer.steps[0].lanes["training"]
    assert not any(name.startswith("wait-") and took > 0.1 for name, took in lane.items())
    assert binding(answer.steps[0]) == "training"
    assert "training binds, not staleness" in "\n".join(lines(answer))


def test_the_answer_has_what_it_shows() -> None:
    answer = _answer("sync")
    told = as_dict(answer)
    assert told["samples_per_s"] == pytest.approx(256 / answer.seconds)
    assert f"step {answer.seconds:.3g} s" in "\n".join(lines(answer))


@pytest.mark.parametrize("mode", ["k-off", "async"])
def test_generation_beside_training_is_as_stale_as_allowed(mode: str) -> None:
    answer = answered(made("llama3-8b", "hgx-h100", mode=mode, staleness=2, **_ASKED))
    found = answer.steps[0].rolled
    assert found is not None
    if mode == "k-off":  # counts steps, of two mini-batches here
        assert found.stale_most <= 2 * 2 + 1
    else:  # but for those that others overtake
        above = sum(share for age, share in found.stale_shares.items() if age > 2)
        assert as_dict(answer)["overtaken"] == above < 0.5
    assert answer.seconds < _answer("sync-split").seconds
    assert sum(found.generating.values()) == pytest.approx(1)
    assert sum(found.training.values()) == pytest.approx(1)


def test_the_loop_of_a_synchronous_step_is_the_sum_of_its_parts() -> None:
    question = made("llama3-8b", "hgx-h100", mode="sync-split", **_ASKED)
    drawn = question.lengths.drawn(16, 16)[0]
    machines = machines_of(question, drawn)
    parts = parts_of(question, machines, drawn)
    played = rolled(question, machines, [drawn] * needed(question), parts)
    summed = step_of(question, drawn, machines).seconds
    assert played.seconds == pytest.approx(summed, rel=0.02)


def test_partial_rollouts_cut_the_tail() -> None:
    asked = {**_ASKED, "lengths": "0.97*fixed:tokens=200 + 0.03*fixed:tokens=4000"}
    both = [
        answered(made("llama3-8b", "hgx-h100", mode=one, **asked)) for one in ("sync", "partial")
    ]
    assert both[1].seconds < both[0].seconds


def test_thrown_away_groups_cost_generation() -> None:
    least = answered(made("llama3-8b", "hgx-h100", mode="one-off", **_ASKED))
    more = answered(made("llama3-8b", "hgx-h100", mode="one-off", filtered=0.5, **_ASKED))
    assert more.seconds > least.seconds
    assert more.steps[0].rolled is not None
    assert more.steps[0].rolled.discarded == pytest.approx(1, rel=0.5)


def test_modes_that_are_as_fast_say_what_binds() -> None:
    asked = {**_ASKED, "gpus": 12, "generate": {"gpus": 4}}  # too few for eight trainers
    asked["lengths"] = "lognormal:mean=1500,sigma=0.6,cap=4096"
    asked["train"] = {"tp": 4, "recompute": "full"}
    found = [
        answered(made("llama3-8b", "hgx-h100", mode=mode, staleness=ahead, **asked))
        for mode, ahead in (("one-off", None), ("k-off", 2))
    ]
    assert {binding(one.steps[0]) for one in found} == {"generation"}
    assert "generation binds, not staleness" in "\n".join(lines(found[0]))
    told = "\n".join(compared(found))
    assert "off are as fast: generation is always busy" in told
    assert binding(_answer("sync").steps[0]) is None


def test_what_training_rests_on_is_in_words() -> None:
    assert "speeds of megatron-bridge-moe-25.11" in _answer("sync").rests_on
    mixed = answered(made("llama3-8b", "hgx-h100", stack="unknown", **_ASKED))
    assert "speeds of all measured frameworks together" in mixed.rests_on
