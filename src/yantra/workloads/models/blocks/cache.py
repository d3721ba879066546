"""What a block keeps of a sequence while tokens are generated: rows per token, or a state."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from yantra.workloads.operators.graph.operators.recurrence import STATE_BYTES


class Cache(NamedTuple):
    """`heads` parts, shared over tensor parallelism, of `elements` and `fixed_bytes` each.

    One per token, or per token of the last `window`, or per sequence.
    """

    heads: int
    elements: int
    window: int | None = None
    fixed_bytes: int = 0
    per_sequence: bool = False

    def head_bytes(self, width: float) -> int:
        """Bytes of one part, with elements of `width` bytes."""
        return ceil(self.elements * width) + self.fixed_bytes


INPUT_BYTES = 2
"""Bytes of a kept input."""


def states(heads: int, elements: int) -> Cache:
    """A state of `elements` per head."""
    return Cache(heads, 0, None, STATE_BYTES * elements, True)


def inputs(heads: int, elements: int) -> Cache:
    """Inputs that are read again, `elements` per head."""
    return Cache(heads, 0, None, INPUT_BYTES * elements, True)
