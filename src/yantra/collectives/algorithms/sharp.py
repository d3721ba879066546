"""SHARP: switches add on the way up a tree and copy on the way down, as in CollNet.

Over p trees of h levels of links of latency l and bandwidth B: 2 h (l + S / (p B)) and hand-overs.

Trade-off: switches store and forward, add in no time and have room for all.

Source: Graham et al., "SHArP", COMHPC 2016.
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
