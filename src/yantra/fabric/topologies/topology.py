"""What a topology is: the switches, links and routes of one dimension.

Devices are numbers: 0..n-1 are the ranks, those from n on are switches.
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

    `native` names the form the core knows by heart, which must be the same network; without one
    the core looks links and routes up in a table. `symmetric` claims that there are as many hops
    from a to b as from b to a. `number_means` says what the number behind a name counts
    (`two_level_tree4`: 4 ranks per leaf); empty for a topology that takes none.
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
        """Return None, or what it needs that n ranks are not: "needs ..., got ..."."""
        return f"needs at least 2 ranks, got {n}" if n < 2 else None

    def switches(self, n: int) -> int:
        """Return the number of switches."""
        return 0

    @abstractmethod
    def links(self, n: int) -> Iterable[Link]:
        """Return every directed link once."""

    def next_device(self, n: int, at: int, to: int) -> int | None:
        """Return where a message at device `at` to rank `to` goes next.

        None leaves it to the shortest way by hops; of several, to the lowest next device.
        """
        return None
