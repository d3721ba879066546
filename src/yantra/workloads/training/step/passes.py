"""The passes of one chunk: drafts of its `StageWork` with the plan's additions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from yantra.chakra.playing import Moved
from yantra.workloads.operators.names import NONE
from yantra.workloads.operators.operations import Operation, Pass, Phase, StageWork
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.step.buckets import Bucket
from yantra.workloads.training.step.draft import Draft, Item, Part, Stretch, Wait, items_of
from yantra.workloads.training.step.gather import add_gathers, release_gathered
from yantra.workloads.training.step.hiding import hideable, without_waiting
from yantra.workloads.training.step.offload import add_loads, add_stores, stores_of
from yantra.workloads.training.step.reduce import Reducing, add_reductions
from yantra.workloads.training.step.sharding import Sharding


class Message(NamedTuple):
    """A tensor that crosses a stage boundary: peer expression, tag, bytes."""

    peer: str
    tag: int
    size_bytes: int


class Ends(NamedTuple):
    """Where a pass's tensor comes from and goes to.

    A message; or the key of the operation that makes it in the neighbouring stage on the same
    device (0 for where it goes to); or None at the end of the pipeline.
    """

    source: Message | int | None
    target: Message | int | None


class Chunk(NamedTuple):
    """One chunk of layers of a device, and what its passes need to know.

    `first_tag` begins the tags of messages inside a pass, such as context parallelism's; a pass may
    have `tags` of them. Layers have numbers `layers` above those that `work` names.
    """

    number: int
    stage: int
    work: StageWork
    buckets: tuple[Bucket, ...]
    forward: Ends
    backward: Ends
    first_tag: int
    tags: int
    layers: int = 0


class PassKey(NamedTuple):
    """Which pass it is: passes of equal keys differ only in the micro-batch.

    `gathers` weights; `reshards` frees gathered weights; `last`: no later pass adds to the chunk's
    gradients; `hides` its messages to experts behind other passes.
    """

    kind: str
    chunk: int
    gathers: bool = False
    reshards: bool = False
    last: bool = False
    hides: bool = False


class Drafted:
    """A finished pass; what the device computes next waits for the operations in `blocking`.

    It may repeat another, `like`, with layer numbers moved by `moved`; then `chunk` is that of
    `like`, which has the `parts`. Items are made on demand.
    """

    def __init__(
        self,
        parts: tuple[Part, ...],
        blocking: tuple[int, ...] = (),
        chunk: int = 0,
        *,
        like: Drafted | None = None,
        moved: Moved | None = None,
    ) -> None:
        self.parts = parts
        self._items: tuple[Item, ...] = ()
        self.blocking = blocking
        self.chunk = chunk
        self._like = like  # not itself: a cycle would live until the garbage collector finds it
        self.moved = moved

    @property
    def like(self) -> Drafted:
        return self if self._like is None else self._like

    def at(self, moved: Moved) -> Drafted:
        return Drafted((), self.blocking, self.chunk, like=self, moved=moved)

    @property
    def items(self) -> tuple[Item, ...]:
        if self._items:
            return self._items
        if self.moved is not None:
            self._items = tuple(_moved(item, self.moved) for item in self.like.items)
        else:
            self._items = items_of(self.parts)
        return self._items

    @property
    def size(self) -> int:
        parts = self.like.parts
        return sum([one.end - one.first if isinstance(one, Stretch) else 1 for one in parts])

    def operations_at(self, places: Sequence[int]) -> list[Operation]:
        """Operations at ascending places of a pass without `like`."""
        found = []
        parts = iter(self.parts)
        first = end = 0  # places of the current part
        one: Part = Stretch((), 0, 0)
        for place in places:
            while place >= end:
                one, first = next(parts), end
                end = first + (one.end - one.first if isinstance(one, Stretch) else 1)
            if isinstance(one, Stretch):
                found.append(one.operations[one.first + place - first])
            else:
                found.append(one.operation)
        return found


def _moved(item: Item, moved: Moved) -> Item:
    one = item.operation
    tag = moved.tag(one.tag) if one.peer else one.tag
    return item._replace(
        operation=one._replace(name=moved.text(one.name), unit=moved.text(one.unit), tag=tag)
    )


def draft_pass(chunk: Chunk, key: PassKey, plan: Plan, sharding: Sharding) -> Drafted:
    drafted = _draft(chunk, key, plan, sharding)
    drafted.chunk = chunk.number
    return drafted


def _draft(chunk: Chunk, key: PassKey, plan: Plan, sharding: Sharding) -> Drafted:
    if key.kind == "F":
        return _forward(chunk, key, plan, sharding)
    if key.kind == "W":
        return _weight_gradients(chunk, key, plan, sharding)
    return _backward(chunk, key, plan, sharding)


def ahead_of(plan: Plan) -> int:
    """How many units ahead of its use a sharded weight is gathered."""
    if not plan.overlap_parameters:
        return 0
    return plan.prefetch if plan.zero == 3 else 1


def _offloads(plan: Plan) -> bool:
    return plan.offload_activations or plan.offload_modules != NONE


def _chosen(chunk: Chunk, plan: Plan) -> dict[str, int] | None:
    return None if plan.offload_activations else dict(chunk.work.waits)


def _forward(chunk: Chunk, key: PassKey, plan: Plan, sharding: Sharding) -> Drafted:
    work = chunk.work.forward
    hidden = hideable(work) if key.hides else ()
    draft = Draft(_tagged(without_waiting(work.operations, hidden), chunk.first_tag))
    if _offloads(plan):
        add_stores(draft, plan.prefetch, plan.offload_layers, _chosen(chunk, plan))
    _receive(draft, work, chunk.forward, plan, "forward")
    if key.gathers:
        add_gathers(draft, chunk.buckets, sharding, "forward", ahead_of(plan))
    if key.reshards:
        release_gathered(draft, chunk.buckets, sharding)
    blocking = _send(draft, work, chunk.forward, plan, "forward", hidden)
    return Drafted(draft.parts(), blocking)


def _backward(chunk: Chunk, key: PassKey, plan: Plan, sharding: Sharding) -> Drafted:
    work = chunk.work.backward
    hidden = hideable(work) if key.hides else ()
    operations = without_waiting(work.operations, hidden)
    operations = _tagged(operations, chunk.first_tag + chunk.tags)
    keys = None
    if key.kind != "B":
        keys = [number for number, one in enumerate(operations) if one.phase != "wgrad"]
    draft = Draft(operations, keys)
    _receive(draft, work, chunk.backward, plan, "dgrad")
    if chunk.backward.source is None:
        end = Wait(len(chunk.work.forward.operations) - 1, source="forward")
        for root in list(draft.roots()):
            draft.wait(root, end)
    if _offloads(plan):
        made = chunk.work.forward.operations
        stored = stores_of(made, plan.offload_layers, _chosen(chunk, plan))
        add_loads(draft, stored, plan.prefetch)
    if key.gathers:
        add_gathers(draft, chunk.buckets, sharding, "dgrad", ahead_of(plan))
    if key.reshards:
        release_gathered(draft, chunk.buckets, sharding)
    blocking = _reduce(draft, chunk, key, plan, sharding) if key.kind == "B" else ()
    blocking += _send(draft, work, chunk.backward, plan, "dgrad", hidden)
    return Drafted(draft.parts(), blocking)


def _weight_gradients(chunk: Chunk, key: PassKey, plan: Plan, sharding: Sharding) -> Drafted:
    operations = _tagged(chunk.work.backward.operations, chunk.first_tag + chunk.tags)
    keys = [n for n, operation in enumerate(operations) if operation.phase == "wgrad"]
    draft = Draft(operations, keys, rest="backward")
    _start_messages(draft)
    blocking = _reduce(draft, chunk, key, plan, sharding)
    return Drafted(draft.parts(), blocking)


def _reduce(
    draft: Draft, chunk: Chunk, key: PassKey, plan: Plan, sharding: Sharding
) -> tuple[int, ...]:
    if sharding.zero <= 1 and not (key.last and plan.overlap_gradients):
        return ()
    how = Reducing(key.last, plan.overlap_gradients, plan.exposed_gradients)
    return add_reductions(draft, chunk.buckets, sharding, how)


def _receive(draft: Draft, work: Pass, ends: Ends, plan: Plan, phase: Phase) -> None:
    source = ends.source
    if isinstance(source, Message):
        operation = Operation(
            "receive", "recv", phase, "", size_bytes=source.size_bytes, peer=source.peer,
            tag=source.tag,
        )  # fmt: skip
        key = draft.put_first(operation)
        for entry in work.entries:
            draft.wait(entry, Wait(key))
        first = draft.following_compute(-1)
        if not plan.overlap_p2p and first is not None:
            draft.wait(first, Wait(key, is_control=True))
    elif source is not None:
        for entry in work.entries:
            draft.wait(entry, Wait(source, source="neighbour"))
    _start_messages(draft)


def _start_messages(draft: Draft) -> None:
    # Collectives that need nothing of the pass must not start long before it.
    for root in draft.roots():
        if draft.operations[root].communicates:
            draft.start(root)


def _send(
    draft: Draft, work: Pass, ends: Ends, plan: Plan, phase: Phase, hidden: Sequence[int] = ()
) -> tuple[int, ...]:
    target = ends.target
    if not isinstance(target, Message):
        return ()
    operation = Operation(
        "send", "send", phase, "", size_bytes=target.size_bytes, peer=target.peer, tag=target.tag
    )
    waits = [Wait(at) for at in (work.exit, *hidden) if at is not None]
    key = draft.put_last(operation, *waits, at_end=True)
    return () if plan.overlap_p2p else (key,)


def _tagged(operations: tuple[Operation, ...], first_tag: int) -> tuple[Operation, ...]:
    if not any(operation.peer for operation in operations):
        return operations
    return tuple(
        operation._replace(tag=first_tag + operation.tag) if operation.peer else operation
        for operation in operations
    )
