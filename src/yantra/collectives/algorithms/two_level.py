"""Two-level all-to-all: inside the nodes first, then across them, one message for each other node.

`two_level8` has nodes of 8 consecutive positions; by default g is the divisor of n next to its
square root.

S bytes a rank over paths of B_1 bytes/ns and l_1 ns inside a node, B_2 and l_2 across, and
hand-overs of d ns: 3 d + l_1 + (1 - 1 / g) S / B_1 + l_2 + (1 - g / n) S / B_2.

Source: Traeff and Rougier, EuroMPI 2014.
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
    node = position - position % g
    return [
        Move(position, node + place, range(position * n + place, (position + 1) * n, g))
        for place in range(g)
        if node + place != position
    ]


def _across(position: int, n: int, g: int) -> list[Move]:
    node, place = position - position % g, position % g
    return [
        Move(position, to, range(node * n + to, (node + g) * n + to, n))
        for to in range(place, n, g)
        if to != position
    ]


PLUGIN = TwoLevel
