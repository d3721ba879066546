"""The contract of a cluster: laws of its numbers, and collectives on it, simulated.

    yantra contract cluster ./l40s-box.yaml
    python -m yantra.kinds.cluster_laws hgx-h100

A cluster is a file of numbers, so its skeleton is in docs/guides/add-a-cluster.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from yantra.base.contract import Contract, main
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.fabric import clusters
from yantra.fabric.clusters.laws import LAWS, doubts
from yantra.fabric.clusters.types import Cluster
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Traces, cluster_parts

SIZE = 1 << 26
_RANKS = (2, 4, 8, 16, 32, 64, 128)
_MOST_TRIED = 4
_KINDS: dict[CollectiveType, Callable[[int], int]] = {
    CollectiveType.ALL_REDUCE: lambda ranks: 2 * SIZE,
    CollectiveType.ALL_GATHER: lambda ranks: ranks * SIZE,
    CollectiveType.REDUCE_SCATTER: lambda ranks: SIZE,
    CollectiveType.ALL_TO_ALL: lambda ranks: SIZE,
}
"""Collectives, and the bytes (by ranks) that a device sends at least (n - 1) / n of."""


def ranks_of(cluster: Cluster) -> tuple[int, ...]:
    """Numbers of ranks that fit: part of a domain, a whole, and several."""
    found = [ranks for ranks in _RANKS if _fits(cluster, ranks)]
    return tuple(found[-_MOST_TRIED:])


def every_collective_runs_no_faster_than_its_links(cluster: Cluster, ranks: int) -> str | None:
    """A device sends (n - 1) / n of the data at least once, over the links of all its levels."""
    rate = sum(level.device_bytes_per_s("nominal") for level in cluster.network) / 1e9
    for kind, sent in _KINDS.items():
        builder = TraceBuilder()
        builder.collective(kind, SIZE)
        workload = Traces(traces=(builder.build(),) * ranks)
        parts = cluster_parts(cluster, ranks, stack="roofline")
        took = simulate(Scenario(workload=workload, **parts)).makespan_ns
        least = sent(ranks) * (ranks - 1) / ranks / rate
        if took < least:
            name = kind.name.lower()
            return f"{name} of {SIZE} B takes {took:g} ns; its links need {least:g} at least"
    return None


def violations(cluster: Cluster) -> Iterator[str]:
    yield from doubts(cluster)
    tried = ranks_of(cluster)
    if not tried:
        yield f"it_has_ranks: none of {', '.join(map(str, _RANKS))} ranks fit it"
    for ranks in tried:
        law = every_collective_runs_no_faster_than_its_links
        if wrong := law(cluster, ranks):
            yield f"{ranks} ranks: {law.__name__}: {wrong}"


def summary(cluster: Cluster) -> str:
    tried = ", ".join(map(str, ranks_of(cluster)))
    kinds = ", ".join(kind.name.lower() for kind in _KINDS)
    return f"{len(LAWS)} laws hold for its numbers\n{kinds} run on {tried} of its ranks"


def _fits(cluster: Cluster, ranks: int) -> bool:
    try:
        cluster.scenario_parts(ranks)
    except ConfigError:
        return False
    return True


CONTRACT = Contract(
    kind="cluster",
    module="yantra.kinds.cluster_laws",
    about="Check a cluster: the order of its numbers, and that collectives run on it.",
    argument="a name (hgx-h100), or a YAML file",
    find=clusters.load,
    violations=violations,
    summary=summary,
)

if __name__ == "__main__":
    sys.exit(main(CONTRACT))
