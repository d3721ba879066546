"""Whether the devices of a machine hold what a workload says that its ranks need.

A workload says it in its section `memory`: bytes by part (a pipeline stage, say), `peak` and what
it is made of. Without it nothing can be said, and nothing is. Beside a job a machine may keep
memory of its own: the driver's context and what an allocator loses (`reserve`), and the buffers of
each communicator that a rank is in. Trade-off: both are stated, as they follow from software.
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
    """Return which ranks need more than `capacity` bytes, and for what; empty if none does.

    Jobs cannot use `reserve` bytes of the capacity, nor `communicator` bytes for each communicator
    of a rank.
    """
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
    """Return the groups of more than one rank that a template's collectives and messages use."""
    used = workload.totals.get(name, {}).get("communication", [])
    return sorted({group for _, group, *_ in used})


def in_communicators(workload: Workload, name: str, each: int | None) -> int:
    """Return the bytes of buffers of the communicators of a template's ranks."""
    return each * len(communicators(workload, name)) if each else 0
