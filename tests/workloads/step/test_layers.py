"""Layers go to stages in contiguous, nearly equal ranges."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.step.layers import layer_ranges
from yantra.workloads.training.train import train


@given(st.integers(1, 40), st.integers(0, 200))
def test_ranges_follow_each_other_and_differ_by_one_layer_at_most(stages: int, more: int) -> None:
    layers = stages + more
    ranges = layer_ranges(layers, stages)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == layers
    assert all(before[1] == after[0] for before, after in pairwise(ranges))
    sizes = [end - first for first, end in ranges]
    assert max(sizes) - min(sizes) <= 1
    assert sizes[-1] == min(sizes)
    assert stages < 3 or sizes[0] == min(sizes) or min(sizes[:-1]) == max(sizes)


def test_llama_3_405b_has_one_layer_less_on_the_first_and_the_last_of_16_stages() -> None:
    sizes = [end - first for first, end in layer_ranges(126, 16)]
    assert sizes == [7, *[8] * 14, 7]


def test_more_stages_than_layers_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"one stage per layer \(3\), got 4 stages"):
        layer_ranges(3, 4)


def test_the_ends_count_as_layers_and_stages_are_equal() -> None:
    ranges = layer_ranges(126, 128, front=True, tail=True)
    assert ranges[0] == (0, 0) and ranges[-1] == (126, 126)
    assert [end - first for first, end in ranges[1:-1]] == [1] * 126
    assert layer_ranges(126, 16, front=True, tail=True) == (
        (0, 7), *((7 + 8 * at, 15 + 8 * at) for at in range(14)), (119, 126),
    )  # fmt: skip
    assert layer_ranges(7, 4, tail=True) == ((0, 2), (2, 4), (4, 6), (6, 7))
    with pytest.raises(ConfigError, match=r"expected equal stages of 8 layers and 1 of the ends"):
        layer_ranges(8, 4, front=True)


def test_llama_405b_is_cut_into_128_chunks_as_it_was_trained() -> None:
    plan = Plan(tp=8, pp=16, vpp=8, global_batch=16, embedding_as_layer=True, loss_as_layer=True)
    check(plan, find("llama3-405b"))
    with pytest.raises(ConfigError, match=r"126 layers cannot fill 128 stages, unless"):
        check(plan.replace(embedding_as_layer=False, loss_as_layer=False), find("llama3-405b"))
    with pytest.raises(ConfigError, match=r"32 layers and 1 end do not fill 4 stages evenly"):
        check(Plan(pp=4, global_batch=4, loss_as_layer=True), find("llama3-8b"))


def test_logits_take_four_bytes_where_the_loss_is_fused_and_ten_where_not() -> None:
    model, plan = find("llama3-8b"), Plan(recompute="full")
    fused, other = (
        train(model, plan.replace(fused_loss=is_fused), 2048).sections["memory"]["stage0"]
        for is_fused in (True, False)
    )
    assert other["peak"] - fused["peak"] == 128256 * 2048 * (10 - 4)
