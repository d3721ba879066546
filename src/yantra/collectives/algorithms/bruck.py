"""Bruck's all-to-all: blocks hop 1, 2, 4, ... positions, all of a hop in one message.

ceil(log2 n) rounds of up to n / 2 blocks: for short messages.

Source: Bruck et al., IEEE TPDS 8 (1997).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.schedule import Kind, Move, Round, Schedule, doublings


class Bruck(CollectiveAlgorithm):
    """In round k, blocks whose distance has bit k move 2^k positions."""

    kinds = frozenset({Kind.ALL_TO_ALL})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        return Schedule(kind, n, n * n, tuple(_round(n, step) for step in doublings(n)))


def _round(n: int, step: int) -> Round:
    blocks = []
    for way in range(n):
        if way & step:
            source = -(way & (step - 1)) % n
            blocks.append(source * n + (source + way) % n)
    return Round((Move(0, step, tuple(blocks)),), "add")


PLUGIN = Bruck
