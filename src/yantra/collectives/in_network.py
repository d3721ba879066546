"""Algorithms that know the switches of a fabric, so that these add and copy, or nodes are known.

Such an algorithm asks for two things: trees of switches over some of its positions, and nodes,
which are positions with switches of their own. A fabric answers (`yantra.fabric.graphs.switches`).
Without a fabric, as where a schedule is checked alone, nodes are as many as each has positions, or
there is one, and one switch joins whoever asks.

Trade-off: trees and nodes are those of all ranks of a job; what a rate or a buffer of a switch
would bound is not modelled (`yantra.collectives.switch_tree`).
"""

from __future__ import annotations

from yantra.base.tuples import NamedTuple
from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.numbered_nodes import usual_local
from yantra.collectives.schedule import Kind
from yantra.collectives.switch_tree import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar, Protocol, Self

    class Switches(Protocol):
        """What a fabric says of its switches; positions are those of the collective."""

        def trees(self, positions: Sequence[int]) -> tuple[Tree, ...]:
            """Return trees over some positions, which share no switch; none if nothing joins."""

        def nodes(self) -> tuple[Node, ...]:
            """Return the nodes, which have all positions between them."""


class Node(NamedTuple):
    """Positions of one node, and the switches inside that each of them has links to."""

    positions: tuple[int, ...]
    switches: tuple[str, ...]


class InNetwork(CollectiveAlgorithm):
    """An algorithm over switches. `by_nodes` says that it tells nodes apart."""

    in_network = True
    by_nodes: ClassVar[bool] = False

    def __init__(self, window: int | None = None) -> None:
        super().__init__(window)
        self._switches: Switches | None = None

    def on(self, switches: Switches) -> Self:
        """Return the same over the switches of a fabric."""
        made = type(self)(self.window)
        made._switches = switches
        return made

    def supports(self, kind: Kind, n: int, *, faithful: bool = False) -> str | None:
        return super().supports(kind, n, faithful=faithful) or self.lacks(n)

    def lacks(self, n: int) -> str | None:
        """Return what the fabric lacks for it over n positions, None for nothing."""
        return None

    def trees(self, n: int, positions: Sequence[int] | None = None) -> tuple[Tree, ...]:
        """Return the trees over some positions, or all: those of the fabric, else one switch."""
        asked = range(n) if positions is None else positions
        if self._switches is not None:
            return self._switches.trees(asked)
        return (Tree(f"switch {asked[0]}", tuple(asked)),)

    def nodes(self, n: int) -> tuple[Node, ...]:
        """Return the nodes: those of the fabric, else some of equal size with one switch each."""
        if self._switches is not None:
            return self._switches.nodes()
        local = usual_local(n) if self.by_nodes else n
        return tuple(
            Node(tuple(range(first, first + local)), (f"box switch {first // local}",))
            for first in range(0, n, local)
        )
