"""Two-level all-to-all: inside the nodes first, then across them, one message for each other node.

A position sends each of its node-mates what that one's place gets on any node. So all that a node
has for a place is with one position, and goes to each other node as one message: n/g - 1 messages
from each position between nodes in place of n - g, each g times as large, and only between equal
places (on a rail-optimised network: on one rail). The price is time inside the node, where each
position sends (g - 1) / g of its data in place of (g - 1) / n. `two_level8` has nodes of 8
positions, one after the other. Without a number g is the divisor of n next to its square root,
for which there are fewest messages.

Alone, S bytes in each rank, over ways of B_1 bytes/ns and l_1 ns inside a node and B_2 and l_2
across, whose links messages share, with hand-overs of d ns, it takes

    3 d + l_1 + (1 - 1 / g) S / B_1 + l_2 + (1 - g / n) S / B_2

Source: Traeff and Rougier, "MPI collectives and datatypes for hierarchical all-to-all
communication", EuroMPI 2014. NCCL's PXN goes to the right rail in the same way.
"""

from __future__ import annotations

from yantra.collectives.numbered_nodes import OfNodes
from yantra.collectives.schedule import Kind, Move, Round, Schedule, Symmetry


class TwoLevel(OfNodes):
    """`window` positions are a node."""

    kinds = frozenset({Kind.ALL_TO_ALL})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        g = self.local(n)
        is_xor = n & (n - 1) == 0
        symmetry: Symmetry = "xor" if is_xor else "none"
        inside: list[Move] = []
        across: list[Move] = []
        for position in range(1 if is_xor else n):
            inside += _inside(position, n, g)
            across += _across(position, n, g)
        rounds = tuple(Round(tuple(moves), symmetry) for moves in (inside, across) if moves)
        return Schedule(kind, n, n * n, rounds)


def _inside(position: int, n: int, g: int) -> list[Move]:
    """Return what a position sends to its node-mates: its blocks for their place on every node."""
    node = position - position % g
    return [
        Move(position, node + place, range(position * n + place, (position + 1) * n, g))
        for place in range(g)
        if node + place != position
    ]


def _across(position: int, n: int, g: int) -> list[Move]:
    """Return what a position sends to its place on other nodes: the blocks of all its node has."""
    node, place = position - position % g, position % g
    return [
        Move(position, to, range(node * n + to, (node + g) * n + to, n))
        for to in range(place, n, g)
        if to != position
    ]


PLUGIN = TwoLevel
