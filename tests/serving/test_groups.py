"""KV of layers that keep all tokens, a window of them, or a state, from one pool of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import yantra
from yantra.serving import Linear
from yantra.serving.answer import Served
from yantra.serving.groups import Groups, groups_of
from yantra.workloads.serving.kv_cache import LayerCache

BLOCK = 16
FULL, WINDOW = LayerCache(8, 256), LayerCache(8, 256, window=1024)


def served(blocks: int, **options: Any) -> Served:
    return yantra.serve(
        requests="poisson:rate=20/s,count=150,isl=1500,osl=200,seed=1",
        cost=Linear(per_iteration=5e-3, per_token=20e-6, per_context_token=1e-8),
        num_blocks=blocks,
        **options,
    )


def times(of: Served) -> list[list[int]]:
    return [of.ran.column(name).tolist() for name in ("first_token", "finish")]


@pytest.mark.parametrize("cached", ["on", "off"])
def test_a_window_longer_than_all_requests_keeps_what_a_full_group_keeps(cached: str) -> None:
    full = served(1600, full_groups=2, enable_prefix_caching=cached)
    window = served(
        1600, full_groups=1, window_groups=1, window=100_000, enable_prefix_caching=cached
    )
    assert times(full) == times(window)


def test_groups_with_as_many_blocks_each_are_one_group() -> None:
    plain = served(800, enable_prefix_caching="off")
    assert times(plain) == times(served(1600, full_groups=2, enable_prefix_caching="off"))
    assert plain.ran.column("restarts").sum() > 0


def test_a_window_leaves_room_for_more_requests() -> None:
    full = served(1600, full_groups=2)
    window = served(1600, full_groups=1, window_groups=1, window=128)
    assert window.ran.column("finish").max() < full.ran.column("finish").max()


def test_states_take_a_block_of_each_request() -> None:
    seats = served(10_000, max_num_seqs=7, enable_prefix_caching="off")
    states = served(7, full_groups=0, state_groups=1, enable_prefix_caching="off")
    assert times(states) == times(seats)


def test_equal_beginnings_are_known_to_windows() -> None:
    many = "poisson:rate=20/s,count=60,isl=500,osl=20,system=1024,seed=1"
    cost = Linear(5e-3, 20e-6)
    told = {"cost": cost, "num_blocks": 40_000}
    full = yantra.serve(requests=many, **told)
    window = yantra.serve(requests=many, full_groups=1, window_groups=2, window=128, **told)
    assert full.ran.column("cached").sum() == window.ran.column("cached").sum() > 0


def test_a_window_keeps_the_blocks_that_its_last_token_reads() -> None:
    """Of 313 blocks of 5,000 tokens 248 are behind a window of 1,024."""
    found = Groups(1, 6, 1024, 2, BLOCK, 0).blocks(np.array([16, 1024, 5000]))
    assert found.tolist() == [7 + 2, 7 * 64 + 2, 313 + 6 * 65 + 2]


@pytest.mark.parametrize(
    ("layers", "groups"),
    [
        ([[FULL]] * 32, Groups(1, 0, 0, 0, BLOCK, 32 * 16 * 2048)),
        # Gemma 3 27B: one layer of six keeps all; ten layers to a group
        ([[WINDOW] * 1] * 52 + [[FULL]] * 10, Groups(1, 6, 1024, 0, BLOCK, 10 * 16 * 2048)),
        ([[FULL], [WINDOW]] * 18, Groups(1, 1, 1024, 0, BLOCK, 18 * 16 * 2048)),
        # 10 and 12 layers: the larger, so that nothing is split
        ([[FULL]] * 10 + [[WINDOW]] * 12, Groups(1, 1, 1024, 0, BLOCK, 12 * 16 * 2048)),
    ],
)
def test_layers_are_grouped_as_vllm_groups_them(
    layers: list[list[LayerCache]], groups: Groups
) -> None:
    assert groups_of(layers, 1, BLOCK) == groups


def test_blocks_get_more_tokens_where_a_state_is_larger() -> None:
    state = LayerCache(1, 16 * 2048 * 3 + 1, per_sequence=True)
    found = groups_of([[FULL], *[[state]] * 3] * 12, 1, BLOCK)
    assert found == Groups(1, 0, 0, 3, 64, 12 * 64 * 2048)


def test_pages_that_differ_have_no_groups() -> None:
    assert groups_of([[FULL], [LayerCache(4, 256, window=64)]], 1, BLOCK) is None
    assert groups_of([[WINDOW], [LayerCache(8, 256, window=64)]], 1, BLOCK) is None
