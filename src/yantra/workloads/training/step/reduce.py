"""Adds gradient reductions to a backward pass: each bucket's when its gradients are ready.

ZeRO-0 sums a bucket over all replicas; ZeRO-1 to 3 leave each rank its shard. Copies of a shard
(HSDP's replicas) are summed after that, once per step. Without overlap the device computes nothing
meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from yantra.chakra import CollectiveType
from yantra.workloads.operators.operations import Operation
from yantra.workloads.training.step.buckets import Bucket
from yantra.workloads.training.step.draft import Draft, Span, Wait
from yantra.workloads.training.step.sharding import Sharding


class Reducing(NamedTuple):
    """How a pass reduces: `over_copies` also sums shards over their copies.

    It leaves the share `exposed` of each bucket to the end of the step.
    """

    over_copies: bool
    overlaps: bool
    exposed: float = 0.0


def reductions(bucket: Bucket, sharding: Sharding, *, over_copies: bool) -> Iterator[Operation]:
    """A bucket's collectives, each on the result of the one before.

    A reduce-scatter has the size of the padded bucket, a sum over copies that of a shard; bytes per
    rank.
    """
    sync = sharding.sync(bucket.domain)
    elements = bucket.elements
    if sync.size > 1 and sharding.zero == 0:
        size = elements * sharding.gradient_bytes
        yield _reduction(bucket, "reduce", CollectiveType.ALL_REDUCE, sync.group, size)
    elif sync.size > 1:
        size = sharding.padded(elements, bucket.domain) * sharding.gradient_bytes
        yield _reduction(bucket, "reduce", CollectiveType.REDUCE_SCATTER, sync.group, size)
    if sync.repeats and over_copies:
        yield sum_of_copies(bucket, sharding, "replica")


def sum_of_copies(bucket: Bucket, sharding: Sharding, group: str) -> Operation:
    """The sum of a rank's updated part of a bucket over the ranks that update the same."""
    size = sharding.updated(bucket.elements, bucket.domain) * sharding.gradient_bytes
    return _reduction(bucket, f"sum over {group}", CollectiveType.ALL_REDUCE, group, size)


def cut(operation: Operation, exposed: float, *, late: bool) -> Operation:
    """The part of a reduction that is left to the end of the step, or the rest."""
    early = operation.size_bytes - round(operation.size_bytes * exposed)
    return operation._replace(size_bytes=operation.size_bytes - early if late else early)


def add_reductions(
    draft: Draft, buckets: Sequence[Bucket], sharding: Sharding, how: Reducing
) -> tuple[int, ...]:
    """Reduce every bucket in this pass; return what the device must wait for after it."""
    spans = draft.spans()
    place = {key: number for number, key in enumerate(draft.keys)}
    blocking = []
    for bucket in (one for one in buckets if one.elements):
        used = [spans[unit] for unit in bucket.units if unit in spans]
        ready = max(used, key=lambda span: place[span.last]).last if used else None
        at = ready if how.overlaps or sharding.zero == 3 else draft.last_compute()
        key: int | None = None
        for operation in reductions(bucket, sharding, over_copies=how.over_copies):
            operation = cut(operation, how.exposed, late=False) if how.exposed else operation
            key = _put(draft, operation, at, ready if key is None else key)
        if key is None:
            continue
        if sharding.zero >= 2:
            _hold(draft, bucket, sharding, used, key)
        if not how.overlaps:
            following = None if at is None else draft.following_compute(at)
            if following is None:
                blocking.append(key)
            else:
                draft.wait(following, Wait(key, is_control=True))
    return tuple(blocking)


def _put(draft: Draft, operation: Operation, at: int | None, needs: int | None) -> int:
    waits = () if needs is None else (Wait(needs),)
    if at is None:
        return draft.put_first(operation, *waits, starts=needs is None)
    return draft.put_after(at, operation, *waits)


def _hold(
    draft: Draft, bucket: Bucket, sharding: Sharding, used: Sequence[Span], reduced: int
) -> None:
    if not used or sharding.sync(bucket.domain).size == 1:
        return
    place = {key: number for number, key in enumerate(draft.keys)}
    begun = min(used, key=lambda span: place[span.first]).opening[-1]
    size = sharding.padded(bucket.elements, bucket.domain) * sharding.gradient_bytes
    draft.hold(begun, size)
    draft.release(reduced, size)


def _reduction(bucket: Bucket, what: str, kind: CollectiveType, group: str, size: int) -> Operation:
    return Operation(
        f"{what} {bucket.name}",
        kind.name.lower(),
        "wgrad",
        bucket.units[0],
        collective=kind,
        group=group,
        size_bytes=size,
    )
