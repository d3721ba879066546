"""The cut bound of one collective of a group on a place, by the graph of the place."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from tests.laws.jobs import Step
from tests.laws.places import Place
from yantra.collectives.schedule import Kind
from yantra.collectives.synthesis.bound import Fabric, bound
from yantra.fabric.graphs import graph_of, read
from yantra.fabric.graphs.graph import Graph

KIND_OF = {
    "ALL_REDUCE": Kind.ALL_REDUCE,
    "ALL_GATHER": Kind.ALL_GATHER,
    "REDUCE_SCATTER": Kind.REDUCE_SCATTER,
    "ALL_TO_ALL": Kind.ALL_TO_ALL,
    "BROADCAST": Kind.BROADCAST,
}


@lru_cache(maxsize=256)
def _graph(place: Place) -> Graph:
    if place.cables:
        fabric = place.fabric_kind
        return graph_of(fabric(None), "fabric")
    options = {
        "dimensions": "_".join(f"{kind}({size})" for kind, size, *_ in place.dims),
        "bandwidth": [f"{rate!r} GB/s" for *_, rate, _ in place.dims],
        "latency": [f"{ns!r} ns" for *_, ns in place.dims],
    }
    return graph_of(read("product", options, "fabric"), "fabric")


@lru_cache(maxsize=4096)
def _fabric(graph: Graph, members: tuple[int, ...]) -> Fabric:
    others = [device for device in range(graph.devices) if device not in members]
    number = {device: at for at, device in enumerate((*members, *others))}
    columns = (graph.links.start, graph.links.end, graph.links.bytes_per_ns)
    links = tuple(
        (number[start], number[end], Fraction(rate))
        for start, end, rate in zip(*(column.tolist() for column in columns), strict=True)
    )
    return Fabric(len(members), graph.devices, links)


@lru_cache(maxsize=4096)
def _per_byte(graph: Graph, kind: str, members: tuple[int, ...]) -> Fraction:
    """A reduce is a broadcast turned round; all that is gathered goes into its root."""
    fabric = _fabric(graph, members)
    if kind in KIND_OF:
        return bound(KIND_OF[kind], fabric).ns_per_byte
    if kind == "REDUCE":
        return bound(Kind.BROADCAST, fabric.reversed()).ns_per_byte
    towards = fabric if kind == "GATHER" else fabric.reversed()
    rate = sum(each for _, end, each in towards.links if end == 0)
    shares = len(members) - 1 if kind == "GATHER" else Fraction(len(members) - 1, len(members))
    return shares / rate


def least_ns(place: Place, step: Step) -> Fraction:
    graph = _graph(place._replace(network="", routing=""))
    return _per_byte(graph, step.kind, step.ranks) * step.size
