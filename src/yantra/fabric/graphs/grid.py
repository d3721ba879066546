"""What meshes, tori and HyperX share: points of a grid, and the sizes of its dimensions.

The first dimension varies fastest with the number of a point.
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
    """What a mesh or a torus is told."""

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
    """Return by how much the number of a point grows with each coordinate."""
    return [prod(sizes[:at]) for at in range(len(sizes))]


def none_given(sizes: tuple[int, ...]) -> tuple[str, str] | None:
    """Return what is wrong with sizes of a grid, and their key; None if nothing is."""
    return None if sizes else ("sizes", "expected at least one dimension, got none")


def rows_cut(sizes: tuple[int, ...]) -> int | None:
    """Return how many rows the worst cut into halves crosses: all along the longest dimension.

    None where that is of odd size and not the only one: the cut is then no plane. Source: Leighton,
    "Introduction to Parallel Algorithms and Architectures" (1992), 1.9.
    """
    longest = max(sizes)
    return None if longest % 2 and len(sizes) > 1 else prod(sizes) // longest
