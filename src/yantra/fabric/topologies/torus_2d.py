"""Torus of two dimensions as one block: rows and columns that are rings, as near to square as n is.

Messages go along their row first, then along the column, each the shorter way round (dimension
order).

Source: Dally and Seitz, "Deadlock-free message routing in multiprocessor interconnection networks",
IEEE Transactions on Computers C-36 (1987).
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra.fabric.topologies.geometry import around, near_square
from yantra.fabric.topologies.topology import Block, Link


class Torus2D(Block):
    """Rank = row * columns + column; rows are n's divisor next below its root."""

    symmetric = True

    def supports(self, n: int) -> str | None:
        if n < 4 or near_square(n) == 1:
            return f"needs rows and columns of at least 2 ranks each, got {n}"
        return None

    def links(self, n: int) -> Iterable[Link]:
        columns = n // near_square(n)
        links = set()
        for rank in range(n):
            row = rank - rank % columns
            for way in (1, -1):
                links.add((rank, row + (rank + way) % columns))
                links.add((rank, (rank + way * columns) % n))
        return sorted(links)

    def next_device(self, n: int, at: int, to: int) -> int:
        rows = near_square(n)
        columns = n // rows
        row, column = divmod(at, columns)
        if column != to % columns:
            return row * columns + around(columns, column, to % columns)
        return around(rows, row, to // columns) * columns + column


PLUGIN = Torus2D
