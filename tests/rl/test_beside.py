"""Checkpoints, and generation in a narrower type than training."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import CapacityError, ConfigError
from yantra.fabric.clusters import load
from yantra.rl.answer import Answer, answered, phases_of
from yantra.rl.question import made
from yantra.rl.settings import settings_of
from yantra.workloads.models.catalogue import find

_ASKED: dict[str, Any] = {
    "gpus": 8, "prompts": 8, "generations": 8, "lengths": "uniform:least=100,most=400",
    "prompt_tokens": 100, "train": {"tp": 4, "recompute": "full"}, "generate": {"tp": 1},
}  # fmt: skip


def _answer(mode: str = "sync", **more: Any) -> Answer:
    return answered(made("llama3-8b", "hgx-h100", mode=mode, **(_ASKED | more)))


@pytest.mark.parametrize(("algorithm", "models"), [("grpo", 1), ("ppo", 2)])
def test_a_checkpoint_is_its_bytes_over_the_storage(algorithm: str, models: int) -> None:
    asked: dict[str, Any] = {"algorithm": algorithm}
    none = _answer(**asked)
    each, tenth = (_answer(**asked, checkpoint_every=k, storage=20e9) for k in (1, 10))
    seconds = 14 * find("llama3-8b").parameters() * models / 20e9
    assert phases_of(each.steps[0])["checkpoint"] == pytest.approx(seconds, rel=0.01)
    assert each.seconds - none.seconds == pytest.approx(seconds, rel=0.01)
    assert tenth.seconds - none.seconds == pytest.approx(seconds / 10, rel=0.01)
    assert sum(phases_of(each.steps[0]).values()) == pytest.approx(each.seconds)


def test_beside_generation_trainers_wait_for_checkpoints_too() -> None:
    none, some = (
        _answer("one-off", **more) for more in ({}, {"checkpoint_every": 1, "storage": 1e9})
    )
    assert some.seconds > none.seconds + 50


def test_an_asynchronous_checkpoint_is_its_copy_to_the_host() -> None:
    none = _answer()
    some = _answer(checkpoint_every=1, storage=20e9, checkpoint="async")
    host = load("hgx-h100").host_bandwidth.value
    copy = 14 * find("llama3-8b").parameters() / 8 / host
    assert some.seconds - none.seconds == pytest.approx(copy, rel=0.01)
    with pytest.raises(CapacityError, match="112 s to write"):
        _answer(checkpoint_every=1, storage=1e9, checkpoint="async")


@pytest.mark.parametrize("mode", ["sync", "sync-split"])
def test_a_validation_is_its_generation_and_off_where_nothing_is_said(mode: str) -> None:
    none, whole, halves = (
        _answer(mode, **more)
        for more in (
            {},
            {"validate_every": 4, "validate_samples": 64},
            {"validate_every": 4, "validate_samples": 64, "validate_batch": 32},
        )
    )
    assert "validation" not in phases_of(none.steps[0])
    least = phases_of(whole.steps[0])["validation"]
    assert whole.seconds - none.seconds == pytest.approx(least, rel=0.01)
    weights = 2 * find("llama3-8b").parameters()
    moved = weights / 3e9 + weights / 64e9 if mode == "sync" else 0.0
    assert least == pytest.approx((none.steps[0].parts.generation + moved) / 4, rel=0.2)
    assert least < phases_of(halves.steps[0])["validation"] <= 2 * least
    assert whole.low < whole.seconds < whole.high


def test_a_validation_stops_both_sides() -> None:
    none, some = (
        _answer("one-off", **more) for more in ({}, {"validate_every": 1, "validate_samples": 64})
    )
    of = some.steps[0].parts
    assert some.seconds - none.seconds == pytest.approx(of.validation, rel=0.2)


@pytest.mark.parametrize(
    "more",
    [{"checkpoint_every": 5}, {"storage": 1e9}, {"convert": "never"}, {"checkpoint": "async"},
     {"checkpoint": "later"}, {"validate_every": 5}, {"validate_samples": 5},
     {"validate_batch": 5},
     {"validate_every": 1, "validate_samples": 4, "validate_batch": 5}],
)  # fmt: skip
def test_what_cannot_be_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="--set"):
        _answer(**more)


@pytest.mark.parametrize(
    "setting", ["storage=-1 GB/s", "storage=0 GB/s", "tool_delay=-1 s", "reward=-2 ms", "turns=0"]
)
def test_rates_and_times_below_nothing_are_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match=setting.partition("=")[0]):
        settings_of([setting])


def test_weights_are_converted_before_or_after_they_are_sent() -> None:
    """Half of the bytes move if they are converted first; replicas convert all that they have."""
    asked: dict[str, Any] = {"generate": {"tp": 1, "dtype": "fp8"}, "refit": "direct"}
    wide = _answer("sync-split", refit="direct")
    before, after = (_answer("sync-split", **asked, convert=one) for one in ("before", "after"))
    parameters = find("llama3-8b").parameters()
    converts = 3 * parameters / load("hgx-h100").memory_bandwidth.value
    sent = wide.steps[0].parts.refit
    assert after.steps[0].parts.refit == pytest.approx(sent + converts, rel=0.02)
    first = before.steps[0].parts.refit - converts / 4
    assert sent / 2 < first < 0.6 * sent  # embeddings stay wide
    assert before.steps[0].parts.training == wide.steps[0].parts.training
    assert before.steps[0].parts.generation < wide.steps[0].parts.generation


def test_what_is_not_narrower_is_not_converted() -> None:
    with pytest.raises(ConfigError, match="bf16"):
        _answer(convert="after")


def test_mxfp8_takes_its_scales_over_the_network_and_needs_devices_that_have_it() -> None:
    asked: dict[str, Any] = {"prompt_tokens": 1, "train": {"tp": 4}, "refit": "whole"}
    with pytest.raises(ConfigError, match="mxfp8"):
        _answer(generate={"tp": 1, "dtype": "mxfp8"})
    wide, narrow, scaled = (
        answered(
            made(
                "llama3-70b",
                "gb200-nvl72",
                **(_ASKED | asked | {"generate": {"tp": 4, "dtype": one}}),
            )
        )
        for one in ("bf16", "fp8", "mxfp8")
    )
    assert scaled.steps[0].parts.generation == narrow.steps[0].parts.generation
    assert scaled.steps[0].parts.refit >= narrow.steps[0].parts.refit
    assert scaled.steps[0].parts.generation < wide.steps[0].parts.generation
    assert "mxfp8 at the speeds of fp8" in scaled.rests_on
