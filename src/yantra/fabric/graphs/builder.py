"""What a builder of fabrics is: options, what they refuse, and the graph that they make.

A builder also states what it knows of its graph by formula: bisection and diameter. What it does
not state is computed from the graph (`figures.py`), which takes longer, and not for all sizes.
"""

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
    """Return the keys of other links than the ranks', `NAME_bandwidth` and `NAME_latency`.

    Both may be left out; `speed_of` then takes the ranks' own.
    """
    return {
        f"{name}_bandwidth": (f"{name}_bytes_per_ns", BANDWIDTH, f"{of}{_ELSE}"),
        f"{name}_latency": (f"{name}_latency_ns", LATENCY, f"{of}{_ELSE}"),
    }


def speed_of(given: Any, name: str) -> Speed:
    """Return the speed that `speed_keys` reads, and the ranks' own where it is not given."""
    rate, latency = getattr(given, f"{name}_bytes_per_ns"), getattr(given, f"{name}_latency_ns")
    return Speed(
        given.bytes_per_ns if rate is None else rate,
        given.latency_ns if latency is None else latency,
    )


class Size(NamedTuple):
    """How many ranks, devices (ranks among them) and directed links a graph has."""

    ranks: int
    devices: int
    links: int


class Linked(NamedTuple):
    """A dimension: its topology, its size, and the rate and latency of its links."""

    kind: str
    size: int
    bytes_per_ns: float
    latency_ns: float


class Builder(ABC):
    """A kind of fabric.

    `options` describes what a scenario sets, and `self.given` is the record of it. `example` are
    options that will do, as a file states them; the contract builds them, and `yantra topology
    show` takes from them what it is not told.
    """

    options: ClassVar[Section]
    example: ClassVar[Mapping[str, Any]]

    def __init__(self, given: Any) -> None:
        """Keep the options, a record of `self.options`."""
        self.given = given

    def refuses(self) -> tuple[str, str] | None:
        """Return the key of an option that cannot be and what is wrong with it, or None."""
        return None

    @abstractmethod
    def size(self) -> Size:
        """Return how large the graph is, without making it."""

    @abstractmethod
    def graph(self) -> Graph:
        """Return the graph of the options, which `refuses` let pass."""

    def dimensions(self) -> tuple[Linked, ...] | None:
        """Return the dimensions of which the graph is the product, innermost first, or None."""
        return None

    def bisection(self) -> float | None:
        """Return the bytes/ns that cross, one way, the worst cut into two halves of the ranks.

        None where no formula is known.
        """
        return None

    def diameter(self) -> int | None:
        """Return the links between the two ranks that are farthest apart; None without formula."""
        return None

    @property
    def speed(self) -> Speed:
        return Speed(self.given.bytes_per_ns, self.given.latency_ns)
