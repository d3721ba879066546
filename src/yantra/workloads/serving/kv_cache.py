"""Keys and values in memory: what a token leaves there, on one rank and in all.

Heads are split over tp; where there are more ranks than heads each head has copies, and a latent
row is one head that all ranks copy. Memory is given out in blocks of `block_size` tokens (Kwon et
al., "PagedAttention", SOSP 2023); layers with a window keep no more blocks than cover it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.workloads.models.blocks import MLA, Attention, Block, Layer
from yantra.workloads.operators.graph.formats import WIDTHS


class LayerCache(NamedTuple):
    """What one layer keeps of a token: `heads` of `head_bytes` each; a window in tokens."""

    heads: int
    head_bytes: int
    window: int | None = None

    def rank_bytes(self, tp: int) -> int:
        """Return the bytes that one of `tp` ranks keeps of a token."""
        return max(self.heads // tp, 1) * self.head_bytes

    def heads_of(self, rank: int, tp: int) -> range:
        """Return the heads that a rank of `tp` keeps."""
        if tp <= self.heads:
            each = self.heads // tp
            return range(rank * each, (rank + 1) * each)
        head = rank * self.heads // tp
        return range(head, head + 1)

    def copies(self, tp: int) -> int:
        """Return how many of `tp` ranks keep the same."""
        return max(tp // self.heads, 1)

    def sequence_bytes(self, length: int, tp: int, block_size: int) -> int:
        """Return the bytes of the blocks that a sequence of `length` tokens has on one rank."""
        held = length if self.window is None else min(length, self.window)
        return -(-held // block_size) * block_size * self.rank_bytes(tp)


def layer_cache(block: Block, dtype: str, where: str = "model") -> LayerCache:
    """Return what a layer keeps, in elements of `dtype`.

    Raises UnsupportedError for a layer that is no causal attention: it has no cache of this kind.
    """
    attention = block.attention if isinstance(block, Layer) else block
    width = int(WIDTHS[dtype])
    if isinstance(attention, Attention) and attention.causal:
        return LayerCache(attention.kv_heads, 2 * attention.head_dim * width, attention.window)
    if isinstance(attention, MLA) and attention.causal:
        return LayerCache(1, attention.kv_bytes_per_token(width))
    kind = type(attention).__name__
    raise UnsupportedError(
        f"{where}: inference knows layers with causal attention; this model has {kind} without it"
    )


def token_bytes(caches: Iterable[LayerCache], tp: int) -> int:
    """Return the bytes that a token leaves on one rank that holds these layers."""
    return sum(cache.rank_bytes(tp) for cache in caches)


def sequences_bytes(
    caches: Sequence[LayerCache], lengths: Iterable[int], tp: int, block_size: int
) -> int:
    """Return the bytes of the blocks of some sequences on one rank that holds these layers."""
    known: dict[int, int] = {}
    total = 0
    for length in lengths:
        if length not in known:
            known[length] = sum(one.sequence_bytes(length, tp, block_size) for one in caches)
        total += known[length]
    return total
