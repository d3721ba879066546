"""Messages to experts that run behind passes of other micro-batches.

What needs such a message waits for what the message needs instead, and the pass's own result leaves
behind all of them. Messages keep their order on their communicator, so a device that computes for
less time than they take waits for them at its end.

Trade-off: any computation of the device hides them, not only that of the pass beside.

Sources: Megatron-LM, `overlap_moe_expert_parallel_comm` (core/models/common/
model_chunk_schedule_plan.py); DeepSeek-V3, 2024, section 3.2.1.
"""

from __future__ import annotations

from collections.abc import Collection

from yantra.workloads.operators.operations import Operation, Pass


def hideable(one: Pass) -> tuple[int, ...]:
    """The places of a pass's messages to experts that others may hide."""
    kept = {*one.entries, one.exit}
    return tuple(
        at
        for at, operation in enumerate(one.operations)
        if operation.kind == "all_to_all" and operation.group == "ep"
        if operation.after and at not in kept
    )


def without_waiting(
    operations: tuple[Operation, ...], hidden: Collection[int]
) -> tuple[Operation, ...]:
    """The operations with none of them waiting for the messages `hidden`."""
    if not hidden:
        return operations
    before: dict[int, tuple[int, ...]] = {}
    found = []
    for at, one in enumerate(operations):
        if any(needed in before for needed in one.after):
            needs = (before.get(needed, (needed,)) for needed in one.after)
            one = one._replace(after=tuple(sorted({each for some in needs for each in some})))
        if at in hidden:
            before[at] = one.after
        found.append(one)
    return tuple(found)
