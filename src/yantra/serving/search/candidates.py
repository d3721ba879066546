"""Candidates of a search: what a replica may be, on each cluster.

A replica is within one domain of the innermost network, where tensors are shared quickly, or has
a stage of a pipeline, or its share of data-parallel ranks, in each of several.
Trade-off: budgets and seats are tried at few values each, as engines ship them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import YantraError
from yantra.fabric.clusters.ownership import usd_per_h
from yantra.serving.pools import BUDGETS, SEATS, Asked, options_of
from yantra.workloads.models.experts import experts_a_token
from yantra.workloads.serving.legality import check_plan
from yantra.workloads.serving.plan import InferencePlan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yantra.fabric.clusters.types import Cluster

_BUDGETS = (2048, 8192)
_SEATS = (64, 256, 1024)


class Candidate(NamedTuple):
    """One replica on a cluster."""

    cluster: Cluster
    pool: Asked

    @property
    def devices(self) -> int:
        return self.pool.plan.ranks

    @property
    def usd_per_device_h(self) -> float:
        """The price of a device; 1 where the cluster has none."""
        hourly = usd_per_h(self.cluster)
        return 1.0 if hourly is None else hourly

    @property
    def usd_per_h(self) -> float:
        return self.devices * self.usd_per_device_h

    def words(self) -> str:
        """Return `vllm tp=4 max_num_seqs=256`."""
        plan = self.pool.plan
        fields = {
            name: getattr(plan, name)
            for name in ("tp", "pp", "dp", "ep")
            if getattr(plan, name) > 1
        }
        texts = [f"{name}={value}" for name, value in fields.items()] or ["tp=1"]
        if plan.dtype != "bf16":
            texts.append(plan.dtype)
        texts += [f"{name}={value:g}" for name, value in self.pool.options.items()]
        return f"{self.pool.engine} {' '.join(texts)}"


def candidates(
    model: Any,
    clusters: Sequence[Cluster],
    engines: Sequence[str],
    dtypes: Sequence[str],
    domains: Sequence[int] = (1,),
) -> Iterator[Candidate]:
    for cluster in clusters:
        for plan in _plans(model, cluster, dtypes, domains):
            for engine in engines:
                for options in _options(engine):
                    yield Candidate(cluster, Asked(1, engine, plan, options))


def _plans(
    model: Any, cluster: Cluster, dtypes: Sequence[str], domains: Sequence[int]
) -> Iterator[InferencePlan]:
    domain = cluster.network[0].members
    most = 8 if domain is None else min(int(domain.value), 64)
    sizes = [1 << at for at in range(most.bit_length()) if 1 << at <= most]
    experts = bool(experts_a_token(model))
    for dtype in dtypes:
        shapes: list[dict[str, int]] = []
        for count in domains:
            shapes += _shapes(sizes, experts) if count == 1 else _across(sizes[-1], count, experts)
        for shape in shapes:
            try:
                plan = InferencePlan(dtype=dtype, **shape)  # type: ignore[arg-type]
                check_plan(plan, model, 1)
            except YantraError:
                continue
            yield plan


def _shapes(sizes: Sequence[int], experts: bool) -> list[dict[str, int]]:
    shapes: list[dict[str, int]] = [{"tp": size} for size in sizes]
    if experts:
        shapes += [{"tp": size, "ep": size} for size in sizes if size > 1]
        shapes += [{"tp": 1, "dp": size, "ep": size} for size in sizes if size > 1]
    return shapes


def _across(most: int, count: int, experts: bool) -> list[dict[str, int]]:
    """Of so many whole domains."""
    shapes = [{"tp": most, "pp": count}]
    if experts:
        shapes += [{"tp": most, "pp": count, "ep": most}]
        shapes += [{"tp": 1, "dp": most * count, "ep": most * count}]
    return shapes


def _options(engine: str) -> Iterator[dict[str, float]]:
    known = options_of(engine)
    budget = next((name for name in BUDGETS if name in known), None)
    seats = next((name for name in SEATS if name in known), None)
    for tokens in _BUDGETS if budget else (0,):
        for seat in _SEATS if seats else (0,):
            made: dict[str, float] = {}
            if budget:
                made[budget] = float(tokens)
            if seats:
                made[seats] = float(seat)
            yield made
