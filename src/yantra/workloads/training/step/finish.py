"""What a device does once per step, after all its passes.

In order: gradients not reduced during the backward passes; those of a stage's two copies in a
bidirectional pipeline; the loss, averaged over the replicas; gradients spread over tensor-parallel
ranks (norms under sequence parallelism); those of the tied embedding; the norm of all gradients,
which every rank waits for; the optimizer; and the changed weights, unless the next step gathers
them.

Source of the order: Megatron-LM, `core/distributed/finalize_model_grads.py` and
`core/optimizer/distrib_optimizer.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType
from yantra.workloads.operators.operations import Operation, Weight
from yantra.workloads.plan.plan import Plan
from yantra.workloads.plan.words import called
from yantra.workloads.training.step.draft import LOAD, STORE, Draft, Wait
from yantra.workloads.training.step.gather import gather_operation, gathers
from yantra.workloads.training.step.optimizer import norm_operation, update_operation
from yantra.workloads.training.step.passes import Chunk, Drafted
from yantra.workloads.training.step.reduce import cut, reductions, sum_of_copies
from yantra.workloads.training.step.sharding import Sharding

SCALAR_BYTES = 4
_MOST_PIECES = 10_000
REDUCED = Wait(0, source="reductions")
"""All gradient collectives of the passes."""


def draft_finish(
    chunks: Sequence[Chunk], plan: Plan, sharding: Sharding, groups: frozenset[str]
) -> Drafted:
    """The end of the step; `groups` are the communicators of more than one rank."""
    draft = Draft(())
    chunks = sorted(chunks, key=lambda chunk: chunk.stage)  # the order of stages' copies
    reduced = [REDUCED]
    if sharding.zero <= 1 and not plan.overlap_gradients:
        for chunk in chunks:
            for bucket in chunk.buckets:
                reduced += _chain(draft, reductions(bucket, sharding, over_copies=True))
    elif plan.exposed_gradients:
        for bucket in (one for chunk in chunks for one in chunk.buckets):
            whole = reductions(bucket, sharding, over_copies=True)
            late = (cut(one, plan.exposed_gradients, late=True) for one in whole)
            reduced += _chain(draft, late)
    if "mirror" in groups:
        for chunk in chunks:
            for bucket in chunk.buckets:
                if not bucket.elements:
                    continue
                operation = sum_of_copies(bucket, sharding, "mirror")
                reduced.append(Wait(draft.put_last(operation, *reduced, at_end=True)))
    if any(chunk.forward.target is None for chunk in chunks) and "dp_cp" in groups:
        draft.put_last(_sum("average loss", "dp_cp", SCALAR_BYTES), at_end=True)
    for operation in _partial(chunks, sharding, groups):
        reduced.append(Wait(draft.put_last(operation, *reduced, at_end=True)))
    elements = sum(
        sharding.updated(bucket.elements, bucket.domain)
        for chunk in chunks
        for bucket in chunk.buckets
    )
    norm = draft.put_last(norm_operation(elements, sharding), *reduced)
    if "world" in groups:
        norm = draft.put_last(_sum("sum gradient norm", "world", SCALAR_BYTES), Wait(norm))
    gathered = _update(draft, chunks, plan, sharding, norm)
    return Drafted(draft.parts(), gathered)


def _chain(draft: Draft, operations: Iterator[Operation]) -> list[Wait]:
    last: list[Wait] = []
    for operation in operations:
        last = [Wait(draft.put_last(operation, *last, at_end=not last))]
    return last


def _partial(
    chunks: Sequence[Chunk], sharding: Sharding, groups: frozenset[str]
) -> Iterator[Operation]:
    parts: dict[str, int] = {}
    # Most weights are neither: norms are spread, only embeddings may be tied.
    special = [
        weight
        for chunk in chunks
        for weight in chunk.work.weights
        if (weight.partial_over or weight.is_tied) and not weight.is_frozen
    ]
    for weight in special:
        for group in weight.partial_over:
            parts[group] = parts.get(group, 0) + _kept(weight, sharding)
    for group, size in parts.items():
        if group in groups:
            yield _sum(f"sum partial gradients over {group}", group, size)
    tied = sum(_kept(weight, sharding) for weight in special if weight.is_tied)
    if tied and "embedding" in groups:
        yield _sum("sum tied embedding gradients", "embedding", tied)


def _kept(weight: Weight, sharding: Sharding) -> int:
    return sharding.gradients(weight.elements, weight.domain) * sharding.gradient_bytes


def _update(
    draft: Draft, chunks: Sequence[Chunk], plan: Plan, sharding: Sharding, norm: int
) -> tuple[int, ...]:
    gathered = []
    stores: list[int] = []
    for chunk in chunks:
        for bucket in chunk.buckets:
            elements = sharding.updated(bucket.elements, bucket.domain)
            updates = []
            away = round(elements * plan.offload_fraction) if plan.offload_optimizer else 0
            if away < elements:
                here = update_operation(elements - away, bucket.name, plan, sharding)
                updates.append(draft.put_last(here, Wait(norm)))
            for piece in _pieces(away, plan):
                operation = update_operation(piece, bucket.name, plan, sharding)
                updates.append(_update_offloaded(draft, operation, piece, sharding, norm, stores))
            is_sharded = sharding.zero in (1, 2) and gathers(bucket, sharding)
            if is_sharded and not plan.overlap_parameters:
                gather = gather_operation(bucket, sharding, "optimizer")
                gathered.append(draft.put_last(gather, *map(Wait, updates)))
    return tuple(gathered)


def _pieces(elements: int, plan: Plan) -> Iterator[int]:
    # The state of two pieces is on the device.
    most = plan.bucket_size
    if elements > most * _MOST_PIECES:
        problem = f"{most} elements at a time move the optimizer's state of {elements} in more than"
        least = -(-elements // _MOST_PIECES)
        raise ConfigError(
            called(plan, "bucket_elements"),
            f"{problem} {_MOST_PIECES} pieces; expected at least {least}",
        )
    while elements > 0:
        yield min(elements, most)
        elements -= most


def _update_offloaded(
    draft: Draft,
    operation: Operation,
    elements: int,
    sharding: Sharding,
    norm: int,
    stores: list[int],
) -> int:
    size = elements * sharding.state_bytes
    name = operation.name.removeprefix("update ")
    load = Operation(f"load state of {name}", LOAD, "optimizer", "", size_bytes=size)
    store = Operation(f"store state of {name}", STORE, "optimizer", "", size_bytes=size)
    gate = Wait(stores[-2] if len(stores) >= 2 else norm, is_control=True)
    loaded = draft.put_last(load, gate)
    draft.hold(loaded, size)
    updated = draft.put_last(operation, Wait(norm), Wait(loaded))
    stores.append(draft.put_last(store, Wait(updated)))
    draft.release(stores[-1], size)
    return updated


def _sum(name: str, group: str, size_bytes: int) -> Operation:
    return Operation(
        name,
        "all_reduce",
        "optimizer",
        "",
        collective=CollectiveType.ALL_REDUCE,
        group=group,
        size_bytes=size_bytes,
    )
