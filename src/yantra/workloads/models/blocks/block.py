"""A block: a frozen record that adds its operators to a graph.

Communication and the backward pass follow from global sizes and the split of weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.base.records import Record

if TYPE_CHECKING:
    from yantra.workloads.models.blocks.cache import Cache
    from yantra.workloads.operators.graph import Graph, Tensor


class Block(Record):
    """Base of all blocks."""

    def build(self, g: Graph, x: Tensor | None) -> Tensor | None:
        """Add the operators from `x` to the result; None: a model's end."""
        raise NotImplementedError

    def input_sizes(self, g: Graph) -> dict[str, int]:
        """Dimensions of `x` where a pipeline cuts before this block."""
        raise NotImplementedError

    def caches(self) -> tuple[Cache, ...] | None:
        """What it keeps of a sequence for the next token; None if it does not generate."""
        return None
