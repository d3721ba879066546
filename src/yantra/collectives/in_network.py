"""Algorithms in which the switches of a fabric add and copy, so that ranks send less.

Such an algorithm runs over trees of switches that the fabric has; trees share no switch, and each
carries an equal part of the data. Without a fabric, as where its schedule is checked alone, it has
one switch with all positions on it.

Trade-off: trees are those of all ranks of a job; what a rate or a buffer of a switch would bound is
not modelled (`yantra.collectives.switch_tree`).
"""

from __future__ import annotations

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.switch_tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self


class InNetwork(CollectiveAlgorithm):
    """An algorithm over trees of switches."""

    in_network = True

    def __init__(self, window: int | None = None) -> None:
        super().__init__(window)
        self._trees: tuple[Tree, ...] = ()

    def on(self, trees: tuple[Tree, ...]) -> Self:
        """Return the same over the trees of a fabric."""
        made = type(self)(self.window)
        made._trees = trees
        return made

    def trees(self, n: int) -> tuple[Tree, ...]:
        """Return the trees: those of the fabric, else one switch."""
        return self._trees or (Tree("switch", tuple(range(n))),)
