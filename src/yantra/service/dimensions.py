"""A graph as dimensions for analytical networks: up to three rings or full meshes, or switches in
and between boxes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from yantra.astra_sim.network import written
from yantra.base.errors import UnsupportedError
from yantra.fabric.graphs import files as graph_files
from yantra.fabric.graphs.graph import Graph
from yantra.scenario.astra_sim_keys import LISTS
from yantra.service.networks import ANALYTICAL

_MOST_DIMENSIONS = 3
_GIB_PER_NS = 1073741824 / 1_000_000_000  # ASTRA-sim's GB/s, in bytes per ns

Pairs = frozenset[tuple[int, int]]


class Shape(NamedTuple):
    kind: str
    size: int
    bytes_per_ns: float
    latency_ns: float


def write_network(path: str) -> str:
    shapes = shapes_of(graph_files.read(path), os.path.basename(path))
    rows = [
        (of.kind, str(of.size), repr(of.bytes_per_ns / _GIB_PER_NS), repr(of.latency_ns))
        for of in shapes
    ]
    columns = dict(zip(LISTS, map(list, zip(*rows, strict=True)), strict=True))
    target = os.path.join(os.path.dirname(path), ANALYTICAL)
    with open(target, "w", encoding="utf-8") as file:
        file.write(written(columns))
    return target


def own_speed(graph: Graph) -> tuple[float, float]:
    links = graph.links
    own = links.start < graph.ranks
    rates = np.bincount(links.start[own], links.bytes_per_ns[own], graph.ranks)
    return float(rates.min()), float(links.latency_ns[own].max())


def first_of_boxes(graph: Graph) -> tuple[int, ...]:
    boxes = graph.boxes[: graph.ranks]
    firsts = np.unique(boxes[boxes >= 0], return_index=True)[1]
    places = np.flatnonzero(boxes >= 0)[firsts].tolist() + np.flatnonzero(boxes < 0).tolist()
    return tuple(sorted(places))


def shapes_of(graph: Graph, name: str) -> list[Shape]:
    links, ranks = graph.links, graph.ranks
    direct = (links.start < ranks) & (links.end < ranks)
    if not direct.any():
        return _switches(graph, name)
    pairs = frozenset(zip(links.start[direct].tolist(), links.end[direct].tolist(), strict=True))
    block = _block(pairs, ranks)
    inner = frozenset((one, other) for one, other in pairs if one < block)
    copies = (
        frozenset((one + at, other + at) for one, other in inner) for at in range(0, ranks, block)
    )
    found = next(_products(inner, block), None) if frozenset().union(*copies) == pairs else None
    if found is None:
        raise UnsupportedError(
            f"{name}: its links are not a product of up to {_MOST_DIMENSIONS} rings and "
            "full meshes; the backends ns3 and htsim run over any graph"
        )
    first = np.flatnonzero(direct)[0]
    rate, latency = float(links.bytes_per_ns[first]), float(links.latency_ns[first])
    shapes = [Shape(kind, size, rate, latency) for kind, size in found]
    if block < ranks:
        shapes.append(_outer(graph, block))
    return shapes


def _block(pairs: Pairs, ranks: int) -> int:
    near: dict[int, list[int]] = {}
    for one, other in pairs:
        near.setdefault(one, []).append(other)
    seen, waiting = {0}, [0]
    while waiting:
        for other in near.get(waiting.pop(), []):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return len(seen) if ranks % len(seen) == 0 else ranks


def _products(pairs: Pairs, ranks: int) -> Iterator[list[tuple[str, int]]]:
    degree = sum(1 for one, _ in pairs if one == 0)
    for count in range(1, _MOST_DIMENSIONS + 1):
        for sizes in _factors(ranks, count):
            for kinds in product(("Ring", "FullyConnected"), repeat=count):
                shape = list(zip(kinds, sizes, strict=True))
                expected = sum(len(_near(kind, size, 0)) for kind, size in shape)
                if expected == degree and _links(shape) == pairs:
                    yield shape


def _factors(ranks: int, count: int) -> Iterator[tuple[int, ...]]:
    if count == 1:
        yield (ranks,)
        return
    for first in range(2, ranks // 2 + 1):
        if ranks % first == 0:
            for rest in _factors(ranks // first, count - 1):
                if rest[0] > 1:
                    yield (first, *rest)


def _near(kind: str, size: int, at: int) -> set[int]:
    if kind == "Ring" and size > 2:
        return {(at + 1) % size, (at - 1) % size}
    return set() if kind == "Ring" else set(range(size)) - {at}


def _links(shape: list[tuple[str, int]]) -> Pairs:
    pairs = set()
    ranks = prod(size for _, size in shape)
    stride = 1
    for kind, size in shape:
        for rank in range(ranks):
            at = rank // stride % size
            pairs |= {(rank, rank + (other - at) * stride) for other in _near(kind, size, at)}
        stride *= size
    return frozenset(pairs)


def _switches(graph: Graph, name: str) -> list[Shape]:
    if graph.ranks < 2:
        raise UnsupportedError(f"{name}: has one rank; expected at least 2 to communicate")
    boxes = graph.boxes[: graph.ranks]
    sizes = np.unique(boxes, return_counts=True)[1]
    in_order = np.count_nonzero(np.diff(boxes)) == len(sizes) - 1
    block = int(sizes[0]) if in_order and len(set(sizes.tolist())) == 1 else graph.ranks
    shapes = []
    if block > 1:
        shapes.append(Shape("Switch", block, *_into_switches(graph, block)))
    if block < graph.ranks:
        shapes.append(_outer(graph, block))
    return shapes


def _into_switches(graph: Graph, block: int) -> tuple[float, float]:
    links = graph.links
    own = np.flatnonzero(links.start == 0)
    joins = [
        link
        for link in own
        if block
        <= len(set(links.start[(links.end == links.end[link])].tolist()) & set(range(block)))
    ]
    chosen = np.array(joins if joins else own)
    return float(links.bytes_per_ns[chosen].sum()), float(links.latency_ns[chosen].max())


def _outer(graph: Graph, block: int) -> Shape:
    links = graph.links
    inside = np.isin(np.arange(graph.devices), range(block))
    if graph.boxes[0] >= 0:
        inside |= graph.boxes == graph.boxes[0]
    leaves = inside[links.start] & ~inside[links.end]
    rate = float(links.bytes_per_ns[leaves].sum()) / block
    return Shape("Switch", graph.ranks // block, rate, float(links.latency_ns[leaves].max()))
