"""Counts what a step computes and moves from its drafts, before they are encoded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from yantra.chakra import CollectiveType
from yantra.workloads.training.step.draft import Item
from yantra.workloads.training.train import Step

Tally = Counter[tuple[str, ...]]
"""("flops", phase, kind) in operations, ("bytes", collective, group) in bytes per rank."""


def tally_of(items: Iterable[Item]) -> Tally:
    tally: Tally = Counter()
    for item in items:
        operation = item.operation
        if operation.collective is not None:
            kind = CollectiveType(operation.collective).name.lower()
            tally["bytes", kind, operation.group] += operation.size_bytes
        elif operation.peer:
            if operation.kind == "send":
                axis = operation.peer.partition("+")[0].partition("-")[0]
                tally["bytes", "send", axis] += operation.size_bytes
        elif item.computes:
            flops = operation.tensor_flops + operation.vector_flops
            tally["flops", operation.phase, operation.kind] += flops
        else:
            tally["bytes", operation.kind, ""] += operation.size_bytes
    return tally


def tally_device(built: Step, device: int) -> Tally:
    program = built.job.programs[device]
    played = Counter(play.key for action in program for play in action)
    total = tally_of(built.ends[device].items)
    for key, times in played.items():
        for what, number in tally_of(built.passes[device][key].items).items():
            total[what] += times * number
    return total
