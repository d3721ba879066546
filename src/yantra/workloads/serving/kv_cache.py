"""What sequences keep in memory: states, and rows in blocks of `block_size` tokens (Kwon et al.,
"PagedAttention", SOSP 2023). Heads are split over tp; surplus ranks have copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from yantra.base.errors import UnsupportedError
from yantra.workloads.models.blocks import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.operators.graph.formats import WIDTHS


class LayerCache(NamedTuple):
    heads: int
    head_bytes: int
    window: int | None = None
    per_sequence: bool = False

    @classmethod
    def of(cls, cache: Cache, dtype: str) -> LayerCache:
        """What a block keeps, in elements of `dtype`."""
        width = cache.head_bytes(WIDTHS[dtype])
        return cls(cache.heads, width, cache.window, cache.per_sequence)

    def rank_bytes(self, tp: int) -> int:
        return max(self.heads // tp, 1) * self.head_bytes

    def heads_of(self, rank: int, tp: int) -> range:
        """The heads that a rank of `tp` keeps."""
        if tp <= self.heads:
            each = self.heads // tp
            return range(rank * each, (rank + 1) * each)
        head = rank * self.heads // tp
        return range(head, head + 1)

    def copies(self, tp: int) -> int:
        """How many of `tp` ranks keep the same."""
        return max(tp // self.heads, 1)

    def sequence_bytes(self, length: int, tp: int, block_size: int) -> int:
        if self.per_sequence:
            return self.rank_bytes(tp)
        held = length if self.window is None else min(length, self.window)
        return -(-held // block_size) * block_size * self.rank_bytes(tp)


def layer_caches(block: Block, dtype: str, where: str = "model") -> tuple[LayerCache, ...]:
    """Raises UnsupportedError for a layer that does not generate token by token."""
    kept = block.caches()
    if kept is None:
        raise UnsupportedError(
            f"{where}: inference generates token by token, and {type(block).__name__} of this "
            "model does not: it attends without a causal mask, or keeps nothing of a sequence"
        )
    return tuple(LayerCache.of(cache, dtype) for cache in kept)


def token_bytes(caches: Iterable[LayerCache], tp: int) -> int:
    return sum(cache.rank_bytes(tp) for cache in caches if not cache.per_sequence)


def sequences_bytes(
    caches: Sequence[LayerCache], lengths: Iterable[int], tp: int, block_size: int
) -> int:
    known: dict[int, int] = {}
    total = 0
    for length in lengths:
        if length not in known:
            known[length] = sum(one.sequence_bytes(length, tp, block_size) for one in caches)
        total += known[length]
    return total
