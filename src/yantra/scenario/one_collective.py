"""One collective over all ranks: the smallest job."""

from __future__ import annotations

from math import prod
from os import path as paths
from tempfile import TemporaryDirectory
from typing import Any

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives.bandwidth import comm_size
from yantra.fabric import clusters
from yantra.fabric.infragraph import is_infragraph
from yantra.scenario.on_cluster import on_cluster
from yantra.scenario.settings import Settings
from yantra.scenario.types import Scenario, Templates
from yantra.workloads.templates import RankClass, Workload
from yantra.workloads.templates.grid import Grid, Group

_GRID = "all"


def collective_on(
    cluster: str,
    kind: CollectiveType,
    size_bytes: int,
    ranks: int | None = None,
    settings: Settings | None = None,
    **chosen: Any,
) -> Scenario:
    """Return the scenario of a collective of a cluster, by name or file.

    `size_bytes` is as in nccl-tests; `ranks` default to an innermost domain, or all of an
    InfraGraph; `chosen` goes to `on_cluster`. Raises ConfigError if the cluster has no such number,
    or no domain to default to.
    """
    if ranks is None:
        ranks = _ranks_of(cluster, settings or {})
    per_rank = comm_size(kind.name.lower(), size_bytes, ranks)
    workload = of_all_ranks(kind, per_rank, ranks)
    with TemporaryDirectory() as folder:
        file = paths.join(folder, "collective.yw")
        workload.save(file)
        scenario = on_cluster(file, cluster, settings=settings, **chosen)
    return scenario.replace(workload=Templates(workload=workload))


def of_all_ranks(kind: CollectiveType, size_bytes: int, ranks: int) -> Workload:
    """Return a collective of all ranks; `size_bytes` as in a trace."""
    name = kind.name.lower()
    trace = TraceBuilder()
    trace.collective(kind, size_bytes, name=name.replace("_", "-"), group="all")
    return Workload(
        grids=[Grid(_GRID, views={"all": [("rank", ranks)]})],
        groups={"all": Group("all", ("rank",), grid=_GRID)},
        classes=[RankClass(_GRID, {}, name)],
        templates={name: trace.build()},
    )


def _ranks_of(cluster: str, settings: Settings) -> int:
    if is_infragraph(cluster):
        from yantra.scenario.on_infragraph import cluster_tree

        return prod(dimension["size"] for dimension in cluster_tree(cluster, settings)["topology"])
    domain = clusters.load(cluster).network[0].members
    if domain is None:
        raise ConfigError(
            "--ranks", f"expected a number, as {cluster} has no domains of a fixed size"
        )
    return int(domain.value)
