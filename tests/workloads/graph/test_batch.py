"""Pairs of tokens that attention looks at, against counting them one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.workloads.operators.graph import Batch, Sequences

SEQUENCES = st.builds(Sequences, st.integers(1, 3), st.integers(1, 12), st.integers(0, 12))


def counted(sequences: Sequences, window: int | None) -> int:
    keys = 0
    for query in range(sequences.past, sequences.past + sequences.new):
        keys += sum(1 for key in range(query + 1) if window is None or query - key < window)
    return sequences.number * keys


@given(SEQUENCES, st.none() | st.integers(1, 20))
def test_pairs_are_those_of_the_mask(sequences: Sequences, window: int | None) -> None:
    assert sequences.pairs(True, window, "exact") == counted(sequences, window)


@given(st.integers(1, 12), st.lists(st.integers(1, 5), min_size=1))
def test_chunks_of_a_prompt_add_up_to_its_whole(number: int, chunks: list[int]) -> None:
    past, pairs = 0, 0
    for chunk in chunks:
        pairs += Sequences(number, chunk, past).pairs(True, None, "exact")
        past += chunk
    assert pairs == Sequences(number, past).pairs(True, None, "exact")


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_steps_of_a_ring_add_up_to_one_rank_s_share(causal: bool, steps: int) -> None:
    batch = Batch.of(3, 64)
    assert sum(batch.ring_pairs(causal, None, steps)) * steps == batch.pairs(causal)


def test_a_zigzag_rank_has_most_pairs_with_its_own_keys() -> None:
    """Chunks of 4 tokens: own 2 x (4 x 5 / 2) + 4 x 4, another rank's 2 x 4 x 4."""
    assert Batch.of(1, 16).ring_pairs(True, None, 2) == (36, 32)
