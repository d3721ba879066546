"""The memory of a stage is what the papers' formulas say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracles.communication_forms import Shape, Split, dense_weights
from tests.workloads.step.models import build, model_of
from tests.workloads.step.test_simulation import PIPELINES
from tests.workloads.step.works import stages
from yantra.base.errors import ConfigError
from yantra.workloads import schedules
from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.in_flight import peaks
from yantra.workloads.training.train import train

SHAPE = Shape(h=256, L=8, a=8, g=8, d=32, f=1024, V=1024, s=128)


@pytest.mark.parametrize("schedule", PIPELINES)
def test_activations_peak_with_the_micro_batches_in_flight(schedule: str) -> None:
    p, v = 4, PIPELINES[schedule]
    plan = Plan(pp=p, vpp=v, global_batch=16, schedule=schedule)
    chosen = schedules.get(schedule)
    count = chosen.stages(p, v).count
    step = build(plan, works=stages(count, layers=2, saves=100))
    held = peaks(chosen.orders(p, 16, v))
    assert [memory.activations for memory in step.memory] == [200 * number for number in held]


@pytest.mark.parametrize(
    ("plan", "per_weight"),
    [
        (Plan(dp=4), 18),
        (Plan(dp=4, gradient_dtype="bf16"), 16),
        (Plan(dp=4, zero=1), 6 + 12 / 4),
        (Plan(dp=4, zero=2), 2 + 16 / 4),
        (Plan(dp=4, zero=3), 18 / 4),
        (Plan(dp=2, cp=2, zero=1), 6 + 12 / 4),
        (Plan(dp=4, zero=3, shard=2), 18 / 2),
        (Plan(dp=4, optimizer="sgd"), 2 + 4 + 8),
        (Plan(dp=4, dtype="fp32"), 4 + 4 + 8),
        (Plan(dp=4, offload_optimizer=True), 6),
        (Plan(tp=4, dp=2, zero=1), 6 + 12 / 2),
    ],
)
def test_weights_gradients_and_state_take_the_bytes_of_zero(plan: Plan, per_weight: float) -> None:
    (memory,) = build(plan, SHAPE).memory
    weights = dense_weights(SHAPE, Split(t=plan.tp), 0)
    assert memory.fixed == per_weight * weights


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_no_more_weights_are_gathered_than_the_prefetch_allows(ahead: int) -> None:
    plan = Plan(dp=4, zero=3, prefetch=max(ahead, 1), overlap_parameters=ahead > 0)
    (memory,) = build(plan, works=stages(1, layers=6, elements=96, saves=0)).memory
    gathered = (ahead + 1) * 96 * 2
    assert gathered <= memory.buffers <= gathered + 96 * 4  # and a layer's gradients


def test_weights_that_are_not_resharded_stay_for_as_long_as_they_are_needed() -> None:
    plan = Plan(dp=4, zero=3, reshard_after_forward=False)
    (memory,) = build(plan, works=stages(1, layers=6, elements=96, saves=0)).memory
    assert 6 * 96 * 2 <= memory.buffers <= 6 * 96 * 2 + 96 * 4


def test_offloaded_activations_leave_two_layers_on_the_device() -> None:
    plan = Plan(pp=2, global_batch=8, offload_activations=True)
    kept = [
        memory.activations for memory in build(plan, works=stages(2, layers=8, saves=100)).memory
    ]
    assert max(kept) <= 300


def test_everything_that_is_allocated_is_freed() -> None:
    for plan in (
        Plan(tp=2, dp=2, zero=3, pp=2, global_batch=8),
        Plan(dp=2, zero=2, pp=2, schedule="zb-h1", global_batch=8, recompute="full"),
        Plan(dp=2, pp=2, offload_activations=True, offload_optimizer=True, global_batch=8),
    ):
        step = build(plan, SHAPE)
        for device, passes in enumerate(step.passes):
            left = 0
            for action in step.job.programs[device]:
                for play in action:
                    for item in passes[play.key].items:
                        left += item.operation.saves + item.holds
                        left -= item.operation.frees + item.releases
            assert left == 0


def test_a_step_that_does_not_fit_is_refused_with_what_would_let_it_fit() -> None:
    plan = Plan(tp=2, dp=4, global_batch=4)
    (memory,) = build(plan, SHAPE).memory
    with pytest.raises(ConfigError) as caught:
        train(model_of(SHAPE), plan, memory_bytes=memory.peak - 1)
    text = str(caught.value)
    assert text.startswith("memory: stage 0 of 1 needs")
    assert "optimizer" in text
    assert "fits with zero=1" in text
    train(model_of(SHAPE), plan, memory_bytes=memory.peak)


def test_a_step_that_no_small_change_would_let_fit_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="use more ranks per replica"):
        train(model_of(SHAPE), Plan(), memory_bytes=1000)


@pytest.mark.parametrize("recompute", ["none", "selective", "operators", "full"])
def test_fewer_bits_never_keep_more_and_16_bits_are_16_bits(recompute: Any) -> None:
    def activations(dtype: Any) -> int:
        plan = Plan(tp=2, pp=2, dtype=dtype, recompute=recompute, global_batch=4)
        memory = train("mixtral-8x7b", plan, 2048).memory["stage0"]
        return int(memory["activations"])

    found = [activations(dtype) for dtype in ("bf16", "fp8", "fp4")]
    assert activations("fp16") == found[0] and found == sorted(found, reverse=True)
