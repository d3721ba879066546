"""Switch: every rank has one link up to a switch and one down from it.

What many send to one rank waits at the link down to it.

Source: Won et al., ASTRA-sim2.0, ISPASS 2023, table I.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.fabric.topologies.geometry import both_ways
from yantra.fabric.topologies.topology import Block, Link

if TYPE_CHECKING:
    from collections.abc import Iterable


class Switch(Block):
    """A star: device n is the switch."""

    native = "switch"
    symmetric = True

    def switches(self, n: int) -> int:
        return 1

    def links(self, n: int) -> Iterable[Link]:
        return both_ways((rank, n) for rank in range(n))


PLUGIN = Switch
