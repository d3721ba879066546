"""What sequences keep in memory, on one rank and in all: rows of every token, and states.

Heads are split over tp; where there are more ranks than heads each head has copies, and a latent
row is one head that all ranks copy. Rows are given out in blocks of `block_size` tokens (Kwon et
al., "PagedAttention", SOSP 2023); layers with a window keep no more blocks than cover it. A state
has one size however long its sequence is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.workloads.models.blocks import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph.formats import WIDTHS


class LayerCache(NamedTuple):
    """What one layer keeps of a token, or `per_sequence`: `heads` of `head_bytes` each.

    `window` is in tokens.
    """

    heads: int
    head_bytes: int
    window: int | None = None
    per_sequence: bool = False

    @classmethod
    def of(cls, cache: Cache, dtype: str) -> LayerCache:
        """Return what a block says that it keeps, in elements of `dtype`."""
        width = cache.head_bytes(WIDTHS[dtype])
        return cls(cache.heads, width, cache.window, cache.per_sequence)

    def rank_bytes(self, tp: int) -> int:
        """Return the bytes that one of `tp` ranks keeps of a token, or of a sequence."""
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
        """Return the bytes that a sequence of `length` tokens has on one rank."""
        if self.per_sequence:
            return self.rank_bytes(tp)
        held = length if self.window is None else min(length, self.window)
        return -(-held // block_size) * block_size * self.rank_bytes(tp)


def layer_caches(block: Block, dtype: str, where: str = "model") -> tuple[LayerCache, ...]:
    """Return what a layer keeps, in elements of `dtype`.

    Raises UnsupportedError for a layer that does not generate token by token.
    """
    kept = block.caches()
    if kept is None:
        raise UnsupportedError(
            f"{where}: inference generates token by token, and {type(block).__name__} of this "
            "model does not: it attends without a causal mask, or keeps nothing of a sequence"
        )
    return tuple(LayerCache.of(cache, dtype) for cache in kept)


def token_bytes(caches: Iterable[LayerCache], tp: int) -> int:
    """Return the bytes that a token leaves on one rank that holds these layers."""
    return sum(cache.rank_bytes(tp) for cache in caches if not cache.per_sequence)


def sequences_bytes(
    caches: Sequence[LayerCache], lengths: Iterable[int], tp: int, block_size: int
) -> int:
    """Return the bytes of some sequences on one rank that holds these layers."""
    known: dict[int, int] = {}
    total = 0
    for length in lengths:
        if length not in known:
            known[length] = sum(one.sequence_bytes(length, tp, block_size) for one in caches)
        total += known[length]
    return total
