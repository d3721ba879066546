"""A cluster's network cost by COMET's rule: links, switch ports, and adapters.

Each switched dimension has `links` from every device. A link costs bandwidth times a price, a
switch its radix (devices x links) times bandwidth times another, an adapter bandwidth times a
third. Prices are USD per GB/s as the artifact writes bandwidths (GiB/s in ASTRA-sim's files).

Sources of prices: the cost model in the log of COMET's artifact (2022-07-13); LIBRA (Won et al.,
ISPASS 2024), table of network cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final, Literal, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.base.text import Grid, as_text
from yantra.fabric.clusters.types import Cluster

Tier = Literal["package", "pod"]


class Price(NamedTuple):
    """USD per GB/s of a link, a switch port, and an adapter."""

    link: float
    switch: float
    adapter: float


COMET: Final[dict[Tier, Price]] = {"package": Price(4.0, 13.0, 0.0), "pod": Price(7.4, 23.7, 47.8)}
LIBRA: Final[dict[Tier, Price]] = {"package": Price(4.0, 13.0, 0.0), "pod": Price(7.8, 18.0, 31.6)}


class SwitchedDimension(NamedTuple):
    """Switches of `size` devices: `links` of `bandwidth` GB/s from each; `tier` has the prices."""

    size: int
    links: int
    bandwidth: float
    tier: Tier


class Item(NamedTuple):
    """A kind of part: its number and total USD."""

    name: str
    parts: int
    usd: float


def network_cost(
    dimensions: Sequence[SwitchedDimension], prices: dict[Tier, Price] | None = None
) -> tuple[Item, ...]:
    """Return a network's parts and their cost, innermost dimension first.

    Raises ConfigError for an empty dimension.
    """
    prices = COMET if prices is None else prices
    devices = prod(dimension.size for dimension in dimensions)
    items = []
    for at, one in enumerate(dimensions):
        for name, value in (("size", one.size), ("links", one.links), ("bandwidth", one.bandwidth)):
            if not value > 0:
                raise ConfigError(f"dimensions[{at}].{name}", expected_got("above 0", value))
        price = prices[one.tier]
        # A switch joins all devices of its dimension, the outermost all there are.
        radix = (devices if at and at == len(dimensions) - 1 else one.size) * one.links
        switches = devices * one.links // radix
        links = devices * one.links
        items.append(Item(f"{one.tier} links", links, links * one.bandwidth * price.link))
        ports = switches * radix * one.bandwidth * price.switch
        items.append(Item(f"{one.tier} switches of radix {radix}", switches, ports))
        if price.adapter:
            adapters = links * one.bandwidth * price.adapter
            items.append(Item(f"{one.tier} adapters", links, adapters))
    return tuple(items)


def of_cluster(cluster: Cluster, sizes: Sequence[int]) -> tuple[Item, ...]:
    """Return the cost of a named cluster's levels, whose domains have `sizes` members.

    The innermost has a package's prices, others a pod's. Empty if a level is no switch.
    """
    levels = cluster.network[: len(sizes)]
    if any(level.kind != "switch" for level in levels):
        return ()
    return network_cost(
        [
            SwitchedDimension(
                size,
                int(level.links.value),
                level.bandwidth.value / 1e9,
                "pod" if at else "package",
            )
            for at, (level, size) in enumerate(zip(levels, sizes, strict=True))
        ]
    )


def report(items: Sequence[Item]) -> str:
    rows = [(item.name, f"{item.parts:,}", f"{item.usd:,.0f}") for item in items]
    total = ("all", "", f"{sum(item.usd for item in items):,.0f}")
    return as_text(Grid(("network, at COMET's prices", "parts", "USD"), [*rows, total]))
