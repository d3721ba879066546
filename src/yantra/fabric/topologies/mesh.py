"""Mesh: a line of ranks, each linked to its neighbours; a ring without the link that closes it.

Needs no long link, as on a wafer or a board, but has half the bandwidth of a ring across its middle
and n - 1 hops from end to end. Several dimensions of it make a mesh of two or three.

Source: Dally and Towles, "Principles and Practices of Interconnection Networks", 2004, chapter 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from yantra.fabric.topologies.geometry import both_ways
from yantra.fabric.topologies.topology import Block, Link


class Mesh(Block):
    """Rank i is linked to i - 1 and i + 1."""

    symmetric = True

    def links(self, n: int) -> Iterable[Link]:
        return both_ways(pairwise(range(n)))

    def next_device(self, n: int, at: int, to: int) -> int:
        return at + 1 if to > at else at - 1


PLUGIN = Mesh
