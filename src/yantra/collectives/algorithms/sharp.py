"""SHARP: switches add on the way up a tree and copy on the way down, as CollNet has it.

A rank sends its data once and receives the result once, whatever the number of ranks, where a ring
sends 2 (n - 1) / n of it. Alone on an idle network over trees of h levels of links with latency l
and bandwidth B, p trees at once: 2 h (l + S / (p B)) and the hand-overs at the ranks.

Trade-off: a switch sends on only what has arrived whole, so a collective of several chunks is
faster; it adds in no time and has room for all.

Source: Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture
for efficient data reduction", COMHPC 2016.
"""

from __future__ import annotations

from yantra.collectives.in_network import InNetwork
from yantra.collectives.schedule import Kind, Move, Round, Schedule
from yantra.collectives.switch_tree import all_reduce


class Sharp(InNetwork):
    """An all-reduce up and down trees of switches."""

    kinds = frozenset({Kind.ALL_REDUCE})

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        trees = self.trees(n)
        made = [all_reduce(n, tree) for tree in trees]
        rounds: list[list[Move]] = [[] for _ in made[0].rounds]
        names: list[str] = []
        for block, one in enumerate(made):
            for moves, round_ in zip(rounds, one.rounds, strict=True):
                moves += [_placed(move, n, len(names), block) for move in round_.moves]
            names += one.switches
        whole = tuple(Round(tuple(moves)) for moves in rounds)
        return Schedule(kind, n, len(trees), whole, lockstep=False, switches=tuple(names))


def _placed(move: Move, n: int, before: int, block: int) -> Move:
    """Return the move of one tree among several: its switches behind those of the trees before."""
    src, dst = (at if at < n else at + before for at in (move.src, move.dst))
    return Move(src, dst, (block,), move.reduce)


PLUGIN = Sharp
