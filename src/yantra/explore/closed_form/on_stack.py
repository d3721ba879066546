"""The parts of a scenario at the speeds that a stack stands for: those of `yantra run --stack`.

A choice is what `yantra.fabric.stacks.choice` says: a stack by name or file, with its measured
kernels and collectives, its factors and its launches; or speeds alone (`roofline`, `nominal`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError
from yantra.compute.products import RATE_TYPES
from yantra.fabric import clusters, stacks
from yantra.fabric.clusters.parts import no_rate
from yantra.fabric.stacks.choice import AUTO, DEFAULT, WITHOUT_TERMS
from yantra.scenario import Stack, cluster_parts
from yantra.scenario.layout import STACK

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster


def parts_for(
    cluster: Cluster | str, ranks: int, dtype: str, stack: str = DEFAULT
) -> dict[str, Any]:
    """Return the parts of a scenario whose products are in the type of a plan, on a stack.

    Raises ConfigError where the cluster has no such number of ranks, or no rate of the type, and
    for an unknown stack.
    """
    check_rates(cluster, dtype, "dtype")
    return cluster_parts(cluster, ranks, RATE_TYPES.get(dtype, dtype), stack=stack)


def terms_of(stack: str, cluster: str, dtype: str) -> Stack:
    """Return the terms of a stack, a name or a file, on a cluster of that name.

    Raises ConfigError for an unknown stack.
    """
    if stack == AUTO:
        return _terms(stacks.stack_for(stacks.NOBODY), cluster, dtype)
    return _terms(stacks.load(stack, where="--stack"), cluster, dtype)


@lru_cache(maxsize=64)
def _terms(stack: stacks.Stack, cluster: str, dtype: str) -> Stack:
    part = stack.scenario_part(cluster, RATE_TYPES.get(dtype, dtype))
    found: Stack = STACK.read(part, "stack", "")
    return found


def check_stack(stack: str, where: str) -> None:
    """Raise ConfigError at `where` for a choice that is none."""
    if stack in WITHOUT_TERMS or stack == AUTO:
        return
    try:
        stacks.load(stack, where=where)
    except ConfigError as error:
        if error.where != where:
            raise
        known = " and ".join(WITHOUT_TERMS)
        raise ConfigError(where, f"{error.problem}; {known} are speeds alone") from None


def check_rates(cluster: Cluster | str, dtype: str, where: str) -> None:
    """Raise ConfigError at `where` if a cluster states no rate of a plan's type."""
    machine = clusters.load(cluster) if isinstance(cluster, str) else cluster
    known, wanted = [name for name, _ in machine.peak], RATE_TYPES.get(dtype, dtype)
    if wanted not in known:
        problem = no_rate(wanted, machine.name, known)
        raise ConfigError(where, f"{problem}; choose one of these, or another cluster")
