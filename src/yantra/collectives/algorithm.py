"""What a collective algorithm is; faithful=True returns what ASTRA-sim runs, oddities included."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from yantra.base.errors import UnsupportedError
from yantra.collectives.program import Program, RingKind
from yantra.collectives.schedule import Kind, Schedule


class CollectiveAlgorithm(ABC):
    """One collective algorithm over the positions 0..n-1 of a group."""

    kinds: ClassVar[frozenset[Kind]]
    """The collectives that it performs."""
    windowed: ClassVar[bool] = False
    """Whether it takes a number, usually the most messages under way per position."""
    number_is: ClassVar[str] = "messages"
    """What the number counts."""
    without_number: ClassVar[str] = "no limit"
    """What holds where no number is given."""
    in_network: ClassVar[bool] = False
    """Whether it runs over the switches of a fabric."""
    in_astra_sim: ClassVar[bool] = False
    """Whether it has programs faithful to ASTRA-sim."""

    def __init__(self, window: int | None = None) -> None:
        self.window = window
        """Most messages under way per position; None: the algorithm's choice."""

    def supports(self, kind: Kind, n: int, *, faithful: bool = False) -> str | None:
        """Why it cannot perform `kind` over n positions, or None."""
        if n < 2:
            return f"a collective needs at least 2 positions, got {n}"
        if kind not in self.kinds:
            return f"it performs {', '.join(sorted(self.kinds))}, not {kind}"
        if faithful and not self.in_astra_sim:
            return "ASTRA-sim has no such algorithm"
        return None

    @abstractmethod
    def schedule(self, kind: Kind, n: int) -> Schedule:
        """Who sends which block to whom."""

    def programs(
        self, kind: Kind, n: int, *, faithful: bool = False, ring_kind: RingKind = "usual"
    ) -> tuple[Program, ...]:
        """What the core runs; phase k of a rank runs program k mod len.

        `ring_kind` (faithful): "usual" ring along a dimension, or a communicator "group"'s.
        """
        from yantra.collectives.lower import lower

        self.require(kind, n, faithful=faithful)
        return (lower(self.schedule(kind, n)),)

    def require(self, kind: Kind, n: int, *, faithful: bool = False) -> None:
        """Raises UnsupportedError for an unsupported `kind` over n."""
        reason = self.supports(kind, n, faithful=faithful)
        if reason:
            raise UnsupportedError(f"{type(self).__name__}: {reason}")
