"""The contract of a selection: which algorithm runs a collective, by its kind, size and group.

It is asked at compilation, for all sizes at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from yantra.base.fields import Section

if TYPE_CHECKING:
    from collections.abc import Sequence


class Link(NamedTuple):
    """A dimension's links in a run; a what-if makes bandwidth infinite (`free_bytes`) or latency 0
    (`free_latency`).
    """

    bytes_per_ns: float
    latency_ns: float
    free_bytes: bool = False
    free_latency: bool = False


class Group(NamedTuple):
    """The ranks of a collective.

    `dimensions`: topology name and size, innermost first. `whole`: those whose product is the
    group, else None; `lowest`: the innermost in which members differ. `local`: members in one node.
    `links`: each dimension's; empty if unknown.
    """

    ranks: int
    dimensions: tuple[tuple[str, int], ...]
    whole: tuple[int, ...] | None
    lowest: int | None
    local: int = 1
    links: tuple[Link, ...] = ()


class Timed(NamedTuple):
    """How long a whole collective takes from when its last member comes, without its messages.

    `points`: ascending (bytes, ns), bytes as stated (all-gather: one rank's), with straight lines
    between. `basis`: what they rest on. `interval`: half of the 90 % one as a logarithm (0:
    unknown). `runs`: algorithm and protocol by least bytes, if known, to charge to links
    (`yantra.collectives.charges`). `once`: the share sent of what leaves a node in an all-to-all,
    `near` of what stays. `follows_links`: the points are over the group's links, so no latency or
    bandwidth is taken off.
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
        """What runs a kind of collective (`all_reduce`, ...), by ascending bytes.

        Sizes below the first choice, all if there is none, keep the scenario's algorithms.
        """
        raise NotImplementedError

    def sms(self, kind: str) -> int | None:
        """A device's units that collectives of a kind run on; None: as any others."""
        return None
