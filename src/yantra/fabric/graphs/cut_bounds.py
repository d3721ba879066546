"""How fast each collective can be on a graph, and what limits it.

Trade-off: a largest flow per kind of rank takes moments for a thousand ranks in two tiers; tori are
refused beyond two thousand.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from yantra.base.errors import ConfigError, UnsupportedError
from yantra.base.text import count
from yantra.collectives.bandwidth import bus_factor
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.bound import BOUNDED, Bound, Fabric, bound, kinds_of_ranks
from yantra.fabric.graphs.graph import Graph

MOST_WORK = 20_000_000
"""Kinds of ranks times links of the largest graph that is bounded, in tens of seconds."""


class CutBound(NamedTuple):
    """A collective's least time in ns, bus bandwidth, and reason."""

    kind: str
    time_ns: float
    bus_bytes_per_ns: float
    because_of: str


def cut_bounds(graph: Graph, where: str, size_bytes: int) -> list[CutBound]:
    """Return a graph's bounds; `size_bytes` is a rank's input, or an all-gather's output.

    Raises ConfigError for fewer than two or unconnected ranks, UnsupportedError if it would take
    minutes.
    """
    fabric = bounded_fabric(graph, where)
    return [_row(graph, kind, bound(kind, fabric), size_bytes) for kind in BOUNDED]


def bounded_fabric(graph: Graph, where: str) -> Fabric:
    if graph.ranks < 2:
        raise ConfigError(where, f"expected at least 2 ranks, got {count(graph.ranks, 'rank')}")
    alone = graph.unreached()
    if alone is not None:
        problem = f"{graph.name_of(alone)} and {graph.name_of(0)} do not reach each other"
        raise ConfigError(where, f"{problem}; expected links both ways between all ranks")
    fabric = _fabric(graph)
    work = len(kinds_of_ranks(fabric)) * len(fabric.links)
    if work > MOST_WORK:
        problem = f"{count(graph.ranks, 'rank')} and {count(len(fabric.links), 'link')}"
        raise UnsupportedError(
            f"{where}: its {problem} would take minutes to bound; "
            "make it smaller, as its ranks differ too much for some to stand for all"
        )
    return fabric


def least_ns_per_byte(kind: Kind, fabric: Fabric, *, switches_add: bool = False) -> Fraction:
    """Return the bound per byte of a rank's input, or all-gather's output."""
    return _of_size(kind, fabric.ranks, bound(kind, fabric, switches_add=switches_add))


def _of_size(kind: Kind, ranks: int, found: Bound) -> Fraction:
    return found.ns_per_byte / (ranks if kind is Kind.ALL_GATHER else 1)


def _fabric(graph: Graph) -> Fabric:
    columns = (graph.links.start, graph.links.end, graph.links.bytes_per_ns)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    links = tuple((start, end, Fraction(rate)) for start, end, rate in rows)
    return Fabric(graph.ranks, graph.devices, links)


def _row(graph: Graph, kind: Kind, found: Bound, size_bytes: int) -> CutBound:
    n = graph.ranks
    time = _of_size(kind, n, found) * size_bytes
    factor = bus_factor(str(kind), n)
    assert factor is not None, kind
    bus = factor * size_bytes / time
    return CutBound(str(kind), float(time), float(bus), _because_of(graph, found))


def _because_of(graph: Graph, found: Bound) -> str:
    if not found.limit:
        return "what all ranks send"
    inside = sorted(found.limit)
    others = sorted(set(range(graph.devices)) - found.limit)
    if len(others) < len(inside):
        return f"what goes into {_names(graph, others)}"
    return f"what comes out of {_names(graph, inside)}"


def _names(graph: Graph, devices: list[int]) -> str:
    more = f" and {len(devices) - 3} more" if len(devices) > 3 else ""
    return ", ".join(graph.name_of(device) for device in devices[:3]) + more
