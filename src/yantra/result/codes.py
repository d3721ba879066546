"""What the numbers in an outcome of the core mean."""

from __future__ import annotations

from yantra.chakra.schema import CollectiveType, NodeType

NEVER = 2**64 - 1
"""A time that never was."""

NODE_TYPES = tuple(type.name for type in NodeType)
COLLECTIVE_KINDS = tuple(kind.name.lower() for kind in CollectiveType)


def nanoseconds(ticks: int, ticks_per_ns: int) -> int | float | None:
    if ticks == NEVER:
        return None
    whole, rest = divmod(ticks, ticks_per_ns)
    return ticks / ticks_per_ns if rest else whole
