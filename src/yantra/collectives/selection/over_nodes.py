"""The terms of collectives between nodes of a site: measured there, or on sites that it is like.

Of the sites that a site is like, each term has the geometric mean of latency and steps, and of the
share of the node's adapters that it reaches. Rings reach the site's own share.

All-gathers and reduce-scatters have the rings' terms with half the steps, an all-to-all the trees'
latencies and each rank's own adapters.

Sources: NCCL 2.30.7, src/graph/tuning.cc, for a tree's chain in a node; src/device/all_reduce.h.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, log
from typing import NamedTuple

from yantra.collectives import sites
from yantra.collectives.nccl.constants import BASE, NVLINK, PROTOCOLS
from yantra.collectives.selection.own import Fit
from yantra.collectives.selection.tables import fits
from yantra.collectives.sites import Site
from yantra.collectives.terms import Term

UNNAMED = "a100-ndv4"
"""Whose latencies a fabric has of which nothing is said: InfiniBand's."""
CHAIN = 0.5
"""Of the links in a node, what a tree's chain reaches: 0.49 on Azure's NDv4."""
REACHED = 0.85
"""Of the adapters' rate, where no site says."""


class Fabric(NamedTuple):
    """`rate`: a rank's adapters in bytes/ns."""

    name: str
    rate: float
    like: tuple[str, ...] = (UNNAMED,)
    reached: float = REACHED
    is_measured: bool = False
    switches: bool = True
    protocols: tuple[str, ...] = PROTOCOLS


def fabric_of(name: str, adapter_bytes_per_ns: float) -> Fabric:
    """A site's fabric, or one of which only a rank's adapters are known."""
    if not name:
        return Fabric("", adapter_bytes_per_ns, switches=False)
    site: Site = sites.load(name)
    return Fabric(
        name,
        adapter_bytes_per_ns or site.node_rate / site.devices,
        site.rests_on,
        site.reached or REACHED,
        bool(site.measured),
        site.switches,
        site.protocols,
    )


def is_measured(fabric: Fabric, kind: str, ranks: int, local: int) -> bool:
    fit = fits()[fabric.like[0], "all_reduce", "nodes"]
    known = fabric.is_measured and kind == "all_reduce" and local == fit.local
    return known and (ranks <= fit.most_ranks or _ring_share(fabric.like) <= 1.0)


def terms_of(fabric: Fabric, kind: str, ranks: int, local: int, inner: Fit) -> tuple[Term, ...]:
    """Terms over nodes; `inner` is the fit in a node of `local` ranks."""
    if is_measured(fabric, kind, ranks, local):
        return fits()[fabric.like[0], "all_reduce", "nodes"].terms
    most = max(one.bytes_per_us for one in inner.terms if one.algorithm != "NVLS")
    rank = fabric.rate * 1000.0
    node = rank if kind == "all_to_all" else rank * local
    nodes = ranks / local
    tree = fabric.reached * node * (1.0 - 1.0 / ranks) / (1.0 - 1.0 / nodes)
    by_trees = kind == "all_reduce" and fabric.like != (UNNAMED,)
    least = {"Tree Simple": min(tree, CHAIN * most)} if by_trees else {}
    made = [
        one._replace(bytes_per_us=max(min(one.bytes_per_us * node, most), least.get(one.name, 0.0)))
        for one in shares(fabric.like, fabric.reached, local)
        if one.protocol in fabric.protocols
    ]
    if kind == "all_to_all":
        return tuple(one._replace(algorithm="Sends") for one in made if one.algorithm == "Tree")
    if kind != "all_reduce":
        return tuple(one for one in made if one.algorithm == "Ring")
    adds = [one for one in inner.terms if one.algorithm == "NVLS"]
    trees = [one for one in made if one.name == "Tree Simple"]
    if adds and trees and fabric.switches:
        latency = max(adds[0].latency_us, trees[0].latency_us)
        rate = fabric.reached * node
        made.append(Term("NVLSTree", "Simple", latency, trees[0].step_us, rate))
    return tuple(made)


def shares(like: Sequence[str], reached: float, local: int) -> list[Term]:
    found: dict[tuple[str, str], list[Term]] = {}
    for name in like:
        fit, rate = fits()[name, "all_reduce", "nodes"], sites.rate_of(name) * 1000.0
        for one in with_local(fit.terms, fit.local, local):
            share = one.bytes_per_us / rate
            found.setdefault(one[:2], []).append(one._replace(bytes_per_us=share))
    faster = max(1.0, reached / min(_ring_share(like), 1.0))
    return [
        one._replace(bytes_per_us=min(one.bytes_per_us * faster, reached))
        for one in (_mean(some) for some in found.values())
    ]


def _mean(some: Sequence[Term]) -> Term:
    def mean(numbers: Iterable[float]) -> float:
        return exp(sum(map(log, numbers)) / len(some))

    return some[0]._replace(
        latency_us=mean(one.latency_us for one in some),
        step_us=mean(one.step_us for one in some),
        bytes_per_us=mean(one.bytes_per_us for one in some),
    )


def _ring_share(like: Sequence[str]) -> float:
    found = [
        one.bytes_per_us / (sites.rate_of(name) * 1000.0)
        for name in like
        for one in fits()[name, "all_reduce", "nodes"].terms
        if one.name == "Ring Simple"
    ]
    return exp(sum(map(log, found)) / len(found))


def with_local(terms: Sequence[Term], measured: int, local: int) -> tuple[Term, ...]:
    """In NCCL's tuner 2 (local - 1) hops of NVLink beside network hops and a constant."""
    if measured == local:
        return tuple(terms)
    made = []
    for one in terms:
        if one.algorithm == "Tree":
            at = PROTOCOLS.index(one.protocol)
            hop, base = NVLINK["Tree"][at], BASE["Tree"][at]
            share = (base + 2.0 * (local - 1) * hop) / (base + 2.0 * (measured - 1) * hop)
            one = one._replace(latency_us=one.latency_us * share)
        made.append(one)
    return tuple(made)
