"""Whether the devices of a machine hold what a workload says that its ranks need.

A workload says it in its section `memory`: bytes by part (a pipeline stage, say), `peak` and what
it is made of. Without it nothing can be said, and nothing is.
"""

from __future__ import annotations

from yantra.base.text import format_bytes
from yantra.workloads.templates.workload import Workload, is_size


def lack_of_memory(workload: Workload, capacity: int | None, machine: str | None = None) -> str:
    """Return which ranks need more than `capacity` bytes, and for what; empty if none does."""
    needs = workload.peaks()
    worst = max(needs, key=lambda name: needs[name], default=None)
    if worst is None or capacity is None or needs[worst] <= capacity:
        return ""
    told = ", ".join(
        f"{name} {format_bytes(size)}"
        for name, size in workload.memory[worst].items()
        if name != "peak" and is_size(size) and size
    )
    return (
        f"{machine or 'the cluster'} has {format_bytes(capacity)} on each device; the ranks of "
        f"{worst} need {format_bytes(needs[worst])}{f' ({told})' if told else ''}; "
        "shard more, recompute or offload"
    )
