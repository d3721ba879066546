"""Parallel blocks: the same input, results added.

(Falcon-H1, Technology Innovation Institute, 2025 (arXiv 2507.22448), section 2: attention and a
state-space mixer in every layer.)
"""

from __future__ import annotations

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.cache import Cache
from yantra.workloads.models.blocks.parallel_layer import sum_of
from yantra.workloads.operators.graph import Graph, Tensor


class Beside(Block):
    """`parts` side by side."""

    parts: tuple[Block, ...]

    def build(self, g: Graph, x: Tensor | None) -> Tensor:
        assert x is not None
        first, *others = (part.build(g, x) for part in self.parts)
        assert first is not None
        for other in others:
            assert other is not None
            first = sum_of(g, first, other)
        return first

    def caches(self) -> tuple[Cache, ...] | None:
        found = [part.caches() for part in self.parts]
        if any(one is None for one in found):
            return None
        return tuple(cache for one in found for cache in one or ())
