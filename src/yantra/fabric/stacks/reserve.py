"""What a framework leaves of a device's memory to a job's tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.text import count, format_bytes
from yantra.fabric.clusters.types import Number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yantra.fabric.clusters.types import Cluster
    from yantra.fabric.stacks.types import Memory, Stack


def communicators(sizes: Mapping[str, Any]) -> Any:
    """How many groups of several ranks a rank of Megatron-LM is in, by a plan's sizes or columns.

    Source: NVIDIA/Megatron-LM at d98e8a6, `core/parallel_state.py`: tp, cp, pp, dp with cp, all,
    and those of experts: ep, etp, their dp.
    """
    tp, cp, pp, dp, ep, etp = (sizes[axis] for axis in ("tp", "cp", "pp", "dp", "ep", "etp"))
    groups = (tp, cp, pp, dp * cp, tp * cp * pp * dp)
    of_experts = 1 + 1 * (etp > 1) + (tp * cp * dp > ep * etp)
    return sum(1 * (size > 1) for size in groups) + (ep > 1) * of_experts


def machine_parts(cluster: Cluster, stack: Stack) -> dict[str, str]:
    """What a scenario's `cluster.machine` says of a stack's memory; empty where nothing is known.

    Runs count the communicators of each rank.
    """
    memory = stack.memory
    if memory is None or not _has_parts(cluster):
        return {}
    fixed = sum(_fixed(cluster, memory).values())
    return {"reserve": f"{fixed} B", "communicator": f"{round(memory.communicator.value)} B"}


def reserved(cluster: Cluster, stack: Stack | None, groups: int) -> Cluster:
    """The cluster with what the stack takes for this many communicators as its reserve.

    As it is where the stack or the cluster does not state the parts, or the reserve is the user's.
    """
    if stack is None or stack.memory is None or not _has_parts(cluster):
        return cluster
    each = round(stack.memory.communicator.value)
    parts = _fixed(cluster, stack.memory) | {count(groups, "communicator"): groups * each}
    size = sum(parts.values())
    told = ", ".join(f"{name} {format_bytes(part)}" for name, part in parts.items() if part)
    whole = Number(
        value=float(size),
        unit="B",
        written=f"{size} B",
        source=f"{stack.name} on {cluster.name}: {told}",
        basis="derived",
    )
    return cluster.replace(reserve=whole)


def _has_parts(cluster: Cluster) -> bool:
    is_own = cluster.reserve is not None and cluster.reserve.basis == "yours"
    return cluster.context is not None and not is_own


def _fixed(cluster: Cluster, memory: Memory) -> dict[str, int]:
    assert cluster.context is not None
    parts = {
        "context and kernels": cluster.context,
        "workspaces": memory.workspaces,
        "gaps of the allocator": memory.gaps,
    }
    return {name: round(part.value) for name, part in parts.items()}
