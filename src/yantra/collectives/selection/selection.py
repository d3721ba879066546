"""The contract of a selection: which algorithm runs a collective, by its kind, size and group.

In place of an algorithm it may give the time that the whole collective takes, as it was measured.

A selection is asked once for every kind that a group runs, when a scenario is compiled, and answers
for all sizes at once: from so many bytes on, these algorithms. So a run looks nothing up but the
size.
"""

from __future__ import annotations

from yantra.base.fields import Section
from yantra.base.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar


class Link(NamedTuple):
    """The links of a dimension as a run has them: infinite bandwidth or no latency in a what-if.

    `free_bytes` and `free_latency` say that such a what-if took it away, whatever it was before.
    """

    bytes_per_ns: float
    latency_ns: float
    free_bytes: bool = False
    free_latency: bool = False


class Group(NamedTuple):
    """The ranks of a collective: how many, and where they lie.

    `dimensions` are the topology (by name) and the size of every dimension of the cluster,
    innermost first. `whole` are the dimensions of which the group is exactly the product, None if
    it is none; `lowest` is the innermost dimension in which members differ, None if there is one
    member. `local` is how many members lie together on one member of all dimensions but the
    innermost: in one node, where that is a node. `links` are those of each dimension; empty where
    nobody knows them.
    """

    ranks: int
    dimensions: tuple[tuple[str, int], ...]
    whole: tuple[int, ...] | None
    lowest: int | None
    local: int = 1
    links: tuple[Link, ...] = ()


class Timed(NamedTuple):
    """How long a whole collective takes from when its last member comes, without its messages.

    `points` are (bytes, ns), ascending in bytes, as the collective states them: of an all-gather
    the part of one rank. Times between them follow straight lines. `basis` says what they rest on,
    `interval` is half of the 90 % interval as a logarithm, 0 where nobody knows, and `runs` has the
    algorithm and protocol that runs from so many bytes on, where that is known: its bytes are then
    charged to links (`yantra.collectives.charges`). `once` is the share of what leaves a node in an
    all-to-all that is sent, `near` that of what stays. `follows_links` says that the points are
    those over the group's links, so that nobody takes latency or bandwidth off them.
    """

    points: tuple[tuple[int, float], ...]
    basis: str
    interval: float = 0.0
    runs: tuple[tuple[int, str], ...] = ()
    once: float = 1.0
    near: float = 1.0
    follows_links: bool = False


class Choice(NamedTuple):
    """From `from_bytes` on, one algorithm for each dimension, one for all, or a measured time."""

    from_bytes: int
    algorithms: tuple[str, ...] | Timed


class Selection:
    """Base of selections. `options` describes what a scenario may set, None for nothing."""

    options: ClassVar[Section | None] = None

    def __init__(self, options: Any) -> None:
        """Keep the options, as the record of `self.options`."""
        self.given = options

    def choices(self, kind: str, group: Group) -> Sequence[Choice]:
        """Return what runs a kind of collective (`all_reduce`, ...), by ascending bytes.

        Sizes below the first choice keep the algorithms that the scenario names; so do all sizes
        where there is none.
        """
        raise NotImplementedError

    def sms(self, kind: str) -> int | None:
        """Return the units of a device that collectives of a kind run on; None: as any others."""
        return None
