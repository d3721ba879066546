"""What a block keeps of a sequence while tokens are generated: rows of every token, or a state.

Rows grow with the sequence (keys and values, latent rows), as far as a window reaches; a state has
one size however long the sequence is (linear attention, state spaces, short convolutions).
Elements have the type of the cache that a plan chooses; `fixed_bytes` are in a type of their own,
whatever the plan says: states are sums over a sequence in fp32, the last inputs of a convolution
have 16 bits.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from yantra.workloads.operators.graph.operators.recurrence import STATE_BYTES


class Cache(NamedTuple):
    """`heads` parts, shared out over tensor parallelism, of `elements` and `fixed_bytes` each.

    One of each token, of the last `window` tokens if there is one, or one of each sequence.
    """

    heads: int
    elements: int
    window: int | None = None
    fixed_bytes: int = 0
    per_sequence: bool = False

    def head_bytes(self, width: float) -> int:
        """Return the bytes of one part, its elements of `width` bytes."""
        return ceil(self.elements * width) + self.fixed_bytes


INPUT_BYTES = 2
"""Bytes of an input that is kept."""


def states(heads: int, elements: int) -> Cache:
    """Return a state of so many elements for each head."""
    return Cache(heads, 0, None, STATE_BYTES * elements, True)


def inputs(heads: int, elements: int) -> Cache:
    """Return inputs that are seen again, so many for each head."""
    return Cache(heads, 0, None, INPUT_BYTES * elements, True)
