"""Fully connected: every rank has a link to every other.

One hop between any two, at the price of n (n - 1) links, over which each rank's bandwidth is
spread.

Source: Won et al., ASTRA-sim2.0, ISPASS 2023, table I.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

from yantra.fabric.topologies.topology import Block, Link

if TYPE_CHECKING:
    from collections.abc import Iterable


class FullyConnected(Block):
    native = "fully_connected"
    symmetric = True

    def links(self, n: int) -> Iterable[Link]:
        return permutations(range(n), 2)


PLUGIN = FullyConnected
