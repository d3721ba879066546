"""Pairs of tokens that attention looks at, against counting them one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.workloads.operators.graph import Batch, Reach, Sequences

SEQUENCES = st.builds(Sequences, st.integers(1, 3), st.integers(1, 12), st.integers(0, 12))


TRUE, FALSE = st.just(True), st.just(False)
REACHES = st.builds(Reach, TRUE, st.none() | st.integers(1, 20), FALSE) | st.builds(
    Reach, TRUE, st.integers(1, 9), TRUE
)


def sees(query: int, key: int, reach: Reach) -> bool:
    if reach.window is None:
        return True
    if reach.chunked:
        return query // reach.window == key // reach.window
    return query - key < reach.window


def counted(sequences: Sequences, reach: Reach) -> int:
    keys = 0
    for query in range(sequences.past, sequences.past + sequences.new):
        keys += sum(sees(query, key, reach) for key in range(query + 1))
    return sequences.number * keys


@given(SEQUENCES, REACHES)
def test_pairs_are_those_of_the_mask(sequences: Sequences, reach: Reach) -> None:
    assert sequences.pairs(reach, "exact") == counted(sequences, reach)


@given(SEQUENCES, REACHES)
def test_what_is_read_of_the_cache_is_what_new_tokens_see(
    sequences: Sequences, reach: Reach
) -> None:
    new = range(sequences.past, sequences.past + sequences.new)
    seen = [key for key in range(sequences.past) if any(sees(q, key, reach) for q in new)]
    assert sequences.cached(reach) == sequences.number * len(seen)


@given(st.integers(1, 12), st.lists(st.integers(1, 5), min_size=1), REACHES)
def test_chunks_of_a_prompt_add_up_to_its_whole(
    number: int, chunks: list[int], reach: Reach
) -> None:
    past, pairs = 0, 0
    for chunk in chunks:
        pairs += Sequences(number, chunk, past).pairs(reach, "exact")
        past += chunk
    assert pairs == Sequences(number, past).pairs(reach, "exact")


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_steps_of_a_ring_add_up_to_one_rank_s_share(causal: bool, steps: int) -> None:
    batch = Batch.of(3, 64)
    reach = Reach(causal)
    assert sum(batch.ring_pairs(reach, steps)) * steps == batch.pairs(reach)


def test_a_zigzag_rank_has_most_pairs_with_its_own_keys() -> None:
    """Chunks of 4 tokens: own 2 x (4 x 5 / 2) + 4 x 4, another rank's 2 x 4 x 4."""
    assert Batch.of(1, 16).ring_pairs(Reach(), 2) == (36, 32)
