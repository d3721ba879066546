"""What the numbers in an outcome of the core mean."""

from __future__ import annotations

NEVER = 2**64 - 1
"""A time that never was."""

NODE_TYPES = (
    "INVALID",
    "METADATA",
    "MEM_LOAD",
    "MEM_STORE",
    "COMP",
    "COMM_SEND",
    "COMM_RECV",
    "COMM_COLL",
)
COLLECTIVE_KINDS = (
    "all_reduce",
    "reduce",
    "all_gather",
    "gather",
    "scatter",
    "broadcast",
    "all_to_all",
    "reduce_scatter",
    "reduce_scatter_block",
    "barrier",
)


def nanoseconds(ticks: int, ticks_per_ns: int) -> int | float | None:
    """A time of the core in ns, whole where it is; None for NEVER."""
    if ticks == NEVER:
        return None
    whole, rest = divmod(ticks, ticks_per_ns)
    return ticks / ticks_per_ns if rest else whole
