"""The parts of a scenario at the speeds of a stack, as `yantra run --stack` has them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.compute.products import RATE_TYPES
from yantra.fabric import clusters, stacks
from yantra.fabric.clusters.parts import no_rate
from yantra.fabric.stacks.choice import AUTO, DEFAULT, WITHOUT_TERMS
from yantra.fabric.stacks.reserve import communicators, reserved
from yantra.scenario import Stack, cluster_parts
from yantra.scenario.layout import STACK

if TYPE_CHECKING:
    from yantra.explore.closed_form.space import Columns
    from yantra.fabric.clusters.types import Cluster


def parts_for(
    cluster: Cluster | str, ranks: int, dtype: str, stack: str = DEFAULT
) -> dict[str, Any]:
    """Return the parts of a scenario for a plan's type of products, on a stack."""
    check_rates(cluster, dtype, "dtype")
    return cluster_parts(cluster, ranks, RATE_TYPES.get(dtype, dtype), stack=stack)


def terms_of(stack: str, cluster: str, dtype: str) -> Stack:
    if stack == AUTO:
        return _terms(stacks.stack_for(stacks.NOBODY), cluster, dtype)
    return _terms(stacks.load(stack, where="--stack"), cluster, dtype)


@lru_cache(maxsize=64)
def _terms(stack: stacks.Stack, cluster: str, dtype: str) -> Stack:
    part = stack.scenario_part(cluster, RATE_TYPES.get(dtype, dtype))
    found: Stack = STACK.read(part, "stack", "")
    return found


def reserved_on(cluster: Cluster, stack: str, columns: Columns) -> Cluster:
    """The cluster with the reserve of a stack, for the most communicators of these plans."""
    if stack in WITHOUT_TERMS or stack == AUTO:
        return cluster
    sizes = {"etp": 1} | columns
    return reserved(cluster, stacks.load(stack, where="--stack"), int(communicators(sizes).max()))


def check_stack(stack: str, where: str) -> None:
    if stack in WITHOUT_TERMS or stack == AUTO:
        return
    try:
        stacks.load(stack, where=where)
    except ConfigError as error:
        if error.where != where:
            raise
        known = " and ".join(WITHOUT_TERMS)
        raise ConfigError(where, f"{error.problem}; {known} are speeds alone") from None


def any_layout(cluster: Cluster | str) -> bool:
    """Whether products in 8 bits need no transposed copies there."""
    return (clusters.load(cluster) if isinstance(cluster, str) else cluster).any_layout


def check_rates(cluster: Cluster | str, dtype: str, where: str) -> None:
    machine = clusters.load(cluster) if isinstance(cluster, str) else cluster
    known, wanted = [name for name, _ in machine.peak], RATE_TYPES.get(dtype, dtype)
    if wanted not in known:
        problem = no_rate(wanted, machine.name, known)
        raise ConfigError(where, f"{problem}; choose one of these, or another cluster")
