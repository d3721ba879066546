"""What a step computes and moves: operations by phase and kind, bytes by collective and group.

Bytes of a collective are its size per rank (`comm_size`: of an all-gather the shard, else the
whole input), those of a send its message; both are counted once per rank that takes part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from yantra.chakra import CollectiveType
from yantra.workloads.step.draft import Item
from yantra.workloads.step.passes import Drafted, PassKey
from yantra.workloads.step.program import Action

Tally = Counter[tuple[str, ...]]
"""Numbers by what they count: ("flops", phase, kind), ("bytes", collective, group), ..."""


def tally_of(items: Iterable[Item]) -> Tally:
    """Count one pass."""
    tally: Tally = Counter()
    for item in items:
        operation = item.operation
        if operation.collective is not None:
            kind = CollectiveType(operation.collective).name.lower()
            tally["bytes", kind, operation.group] += operation.size_bytes
            tally["count", kind, operation.group] += 1
        elif operation.peer:
            if operation.kind == "send":
                axis = operation.peer.partition("+")[0].partition("-")[0]
                tally["bytes", "send", axis] += operation.size_bytes
                tally["count", "send", axis] += 1
        elif not item.computes:
            tally["bytes", operation.kind, ""] += operation.size_bytes
            tally["count", operation.kind, ""] += 1
        else:
            flops = operation.tensor_flops + operation.vector_flops
            tally["flops", operation.phase, operation.kind] += flops
            tally["tensor", operation.phase, operation.kind] += operation.tensor_flops
            moved = operation.bytes_read + operation.bytes_written
            tally["memory", operation.phase, operation.kind] += moved
            tally["kernels", operation.phase, operation.kind] += 1
    return tally


def tally_device(
    program: Iterable[Action], passes: Mapping[PassKey, Drafted], finish: Drafted
) -> Tally:
    """Count what one rank does in a step."""
    played = Counter(play.key for action in program for play in action)
    total = tally_of(finish.items)
    for key, times in played.items():
        for what, number in tally_of(passes[key].items).items():
            total[what] += times * number
    return total


def as_totals(tallies: Iterable[tuple[Tally, int]]) -> dict[str, Any]:
    """Return the sums over all ranks, given (tally of a rank, ranks that do the same)."""
    total: Tally = Counter()
    for tally, ranks in tallies:
        for what, number in tally.items():
            total[what] += ranks * number
    return {
        "flops": _nested(total, "flops"),
        "tensor_flops": _nested(total, "tensor"),
        "memory_bytes": _nested(total, "memory"),
        "kernels": _nested(total, "kernels"),
        "communication_bytes": _nested(total, "bytes"),
        "communication_operations": _nested(total, "count"),
    }


def _nested(tally: Tally, what: str) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (kind, outer, inner), number in sorted(tally.items()):
        if kind == what and number:
            nested.setdefault(outer, {})[inner] = number
    return nested
