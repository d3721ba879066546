"""How many devices a job gets: the most that a budget or a power pays for, and sizes beside one.

A size is worth a look if it is a product of tp, pp and dp where dp divides the batch; the more such
products a size has, the more plans. Sizes are judged by closed form alone, so of neighbours the
answer says only which look better.

Trade-off: a few sizes are judged, and none where the kernels of the best plan, spread over so many
devices, already take longer. Neighbours are judged on clusters of nodes, and of many ranks where
collectives are measured: else groups of many shapes are simulated, which takes minutes.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.base.divisors import divisors
from yantra.base.errors import CapacityError, ConfigError
from yantra.chakra import CollectiveType
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.fabric.clusters.ownership import rates_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.explore.closed_form.passes import Works
    from yantra.explore.closed_form.space import PlanSpace
    from yantra.fabric.clusters.types import Cluster

_LEVELS = 2  # dimensions of a cluster whose neighbours are judged: nodes, and a network between
_MANY = 1024  # ranks, from which groups take long to simulate
_JUDGED = 4  # sizes of one question
_NEAR = 0.1  # of a size: how far neighbours are
_LEAST_OF_BUDGET = 0.6  # of what is paid for, where less cannot be the best use
_BETTER = 0.01  # by which a neighbour must be faster, or do more for each device


class Neighbour(NamedTuple):
    """Another number of ranks, and its best time by closed form in ns."""

    ranks: int
    time_ns: float


def most_devices(
    cluster: Cluster, usd_per_h: float | None = None, power_w: float | None = None
) -> int:
    """Return how many devices an hourly budget and a power pay for, the building's PUE included.

    Raises ConfigError where the cluster states no price or power, or not one device is paid for.
    """
    rates, most = rates_of(cluster), inf
    if usd_per_h is not None:
        if rates.usd_per_h is None:
            raise ConfigError("--budget", f"{cluster.name} states no price; give --price")
        most = usd_per_h / rates.usd_per_h
    if power_w is not None:
        if rates.power_w is None:
            raise ConfigError("--power", f"{cluster.name} states no power of a device")
        most = min(most, power_w / (rates.power_w * rates.pue))
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
    """Return a space with the number of ranks that makes the best of a budget, a power, or both.

    Raises ConfigError where they pay for no device, CapacityError where no plan fits on those.
    """
    most = most_devices(cluster, usd_per_h, power_w)
    bounded = within_node(space, cluster)
    return bounded.replace(ranks=best_size(model, cluster, bounded, most, works, stack))


def within_node(space: PlanSpace, cluster: Cluster) -> PlanSpace:
    """Return a space whose tensor parallelism stays within a node, unless it says otherwise."""
    if space.most_tp is not None:
        return space
    members = cluster.network[0].members
    return space.replace(most_tp=None if members is None else int(members.value))


def best_size(
    model: Any, cluster: Cluster, space: PlanSpace, most: int, works: Works, stack: str
) -> int:
    """Return the number of ranks, at most so many, whose best plan is the fastest by closed form.

    `space.ranks` does not count. Raises CapacityError where none has a plan that fits.
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
    """Return sizes near that of a space that are faster with fewer devices, or do more with each.

    `best` has the time of the best plan of the space by closed form, and of its kernels, in ns.
    """
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
    """Return whether collectives of a node take what was measured of them."""
    machine = Machine(cluster, ranks, stack=stack)
    return machine.timed(CollectiveType.ALL_REDUCE, 2, 1) is not None


def _wanted(time_ns: float, ranks: int, size: int) -> float:
    """Return the time that makes a size worth telling of."""
    return time_ns * (1 - _BETTER) * min(ranks / size, 1.0)


def best_time(
    model: Any, cluster: Cluster, space: PlanSpace, ranks: int, works: Works, stack: str
) -> float:
    """Return the time of the best plan of a size by closed form, in ns; infinite where none fits.

    Raises ConfigError where the cluster has no such number of ranks.
    """
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
    """Return sizes between two that have most plans, but for that of the space."""
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
