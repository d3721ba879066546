"""How many devices a job gets: the most that a budget or a power pays for, and sizes near one.

Trade-off: few sizes are judged, and none where the best plan's kernels, spread over it, already
take longer.
"""

from __future__ import annotations

from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.divisors import divisors
from yantra.base.errors import CapacityError, ConfigError
from yantra.chakra import CollectiveType
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.fabric.clusters.ownership import most_w, rates_of
from yantra.workloads.plan.precision import for_machine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yantra.explore.closed_form.passes import Works
    from yantra.explore.closed_form.space import Columns, PlanSpace
    from yantra.fabric.clusters.types import Cluster

_LEVELS = 2  # dimensions of a cluster whose neighbours are judged
_MANY = 1024  # ranks from which groups are slow to simulate
_JUDGED = 4  # sizes judged for one question
_NEAR = 0.1  # of a size: the reach of neighbours
_REACH = 1024  # ranks below and above a size without plans
_LEAST_OF_BUDGET = 0.6  # of what is paid for: fewer devices waste it
_BETTER = 0.01  # by which a neighbour must be faster, or do more per device


class Neighbour(NamedTuple):
    """Another number of ranks, and its best time by closed form in ns."""

    ranks: int
    time_ns: float


def columns_of(model: Any, cluster: Cluster, space: PlanSpace) -> Columns:
    """Return every legal plan. Raises ConfigError, with sizes that have some, where none is."""
    try:
        return space.columns(model)
    except ConfigError as error:
        if error.where != "space":
            raise
        near = [f"{size:,}" for size in nearest_sizes(model, cluster, space)]
        advice = f"the nearest with plans are {' and '.join(near)}" if near else "nor on any near"
        what, _, broken = error.problem.partition("\n")
        why = broken or "ranks are tp x cp x pp x dp, and dp divides the batch"
        raise ConfigError("ranks", f"{what}, {advice}: {why}") from None


def nearest_sizes(model: Any, cluster: Cluster, space: PlanSpace) -> Iterator[int]:
    """Yield the next smaller and the next larger number of ranks that have plans, if near."""
    for way in (-1, 1):
        sizes = range(space.ranks + way, max(space.ranks + way * _REACH, 0), way)
        possible = (size for size in sizes if _has(cluster, size))
        legal = (size for size in possible if space.replace(ranks=size).is_legal(model))
        yield from islice(legal, 1)


def most_devices(
    cluster: Cluster, usd_per_h: float | None = None, power_w: float | None = None
) -> int:
    """Return how many devices an hourly budget and a power pay for, with hosts, switches and PUE.

    Raises ConfigError if the cluster states no price or power, or none is paid for.
    """
    rates, most = rates_of(cluster), inf
    if usd_per_h is not None:
        if rates.usd_per_h is None:
            raise ConfigError("--budget", f"{cluster.name} states no price; give --price")
        most = usd_per_h / rates.usd_per_h
    if power_w is not None:
        if (each := most_w(cluster)) is None:
            raise ConfigError("--power", f"{cluster.name} states no power of a device")
        most = min(most, power_w / (each * rates.pue))
    if most < 1:
        where = "--power" if usd_per_h is None else "--budget"
        raise ConfigError(where, f"pays for less than one device of {cluster.name}")
    return int(most + 1e-9)


def sized(
    model: Any,
    cluster: Cluster,
    space: PlanSpace,
    works: Works,
    stack: str,
    *,
    usd_per_h: float | None = None,
    power_w: float | None = None,
) -> PlanSpace:
    """Return a space with the best number of ranks for a budget, a power, or both.

    Raises ConfigError if they pay for no device, CapacityError if no plan fits.
    """
    most = most_devices(cluster, usd_per_h, power_w)
    bounded = within_node(space, cluster)
    return bounded.replace(ranks=best_size(model, cluster, bounded, most, works, stack))


def within_node(space: PlanSpace, cluster: Cluster) -> PlanSpace:
    """Return a space whose tp stays within a node, unless it was given.

    Its weights have transposed copies only where the cluster's products need them.
    """
    held = for_machine(space.held, any_layout=cluster.any_layout)
    space = space.replace(transposed_weights=held.transposed_weights)
    if space.most_tp is not None:
        return space
    members = cluster.network[0].members
    return space.replace(most_tp=None if members is None else int(members.value))


def best_size(
    model: Any, cluster: Cluster, space: PlanSpace, most: int, works: Works, stack: str
) -> int:
    """Return the number of ranks up to `most` whose best plan is fastest by closed form.

    Ignores `space.ranks`. Raises CapacityError if no plan fits.
    """
    low = int(most * _LEAST_OF_BUDGET)
    sizes = _sizes(model, cluster, space, max(low, 1), most)
    while not sizes and low > 1:
        low //= 2
        sizes = _sizes(model, cluster, space, max(low, 1), most)
    times = {size: best_time(model, cluster, space, size, works, stack) for size in sizes}
    if min(times.values(), default=inf) == inf:
        problem = f"{most} devices of {cluster.name} have no plan that fits"
        raise CapacityError("memory", f"{problem}; allow for more of them")
    return min(times, key=lambda size: (times[size], size))


def better_neighbours(
    model: Any,
    cluster: Cluster,
    space: PlanSpace,
    works: Works,
    stack: str,
    best: tuple[float, float],
) -> tuple[Neighbour, ...]:
    """Return nearby sizes that are faster with fewer devices or do more with each."""
    time, kernels = best
    ranks = space.ranks
    takes_long = ranks > _MANY and not _is_measured(cluster, ranks, stack)
    if takes_long or len(cluster.levels(ranks)) > _LEVELS:
        return ()

    def promises(size: int) -> bool:
        return size != ranks and kernels * ranks / size < _wanted(time, ranks, size)

    low, high = int(ranks * (1 - _NEAR)), int(ranks * (1 + _NEAR))
    sizes = _sizes(model, cluster, space, low, high, promises)
    found = (
        Neighbour(size, best_time(model, cluster, space, size, works, stack)) for size in sizes
    )
    better = [one for one in found if one.time_ns < _wanted(time, ranks, one.ranks)]
    return tuple(sorted(better, key=lambda one: one.time_ns * one.ranks))


def _is_measured(cluster: Cluster, ranks: int, stack: str) -> bool:
    machine = Machine(cluster, ranks, stack=stack)
    return machine.timed(CollectiveType.ALL_REDUCE, 2, 1) is not None


def _wanted(time_ns: float, ranks: int, size: int) -> float:
    return time_ns * (1 - _BETTER) * min(ranks / size, 1.0)


def best_time(
    model: Any, cluster: Cluster, space: PlanSpace, ranks: int, works: Works, stack: str
) -> float:
    of = space.replace(ranks=ranks)
    try:
        columns = of.columns(model)
    except ConfigError as error:
        if error.where != "space":
            raise
        return inf
    form = ClosedForm(
        model, Machine(cluster, ranks, dtype=of.dtype, stack=stack), of.sequence, works
    )
    fits = form.memory(columns, of.global_batch) <= cluster.usable_bytes
    if not fits.any():
        return inf
    fitting = {name: column[fits] for name, column in columns.items()}
    return float(np.min(form.judge(fitting, of.global_batch).time_ns))


def _sizes(
    model: Any,
    cluster: Cluster,
    space: PlanSpace,
    low: int,
    high: int,
    wanted: Callable[[int], bool] = lambda size: True,
) -> list[int]:
    counts: dict[int, int] = {}
    node = space.most_tp or 1
    for dp in divisors(space.global_batch):
        for tp in space.tp or divisors(node):
            each = tp * dp
            for pp in range(max(-(-low // each), 1), min(high // each, len(model.layers)) + 1):
                size = each * pp
                if (size % node == 0 or size < node) and wanted(size):
                    counts[size] = counts.get(size, 0) + 1
    legal = (size for size in sorted(counts, key=lambda n: (-counts[n], -n)))
    found: list[int] = []
    for size in legal:
        if len(found) == _JUDGED:
            break
        if _has(cluster, size):
            found.append(size)
    return found


def _has(cluster: Cluster, ranks: int) -> bool:
    try:
        cluster.levels(ranks)
    except ConfigError:
        return False
    return True
