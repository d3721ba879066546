"""Adds all-gathers of sharded weights to a pass, a bounded number of units ahead of their use.

A unit's gather starts when the device begins the unit `ahead` places before it, so at most `ahead`
+ 1 units are there in full. With `ahead` 0 it is exposed.

Sources: Zhao et al., "PyTorch FSDP", VLDB 2023, sections 3.3.2 and 3.3.3 (prefetching, rate
limiter); Megatron-LM, `overlap_param_gather` (the next bucket is gathered when one is first used).
"""

from __future__ import annotations

from collections.abc import Sequence

from yantra.chakra import CollectiveType
from yantra.workloads.operators.operations import Operation, Phase
from yantra.workloads.training.step.buckets import Bucket
from yantra.workloads.training.step.draft import Draft, Span, Wait, computes
from yantra.workloads.training.step.sharding import Sharding


def gathers(bucket: Bucket, sharding: Sharding) -> bool:
    return sharding.sync(bucket.domain).size > 1


def gather_operation(bucket: Bucket, sharding: Sharding, phase: Phase) -> Operation:
    """The all-gather of a bucket's weights; its size is one rank's shard, in bytes."""
    return Operation(
        f"gather {bucket.name}",
        "all_gather",
        phase,
        bucket.units[-1],
        collective=CollectiveType.ALL_GATHER,
        group=sharding.sync(bucket.domain).group,
        size_bytes=sharding.sent_bytes(bucket.gathered, bucket.narrow, bucket.domain),
    )


def add_gathers(
    draft: Draft, buckets: Sequence[Bucket], sharding: Sharding, phase: Phase, ahead: int
) -> None:
    """Gather every sharded bucket that the pass uses; its first users wait for it."""
    spans = _reading(draft)
    place = {key: number for number, key in enumerate(draft.keys)}
    uses = []
    for bucket in buckets:
        used = [spans[unit] for unit in bucket.units if unit in spans]
        if used and gathers(bucket, sharding):
            uses.append((min(used, key=lambda span: place[span.first]), used, bucket))
    uses.sort(key=lambda use: place[use[0].first])
    for number, (_, used, bucket) in enumerate(uses):
        operation = gather_operation(bucket, sharding, phase)
        key = _put(draft, operation, uses[number - ahead][0] if number >= ahead else None)
        for span in used:
            for opening in span.opening:
                draft.wait(opening, Wait(key))
        if sharding.zero == 3:
            size = sharding.gathered_bytes(bucket.gathered, bucket.narrow, bucket.domain)
            draft.hold(key, size)


def release_gathered(draft: Draft, buckets: Sequence[Bucket], sharding: Sharding) -> None:
    """Free each unit's gathered weights after its last use in the pass."""
    spans = _reading(draft)
    for bucket in buckets:
        used = [spans[unit] for unit in bucket.units if unit in spans]
        if used and gathers(bucket, sharding):
            size = sharding.gathered_bytes(bucket.gathered, bucket.narrow, bucket.domain)
            draft.release(max(span.last for span in used), size)


def _reading(draft: Draft) -> dict[str, Span]:
    """Where units' weights are read; computing a weight's gradient does not read it."""
    spans = draft.spans()
    reading: set[str] = set()
    for one in map(draft.operations.__getitem__, draft.keys):
        if one.unit not in reading and one.phase != "wgrad" and computes(one):
            reading.add(one.unit)
    return {unit: span for unit, span in spans.items() if unit in reading}


def _put(draft: Draft, operation: Operation, at: Span | None) -> int:
    if at is None:
        return draft.put_first(operation, starts=True)
    if at.previous is None:
        return draft.put_before(at.first, operation, starts=True)
    return draft.put_before(at.first, operation, Wait(at.previous, is_control=True))
