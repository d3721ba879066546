"""Algorithms that use a fabric's switches, to add and copy, or its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, Self

from yantra.collectives.algorithm import CollectiveAlgorithm
from yantra.collectives.numbered_nodes import usual_local
from yantra.collectives.schedule import Kind
from yantra.collectives.switch_tree import Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    class Switches(Protocol):
        """A fabric's switches; positions are the collective's."""

        def trees(self, positions: Sequence[int]) -> tuple[Tree, ...]:
            """Trees over some positions that share no switch; none if unjoined."""

        def nodes(self) -> tuple[Node, ...]:
            """The nodes, which together have all positions."""


class Node(NamedTuple):
    positions: tuple[int, ...]
    switches: tuple[str, ...]


class InNetwork(CollectiveAlgorithm):
    """An algorithm over switches; with `by_nodes` it distinguishes nodes."""

    in_network = True
    by_nodes: ClassVar[bool] = False

    def __init__(self, window: int | None = None) -> None:
        super().__init__(window)
        self._switches: Switches | None = None

    def on(self, switches: Switches) -> Self:
        made = type(self)(self.window)
        made._switches = switches
        return made

    def supports(self, kind: Kind, n: int, *, faithful: bool = False) -> str | None:
        return super().supports(kind, n, faithful=faithful) or self.lacks(n)

    def lacks(self, n: int) -> str | None:
        """What the fabric lacks for n positions, or None."""
        return None

    def trees(self, n: int, positions: Sequence[int] | None = None) -> tuple[Tree, ...]:
        asked = range(n) if positions is None else positions
        if self._switches is not None:
            return self._switches.trees(asked)
        return (Tree(f"switch {asked[0]}", tuple(asked)),)

    def nodes(self, n: int) -> tuple[Node, ...]:
        if self._switches is not None:
            return self._switches.nodes()
        local = usual_local(n) if self.by_nodes else n
        return tuple(
            Node(tuple(range(first, first + local)), (f"box switch {first // local}",))
            for first in range(0, n, local)
        )
