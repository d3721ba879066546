"""Mesh of any number of dimensions: cables between neighbours, none around the ends.

Short, equal cables, but a middle more loaded than the rim.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 5.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np

from yantra.fabric.graphs.builder import Builder, Size
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.grid import OPTIONS, none_given, points, rows_cut, strides


class Mesh(Builder):
    """Ranks are points of a grid; labels are dimension and way."""

    options = OPTIONS
    example: ClassVar = {"sizes": [4, 4], "bandwidth": "50 GB/s", "latency": "500 ns"}

    def refuses(self) -> tuple[str, str] | None:
        return none_given(self.given.sizes)

    def size(self) -> Size:
        ranks = prod(self.given.sizes)
        links = sum(2 * ranks // size * (size - 1) for size in self.given.sizes)
        return Size(ranks, ranks, links)

    def graph(self) -> Graph:
        sizes = self.given.sizes
        grid = points(sizes)
        draft = Draft(len(grid))
        for at, (size, stride) in enumerate(zip(sizes, strides(sizes), strict=True)):
            low = np.flatnonzero(grid[:, at] < size - 1)
            draft.cables(
                low, low + stride, self.speed, f"dimension {at} up", f"dimension {at} down"
            )
        return draft.graph(grid)

    def bisection(self) -> float | None:
        rows = rows_cut(self.given.sizes)
        return None if rows is None else rows * self.speed.bytes_per_ns

    def diameter(self) -> int:
        return sum(size - 1 for size in self.given.sizes)


PLUGIN = Mesh
