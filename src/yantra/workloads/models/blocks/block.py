"""What a block is: a frozen record that adds its operators to a graph.

A block speaks of global sizes and of how its weights are split (`linear(..., split="out")`); what
crosses between ranks, and the backward pass, follow.
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
        """Add the operators that turn `x` into the result; None stands for the model's ends."""
        raise NotImplementedError

    def input_sizes(self, g: Graph) -> dict[str, int]:
        """Return the dimensions of `x` where a pipeline cuts in front of this block."""
        raise NotImplementedError

    def caches(self) -> tuple[Cache, ...] | None:
        """Return what it keeps of a sequence for the next token; None: it does not generate."""
        return None
