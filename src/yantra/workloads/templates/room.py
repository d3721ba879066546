"""Whether a machine's devices hold what a workload says its ranks need.

That is its section `memory`; without it nothing is said.
"""

from __future__ import annotations

from yantra.base.text import count, format_bytes
from yantra.workloads.templates.workload import Workload, is_size


def lack_of_memory(
    workload: Workload,
    capacity: int | None,
    machine: str | None = None,
    reserve: int | None = None,
    communicator: int | None = None,
) -> str:
    """Which ranks need more than `capacity` bytes, and for what; empty if none does."""
    needs = {
        name: peak + (reserve or 0) + in_communicators(workload, name, communicator)
        for name, peak in workload.peaks().items()
    }
    worst = max(needs, key=lambda name: needs[name], default=None)
    if worst is None or capacity is None or needs[worst] <= capacity:
        return ""
    parts = [
        (name, size)
        for name, size in workload.memory[worst].items()
        if name != "peak" and is_size(size) and size
    ]
    if held := in_communicators(workload, worst, communicator):
        parts.append((count(len(communicators(workload, worst)), "communicator"), held))
    if reserve:
        parts.append(("reserved", reserve))
    told = ", ".join(f"{name} {format_bytes(size)}" for name, size in parts)
    return (
        f"{machine or 'the cluster'} has {format_bytes(capacity)} on each device; the ranks of "
        f"{worst} need {format_bytes(needs[worst])}{f' ({told})' if told else ''}; "
        "shard more, recompute or offload"
    )


def communicators(workload: Workload, name: str) -> list[str]:
    used = workload.totals.get(name, {}).get("communication", [])
    return sorted({group for _, group, *_ in used})


def in_communicators(workload: Workload, name: str, each: int | None) -> int:
    return each * len(communicators(workload, name)) if each else 0
