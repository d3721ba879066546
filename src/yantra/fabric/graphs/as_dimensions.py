"""A fabric as dimensions, for networks that run over those alone."""

from __future__ import annotations

from yantra.fabric.graphs.builder import Linked
from yantra.fabric.graphs.describe import Shown
from yantra.fabric.topologies import find, topologies


def dimensions_of(shown: Shown) -> tuple[Linked, ...] | None:
    builder = shown.builder
    return None if builder is None else builder.dimensions() or _one_dimension(shown)


def _one_dimension(shown: Shown) -> tuple[Linked, ...] | None:
    graph, name = shown.graph, shown.name
    if name not in topologies.names():
        return None
    block, ranks, links = find(name), graph.ranks, graph.links
    if block.supports(ranks) is not None or graph.devices != ranks + block.switches(ranks):
        return None
    ours = sorted(zip(links.start.tolist(), links.end.tolist(), strict=True))
    alike = all(len(set(column.tolist())) == 1 for column in (links.bytes_per_ns, links.latency_ns))
    if not alike or ours != sorted(block.links(ranks)):
        return None
    return (Linked(name, ranks, float(links.bytes_per_ns[0]), float(links.latency_ns[0])),)
