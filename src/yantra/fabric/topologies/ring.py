"""Ring: every rank is linked to the next and to the previous one.

A message goes the shorter way round, upwards if both are equal.

Source: Won et al., ASTRA-sim2.0, ISPASS 2023, table I.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yantra.fabric.topologies.geometry import around
from yantra.fabric.topologies.topology import Block, Link

if TYPE_CHECKING:
    from collections.abc import Iterable


class Ring(Block):
    """n ranks in a circle; two ranks are one pair."""

    native = "ring"
    symmetric = True

    def links(self, n: int) -> Iterable[Link]:
        return sorted({(rank, (rank + way) % n) for rank in range(n) for way in (1, -1)})

    def next_device(self, n: int, at: int, to: int) -> int:
        return around(n, at, to)


PLUGIN = Ring
