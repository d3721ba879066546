"""What a collective algorithm is: the kinds it offers, its schedule, and its programs.

A new algorithm needs `kinds` and `schedule`; its programs are lowered from the schedule. An
algorithm overrides `programs` when the exchange machine can run it (fewer, larger steps), and with
faithful=True returns what ASTRA-sim runs, oddities included.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from yantra.base.errors import UnsupportedError
from yantra.collectives.lower import lower
from yantra.collectives.program import Program, RingKind
from yantra.collectives.schedule import Kind, Schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class CollectiveAlgorithm(ABC):
    """One collective algorithm over the positions 0..n-1 of a group.

    `kinds` are the collectives it performs. `window` bounds the messages a position has under way;
    only algorithms with `windowed` take one, and None leaves it to them. Where the number counts
    something else, `number_is` says what, and `without_number` what it is if it is not given.
    `in_astra_sim` says that it has faithful programs,
    `in_network` that it runs over the switches of a fabric.
    """

    kinds: ClassVar[frozenset[Kind]]
    """The collectives that it performs."""
    windowed: ClassVar[bool] = False
    """Whether it takes a number that bounds the messages a position has under way."""
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
        """The most messages that a position has under way; None leaves it to the algorithm."""

    def supports(self, kind: Kind, n: int, *, faithful: bool = False) -> str | None:
        """Return None, or why it cannot perform `kind` over n positions."""
        if n < 2:
            return f"a collective needs at least 2 positions, got {n}"
        if kind not in self.kinds:
            return f"it performs {', '.join(sorted(self.kinds))}, not {kind}"
        if faithful and not self.in_astra_sim:
            return "ASTRA-sim has no such algorithm"
        return None

    @abstractmethod
    def schedule(self, kind: Kind, n: int) -> Schedule:
        """Return who sends which block to whom."""

    def programs(
        self, kind: Kind, n: int, *, faithful: bool = False, ring_kind: RingKind = "usual"
    ) -> tuple[Program, ...]:
        """Return what the core runs; the k-th phase of a rank runs the (k mod len)-th program.

        `ring_kind` is "usual" for ASTRA-sim's ring of all ranks along a dimension and "group" for
        that of a communicator group; it matters only when faithful.
        """
        self.require(kind, n, faithful=faithful)
        return (lower(self.schedule(kind, n)),)

    def require(self, kind: Kind, n: int, *, faithful: bool = False) -> None:
        """Raise UnsupportedError unless `kind` over n positions is supported."""
        reason = self.supports(kind, n, faithful=faithful)
        if reason:
            raise UnsupportedError(f"{type(self).__name__}: {reason}")
