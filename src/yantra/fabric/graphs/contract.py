"""The laws of builders of fabrics, and their contract.

    yantra contract fabric fat_tree
    yantra contract fabric path/to/my_fabric.py

A law takes a builder with its example's options and returns what is wrong, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from yantra.base.contract import Contract, first_broken
from yantra.base.errors import ConfigError
from yantra.base.text import count
from yantra.fabric.graphs import builders, cuts, graph_of, read
from yantra.fabric.graphs.builder import Builder
from yantra.fabric.graphs.distances import distances
from yantra.fabric.graphs.figures import figures
from yantra.fabric.graphs.graph import Graph

Law = Callable[[Builder, Graph], str | None]

_ROUNDING = 1e-9
_SIDES = 20  # random cuts to check a formula


def every_rank_reaches_every_other(builder: Builder, graph: Graph) -> str | None:
    rank = graph.unreached()
    return None if rank is None else f"rank 0 and rank {rank} do not reach each other"


def the_size_it_states_is_that_of_its_graph(builder: Builder, graph: Graph) -> str | None:
    """`size`, asked first, is the graph's."""
    stated, made = tuple(builder.size()), (graph.ranks, graph.devices, len(graph.links.start))
    if stated == made:
        return None
    return f"it states ranks, devices and links {stated}, its graph has {made}"


def the_same_is_said_twice(builder: Builder, graph: Graph) -> str | None:
    again = type(builder)(builder.given).graph()
    same = graph.tiers == again.tiers and graph.labels == again.labels
    for at in range(len(graph.links)):
        same = same and np.array_equal(graph.links[at], again.links[at])
    return None if same else "asked twice, it makes two graphs"


def its_diameter_is_that_of_its_graph(builder: Builder, graph: Graph) -> str | None:
    """The formula is the number of links between the farthest ranks."""
    stated, found = builder.diameter(), distances(graph)
    if stated is None or found is None or stated == found.most:
        return None
    return f"it states a diameter of {stated} links, its graph has {found.most}"


def its_bisection_is_the_least_cut(builder: Builder, graph: Graph) -> str | None:
    """No halving of ranks lets less through; for few ranks one lets as much."""
    stated = builder.bisection()
    if stated is None:
        return None
    if graph.ranks <= cuts.MOST_TRIED:
        found = cuts.bisection(graph)
        if abs(found - stated) <= _ROUNDING * found:
            return None
        return f"it states a bisection of {stated:g} bytes/ns, the least cut has {found:g}"
    for side in _sides(graph):
        found = cuts.least_cut(graph, side)
        if found < stated * (1 - _ROUNDING):
            half = ", ".join(map(str, sorted(side)))
            return f"it states a bisection of {stated:g} bytes/ns, but ranks {half} send {found:g}"
    return None


LAWS: tuple[Law, ...] = (
    every_rank_reaches_every_other,
    the_size_it_states_is_that_of_its_graph,
    the_same_is_said_twice,
    its_diameter_is_that_of_its_graph,
    its_bisection_is_the_least_cut,
)


def violations(kind: type[Builder]) -> Iterator[str]:
    builder, graph = _example(kind)
    broken = first_broken(LAWS, "its example", builder, graph)
    if broken:
        yield broken


def summary(kind: type[Builder]) -> str:
    builder, graph = _example(kind)
    of = figures(graph, builder)
    most = of.diameter.value
    return (
        "every law holds over its example\n"
        f"{of.ranks} ranks: {count(of.devices - of.ranks, 'other device')}, {of.links} links"
        + (f", {count(int(most), 'link')} at most between ranks" if most is not None else "")
    )


CONTRACT = Contract(
    kind="fabric",
    module="yantra.fabric.graphs.contract",
    about="Check a builder of fabrics: its graph, and what it states of it.",
    argument="a name (fat_tree), or a file with a line PLUGIN =",
    find=builders.get,
    violations=violations,
    summary=summary,
)


def _example(kind: type[Builder]) -> tuple[Builder, Graph]:
    try:
        builder = read(kind, kind.example, "example")
    except AttributeError:
        raise ConfigError(kind.__name__, "has no `options` or no `example` of them") from None
    return builder, graph_of(builder, "example")


def _sides(graph: Graph) -> Iterator[set[int]]:
    half = graph.ranks // 2
    yield set(range(half))
    yield set(range(0, 2 * half, 2))
    generator = np.random.default_rng(1)
    for _ in range(_SIDES):
        yield set(generator.permutation(graph.ranks)[:half].tolist())
