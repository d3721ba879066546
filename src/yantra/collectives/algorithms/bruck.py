"""Bruck's all-to-all: blocks hop 1, 2, 4, ... positions, all blocks of a hop in one message.

ceil(log2 n) rounds for any n in place of n - 1, but a block travels once for each bit of its
distance, so each position sends up to n / 2 blocks a round: best for short messages.

Source: Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications
in multiport message-passing systems", IEEE TPDS 8 (1997).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule, doublings


class Bruck(CollectiveAlgorithm):
    """In round k each block whose distance has bit k moves 2^k positions on."""

    kinds = frozenset({Kind.ALL_TO_ALL})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        return Schedule(kind, n, n * n, tuple(_round(n, step) for step in doublings(n)))


def _round(n: int, step: int) -> Round:
    """Return what position 0 sends on: of each way, the block that has come here so far."""
    blocks = []
    for way in range(n):
        if way & step:
            source = -(way & (step - 1)) % n
            blocks.append(source * n + (source + way) % n)
    return Round((Move(0, step, tuple(blocks)),), "add")


PLUGIN = Bruck
