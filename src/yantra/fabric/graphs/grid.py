"""Grids of meshes, tori and HyperX;

the first dimension varies fastest.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from yantra.base.fields import Many, Section, Whole
from yantra.base.records import Record
from yantra.fabric.graphs.builder import LINKS

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZES = Many(Whole(at_least=2))
"""The field of the sizes of a grid's dimensions."""


class Options(Record):
    sizes: tuple[int, ...]
    bytes_per_ns: float
    latency_ns: float


OPTIONS = Section(
    Options, {"sizes": ("sizes", SIZES, "ranks along each dimension, such as [4, 4]"), **LINKS}
)


def points(sizes: tuple[int, ...]) -> NDArray[np.int32]:
    numbers = np.arange(prod(sizes))
    columns = []
    for size in sizes:
        numbers, column = np.divmod(numbers, size)
        columns.append(column)
    return np.stack(columns, axis=1).astype(np.int32)


def strides(sizes: tuple[int, ...]) -> list[int]:
    return [prod(sizes[:at]) for at in range(len(sizes))]


def none_given(sizes: tuple[int, ...]) -> tuple[str, str] | None:
    return None if sizes else ("sizes", "expected at least one dimension, got none")


def rows_cut(sizes: tuple[int, ...]) -> int | None:
    """Return the rows across the worst halving, along the longest dimension,

    None if that is odd and not the only one. Source: Leighton, "Introduction to Parallel Algorithms
    and Architectures" (1992), 1.9.
    """
    longest = max(sizes)
    return None if longest % 2 and len(sizes) > 1 else prod(sizes) // longest
