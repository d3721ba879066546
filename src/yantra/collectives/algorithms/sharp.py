"""SHARP: switches add on the way up a tree and copy on the way down, as CollNet has it.

A rank sends and receives the data once; a ring sends 2 (n - 1) / n of it. Over p trees of h levels
of links of latency l and bandwidth B: 2 h (l + S / (p B)) and hand-overs.

Trade-off: a switch forwards only what has arrived whole, so chunks help; it adds in no time and has
room for all.

Source: Graham et al., "Scalable hierarchical aggregation protocol (SHArP): a hardware architecture
for efficient data reduction", COMHPC 2016.
"""

from __future__ import annotations

from yantra.collectives.in_network import InNetwork
from yantra.collectives.schedule import Kind, Schedule
from yantra.collectives.switch_tree import at_once, down, scheduled, up


class Sharp(InNetwork):
    """An all-reduce up and down trees of switches."""

    kinds = frozenset({Kind.ALL_REDUCE})

    def lacks(self, n: int) -> str | None:
        return None if self.trees(n) else "no switch of the fabric reaches all ranks"

    def schedule(self, kind: Kind, n: int) -> Schedule:
        self.require(kind, n)
        trees = self.trees(n)
        rounds = at_once(
            [*up(tree, [(block,)]), *down(tree, [(block,)])] for block, tree in enumerate(trees)
        )
        names = (one.switch for tree in trees for one in tree.walk())
        return scheduled(kind, n, len(trees), rounds, names)


PLUGIN = Sharp
