"""Torus of any number of dimensions: every row of every dimension is a ring.

Ranks are alike and bisection is twice a mesh's, for cables around the ends.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks" (2004), chapter 5.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np

from yantra.fabric.graphs.builder import Builder, Linked, Size
from yantra.fabric.graphs.draft import Draft
from yantra.fabric.graphs.graph import Graph
from yantra.fabric.graphs.grid import OPTIONS, none_given, points, rows_cut, strides


class Torus(Builder):
    """Ranks are points of a grid; a dimension of two is one cable."""

    options = OPTIONS
    example: ClassVar = {"sizes": [4, 4, 4], "bandwidth": "50 GB/s", "latency": "500 ns"}

    def refuses(self) -> tuple[str, str] | None:
        return none_given(self.given.sizes)

    def dimensions(self) -> tuple[Linked, ...]:
        return tuple(Linked("ring", size, *self.speed) for size in self.given.sizes)

    def size(self) -> Size:
        ranks = prod(self.given.sizes)
        links = sum(ranks if size == 2 else 2 * ranks for size in self.given.sizes)
        return Size(ranks, ranks, links)

    def graph(self) -> Graph:
        sizes = self.given.sizes
        grid = points(sizes)
        draft = Draft(len(grid))
        for at, (size, stride) in enumerate(zip(sizes, strides(sizes), strict=True)):
            last = grid[:, at] == size - 1
            low = np.flatnonzero(~last) if size == 2 else np.arange(len(grid))
            high = low + np.where(last[low], -(size - 1) * stride, stride)
            draft.cables(low, high, self.speed, f"dimension {at} up", f"dimension {at} down")
        return draft.graph(grid)

    def bisection(self) -> float | None:
        """Return the cut rows' two cables each, one in a row of two."""
        rows = rows_cut(self.given.sizes)
        cables = 1 if max(self.given.sizes) == 2 else 2
        return None if rows is None else cables * rows * self.speed.bytes_per_ns

    def diameter(self) -> int:
        return sum(size // 2 for size in self.given.sizes)


PLUGIN = Torus
