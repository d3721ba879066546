"""Samples packed into micro-batches: best fit by falling length, then dealt to replicas.

As NeMo-RL and verl pack (by first fit, which is as full): no micro-batch has more tokens than
allowed, and each replica has as many of them. Trade-off: replicas take them in turn by falling
size, so that they work alike.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Packed(NamedTuple):
    """Tokens of micro-batches by replica (replicas, micro-batches); 0 where one is filled up."""

    tokens: np.ndarray

    @property
    def micro_batches(self) -> int:
        """Of each replica."""
        return int(self.tokens.shape[1])

    @property
    def fill(self) -> float:
        """Tokens over what as many of the longest micro-batch would have."""
        return float(self.tokens.sum() / (self.tokens.size * self.tokens.max()))


def pack(lengths: np.ndarray, most: int, replicas: int, multiple: int = 1) -> Packed:
    """Pack samples into micro-batches of at most `most` tokens, for so many replicas.

    Lengths are filled up to `multiple`. A sample longer than `most` has a micro-batch of its own.
    """
    filled = bins_of(tuple(lengths.tolist()), most, multiple)
    each = -(-len(filled) // replicas)
    tokens = np.zeros(each * replicas, np.int64)
    tokens[: len(filled)] = filled
    rows = tokens.reshape(each, replicas)
    rows[1::2] = rows[1::2, ::-1]
    return Packed(rows.T)


@lru_cache(maxsize=64)
def bins_of(lengths: tuple[int, ...], most: int, multiple: int) -> tuple[int, ...]:
    """Return the tokens of each micro-batch, the fullest first."""
    rounded = sorted((-(-length // multiple) * multiple for length in lengths), reverse=True)
    full = [length for length in rounded if length >= most]
    free: dict[int, int] = {}  # how many micro-batches have so much room
    rooms: list[int] = []  # in rising order
    for length in rounded[len(full) :]:
        at = bisect_left(rooms, length)
        if at == len(rooms):
            left = most - length
        else:
            room = rooms[at]
            free[room] -= 1
            if not free[room]:
                del free[room], rooms[at]
            left = room - length
        if left not in free:
            free[left] = 0
            insort(rooms, left)
        free[left] += 1
    tokens = [most - room for room, count in free.items() for _ in range(count)]
    return tuple(sorted(full + tokens, reverse=True))
