"""Layers go to stages in contiguous, nearly equal ranges."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.workloads.training.step.layers import layer_ranges


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
