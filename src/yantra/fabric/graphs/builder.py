"""What a builder of fabrics is: options, refusals, and the graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from yantra.base.fields import Quantity, Section
from yantra.base.fields.section import Entry
from yantra.fabric.graphs.draft import Speed
from yantra.fabric.graphs.graph import Graph

BANDWIDTH = Quantity("bandwidth", "GB/s", above=0)
"""The field of a link's rate in one direction; 1 GB/s is 1 byte per ns."""
LATENCY = Quantity("time", "ns", at_least=0)
"""The field of a link's latency."""

LINKS: Mapping[str, Entry] = {
    "bandwidth": ("bytes_per_ns", BANDWIDTH, "of each link, per direction"),
    "latency": ("latency_ns", LATENCY, "of each link"),
}
"""The two keys of builders whose links are all alike."""


_ELSE = "; by default that of the ranks' links"


def speed_keys(name: str, of: str) -> Mapping[str, Entry]:
    """Return the keys `NAME_bandwidth` and `NAME_latency` of other links than ranks';

    `speed_of` defaults to the ranks'.
    """
    return {
        f"{name}_bandwidth": (f"{name}_bytes_per_ns", BANDWIDTH, f"{of}{_ELSE}"),
        f"{name}_latency": (f"{name}_latency_ns", LATENCY, f"{of}{_ELSE}"),
    }


def speed_of(given: Any, name: str) -> Speed:
    rate, latency = getattr(given, f"{name}_bytes_per_ns"), getattr(given, f"{name}_latency_ns")
    return Speed(
        given.bytes_per_ns if rate is None else rate,
        given.latency_ns if latency is None else latency,
    )


class Size(NamedTuple):
    """Numbers of ranks, devices (with ranks) and directed links."""

    ranks: int
    devices: int
    links: int


class Linked(NamedTuple):
    """A dimension: topology, size, rate and latency."""

    kind: str
    size: int
    bytes_per_ns: float
    latency_ns: float


class Builder(ABC):
    """A kind of fabric.

    `example` are working options, for the contract and `yantra topology show`.
    """

    options: ClassVar[Section]
    example: ClassVar[Mapping[str, Any]]

    def __init__(self, given: Any) -> None:
        self.given = given

    def refuses(self) -> tuple[str, str] | None:
        """Return an impossible option's key and why, or None."""
        return None

    @abstractmethod
    def size(self) -> Size:
        """Return the graph's size, without making it."""

    @abstractmethod
    def graph(self) -> Graph: ...

    def dimensions(self) -> tuple[Linked, ...] | None:
        """Return the graph's dimensions, innermost first, or None."""
        return None

    def bisection(self) -> float | None:
        """Return bytes/ns, one way, across the worst halving of ranks,

        None without a formula.
        """
        return None

    def diameter(self) -> int | None:
        """Return the links between the farthest ranks; None without a formula."""
        return None

    @property
    def speed(self) -> Speed:
        return Speed(self.given.bytes_per_ns, self.given.latency_ns)
