"""A fabric's figures: counts, ports, bisection, diameter, price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.errors import ConfigError, UnsupportedError, hint
from yantra.fabric.graphs import cuts
from yantra.fabric.graphs.builder import Builder
from yantra.fabric.graphs.distances import distances
from yantra.fabric.graphs.graph import Graph

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Figure(NamedTuple):
    """A number and how it was found; None if not."""

    value: float | None
    how: str


class LabelFigures(NamedTuple):
    """A label's links: count, rates, latencies."""

    label: str
    links: int
    bytes_per_ns: tuple[float, float]
    latency_ns: tuple[float, float]


class TierFigures(NamedTuple):
    """A tier's devices: count, fewest and most links.

    `buffer_bytes`: smallest and largest stated, or None.
    """

    name: str
    kind: str
    devices: int
    ports: tuple[int, int]
    buffer_bytes: tuple[int, int] | None


class Figures(NamedTuple):
    """Rates are bytes/ns one way, prices US dollars."""

    ranks: int
    devices: int
    links: int
    tiers: tuple[TierFigures, ...]
    labels: tuple[LabelFigures, ...]
    injection: tuple[float, float]
    bisection: Figure
    diameter: Figure
    mean_hops: Figure
    price_usd: float | None


def figures(
    graph: Graph, builder: Builder | None = None, prices: Mapping[str, float] | None = None
) -> Figures:
    """Return figures of a connected graph.

    `prices` are US dollars by device name (`core`) or label (`rank up`), per device and directed
    link.
    """
    rates = np.bincount(graph.links.start, graph.links.bytes_per_ns, graph.devices)[: graph.ranks]
    found = distances(graph)
    diameter = builder.diameter() if builder is not None else None
    too_long = Figure(None, "not computed: it would take minutes")
    return Figures(
        graph.ranks,
        graph.devices,
        len(graph.links.start),
        _tiers(graph),
        _labels(graph),
        (float(rates.min()), float(rates.max())),
        bisection(graph, builder),
        Figure(found.most, "all pairs")
        if found is not None
        else too_long
        if diameter is None
        else Figure(diameter, "formula"),
        too_long if found is None else Figure(found.mean, "all pairs"),
        _price(graph, prices) if prices else None,
    )


def bisection(graph: Graph, builder: Builder | None = None) -> Figure:
    """Return bytes/ns across the worst halving, or the best known."""
    known = builder.bisection() if builder is not None else None
    if known is not None:
        return Figure(known, "formula")
    if graph.ranks < 2:
        return Figure(None, "a single rank has no halves")
    if len(graph.links.start) > cuts.MOST_LINKS and graph.ranks > cuts.MOST_TRIED:
        return Figure(None, f"not computed: more than {cuts.MOST_LINKS} links and no formula")
    try:
        return _least_cut(graph)
    except UnsupportedError as error:  # of too different rates
        return Figure(None, f"not computed: {error}")


def _least_cut(graph: Graph) -> Figure:
    if graph.ranks <= cuts.MOST_TRIED:
        return Figure(cuts.bisection(graph), "all cuts into halves")
    half = graph.ranks // 2
    value = min(cuts.least_cut(graph, range(half)), cuts.least_cut(graph, range(half, graph.ranks)))
    where = f"least cut between ranks 0-{half - 1} and {half}-{graph.ranks - 1}"
    return Figure(value, f"{where}; other halves may have less")


def _tiers(graph: Graph) -> tuple[TierFigures, ...]:
    ports = graph.ports()
    found, first = [], 0
    for tier in graph.tiers:
        of_tier = slice(first, first + tier.size)
        first += tier.size
        if tier.size:
            span = _span(ports[of_tier])
            said = graph.buffers[of_tier] if graph.buffers is not None else ports[:0]
            buffers = _span(said[said > 0]) if (said > 0).any() else None
            kind = tier.kind.name.lower()
            found.append(TierFigures(tier.name, kind, tier.size, span, buffers))
    return tuple(found)


def _span(values: NDArray[np.int64]) -> tuple[int, int]:
    return int(values.min()), int(values.max())


def _labels(graph: Graph) -> tuple[LabelFigures, ...]:
    found = []
    for at, label in enumerate(graph.labels):
        own = graph.links.label == at
        spans = [
            (float(column[own].min()), float(column[own].max()))
            for column in (graph.links.bytes_per_ns, graph.links.latency_ns)
        ]
        found.append(LabelFigures(label, int(own.sum()), spans[0], spans[1]))
    return tuple(found)


def _price(graph: Graph, prices: Mapping[str, float]) -> float:
    counts: dict[str, int] = {tier.name: tier.size for tier in graph.tiers}
    links = np.bincount(graph.links.label, minlength=len(graph.labels))
    counts |= {label: int(number) for label, number in zip(graph.labels, links, strict=True)}
    for name in prices:
        if name not in counts:
            problem = f"no devices and no links are called '{name}'{hint(name, counts)}"
            raise ConfigError("--price", problem)
    return sum(price * counts[name] for name, price in prices.items())


def as_dict(figures: Figures) -> dict[str, Any]:
    bisection, diameter, mean = figures.bisection, figures.diameter, figures.mean_hops
    return {
        "ranks": figures.ranks,
        "devices": [
            {
                "name": tier.name,
                "kind": tier.kind,
                "count": tier.devices,
                "ports": list(tier.ports),
                **({"buffer_bytes": list(tier.buffer_bytes)} if tier.buffer_bytes else {}),
            }
            for tier in figures.tiers
        ],
        "links": [
            {
                "label": of.label,
                "count": of.links,
                "bytes_per_ns": list(of.bytes_per_ns),
                "latency_ns": list(of.latency_ns),
            }
            for of in figures.labels
        ],
        "rank_bytes_per_ns": list(figures.injection),
        "bisection_bytes_per_ns": {"value": bisection.value, "how": bisection.how},
        "diameter_links": {"value": diameter.value, "how": diameter.how},
        "mean_links": {"value": mean.value, "how": mean.how},
        "price_usd": figures.price_usd,
    }
