"""A topology: switches, links and routes of a dimension.

Devices 0..n-1 are ranks, then switches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Link = tuple[int, int]
"""A directed link: the device it leaves and the device it leads to."""


class Block(ABC):
    """One way to link n ranks.

    `native` is an equal form of the core, else it uses a table. `symmetric` claims equal hops both
    ways. `number_means`: what a name's number counts (`two_level_tree4`: ranks per leaf), or "".
    """

    native: ClassVar[Literal["ring", "fully_connected", "switch"] | None] = None
    """The form that the core knows, which must be the same network; None for a table."""
    symmetric: ClassVar[bool] = False
    """Whether there are as many hops from a to b as from b to a."""
    number_means: ClassVar[str] = ""
    """What the number behind the name counts; empty for a topology that takes none."""

    def __init__(self, number: int | None = None) -> None:
        self.number = number
        """The number behind the name; None without."""

    def supports(self, n: int) -> str | None:
        """Return None, or "needs ..., got ..."."""
        return f"needs at least 2 ranks, got {n}" if n < 2 else None

    def switches(self, n: int) -> int:
        """Return the number of switches."""
        return 0

    @abstractmethod
    def links(self, n: int) -> Iterable[Link]:
        """Return every directed link once."""

    def next_device(self, n: int, at: int, to: int) -> int | None:
        """Return the next device of a message at `at` to rank `to`,

        None for the fewest hops, lowest device first.
        """
        return None
