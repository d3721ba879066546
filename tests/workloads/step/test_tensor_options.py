"""What a plan may say of tensor parallelism: waiting for sums, messages in parts, gathers kept."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.operations import Operation, Pass, StageWork
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import stage_work

MODEL = find("gpt3-1.3b")
SEQUENCE = 2048
HIDDEN = 2048
TP = 4
WHOLE = SEQUENCE * HIDDEN * 2  # bytes of an activation of one sequence
SUMS = (CollectiveType.ALL_REDUCE, CollectiveType.REDUCE_SCATTER)
LAYERS = st.integers(1, 7)
SWITCH = st.booleans()


def work(layers: int = 2, **fields: Any) -> StageWork:
    plan = Plan(**({"tp": TP, "pp": 2, "global_batch": 4} | fields))
    return stage_work(
        MODEL, plan, layers=(1, 1 + layers), front=False, tail=False, sequence=SEQUENCE
    )


def moved(one: Pass) -> Counter[CollectiveType]:
    return Counter(o.collective for o in one.operations if o.collective is not None)


def before(one: Pass, at: int) -> set[int]:
    found: set[int] = set()
    left = [at]
    while left:
        for needed in one.operations[left.pop()].after:
            if needed not in found:
                found.add(needed)
                left.append(needed)
    return found


def computed(one: Pass) -> list[Operation]:
    return [operation._replace(after=()) for operation in one.operations]


@given(LAYERS, SWITCH)
def test_without_overlap_a_weight_gradient_waits_for_every_sum_begun_before_it(
    layers: int, split: bool
) -> None:
    waiting = work(layers, overlap_tensor=False, sequence_parallel=split).backward
    overlapped = work(layers, sequence_parallel=split).backward
    assert computed(waiting) == computed(overlapped)
    sums = []
    for at, operation in enumerate(waiting.operations):
        if operation.collective in SUMS and operation.phase == "dgrad":
            sums.append(at)
        elif operation.phase == "wgrad" and not operation.communicates:
            assert set(sums) <= before(waiting, at)
    assert sums
    assert waiting != overlapped


@given(LAYERS)
def test_sliced_messages_are_a_tp_th_and_cost_a_gather_each_way(layers: int) -> None:
    usual = work(layers, sequence_parallel=False)
    sliced = work(layers, sequence_parallel=False, messages="sliced")
    assert (usual.input_bytes, usual.output_bytes) == (WHOLE, WHOLE)
    assert (sliced.input_bytes, sliced.output_bytes) == (WHOLE // TP, WHOLE // TP)
    gather = Counter({CollectiveType.ALL_GATHER: 1})
    assert moved(sliced.forward) == moved(usual.forward) + gather
    assert moved(sliced.backward) == moved(usual.backward) + gather


def test_a_scattered_stage_of_one_layer_is_sequence_parallel() -> None:
    scattered = work(1, sequence_parallel=False, messages="scattered")
    split = work(1, sequence_parallel=True)
    assert computed(scattered.forward) == computed(split.forward)
    assert computed(scattered.backward) == computed(split.backward)
    assert scattered.output_bytes == split.output_bytes == WHOLE // TP


@given(st.integers(2, 7))
def test_only_the_last_layer_of_a_scattered_stage_reduces_to_parts(layers: int) -> None:
    scattered = moved(work(layers, sequence_parallel=False, messages="scattered").forward)
    assert scattered == Counter(
        {
            CollectiveType.ALL_REDUCE: 2 * (layers - 1),
            CollectiveType.REDUCE_SCATTER: 2,
            CollectiveType.ALL_GATHER: 2 + 1,
        }
    )


@given(LAYERS, st.sampled_from(("sliced", "scattered")))
def test_messages_are_in_parts_anyway_with_sequence_parallelism(layers: int, how: str) -> None:
    assert work(layers, messages=how) == work(layers)


@given(LAYERS, st.sampled_from(("none", "selective", "full")))
def test_what_is_not_gathered_again_is_kept(layers: int, recompute: str) -> None:
    again = work(layers, recompute=recompute)
    kept = work(layers, recompute=recompute, gather_again=False)
    assert moved(kept.forward) == moved(again.forward)
    fewer = moved(again.backward) - moved(kept.backward)
    assert fewer == Counter({CollectiveType.ALL_GATHER: 2 * layers})  # inputs of qkv and of up
    more = _saved(kept) - _saved(again)  # what is made again in the backward pass is kept there
    assert more == (2 * layers * (WHOLE - WHOLE // TP) if recompute != "full" else 0)


def _saved(one: StageWork) -> int:
    return sum(operation.saves for operation in one.forward.operations)


def test_tokens_that_do_not_divide_cannot_be_sent_in_parts() -> None:
    plan = Plan(tp=4, pp=2, sequence_parallel=False, messages="sliced")
    check(plan, MODEL, 2048)
    with pytest.raises(ConfigError, match="messages: 2046 tokens are not divisible by tp x cp"):
        check(plan, MODEL, 2046)
