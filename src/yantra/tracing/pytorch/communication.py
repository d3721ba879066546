"""Device ops that communicate: collective, bytes and partners.

Kernel names of NCCL and RCCL give the collective, or else the call around the launch (`calls.py`).
What stays unknown is reported, and a computation of its recorded duration.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from msgspec import Struct, field

from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.pytorch.calls import Call, Calls, plain
from yantra.tracing.pytorch.linked import DeviceOp, Linked
from yantra.tracing.pytorch.soundness import MOST_RANKS

# The first that occurs counts; `reduce`, `gather`, `scatter` occur in others.
_COLLECTIVES = {
    "allreduce": CollectiveType.ALL_REDUCE,
    "alltoall": CollectiveType.ALL_TO_ALL,
    "allgather": CollectiveType.ALL_GATHER,
    "reducescatter": CollectiveType.REDUCE_SCATTER,
    "broadcast": CollectiveType.BROADCAST,
    "barrier": CollectiveType.BARRIER,
    "reduce": CollectiveType.REDUCE,
    "gather": CollectiveType.GATHER,
    "scatter": CollectiveType.SCATTER,
}
_POINT_TO_POINT = {"send": NodeType.COMM_SEND, "recv": NodeType.COMM_RECV}
_KERNEL = re.compile(r"(?:nccl|rccl|msccl)", re.IGNORECASE)
_BARRIER_BYTES = 4  # NCCL's barrier sums one element
# ASTRA-sim runs four collectives and times broadcasts; these move the same blocks to more ranks.
STAND_INS = {
    CollectiveType.REDUCE: CollectiveType.ALL_REDUCE,
    CollectiveType.GATHER: CollectiveType.ALL_GATHER,
    CollectiveType.SCATTER: CollectiveType.REDUCE_SCATTER,
    CollectiveType.REDUCE_SCATTER_BLOCK: CollectiveType.REDUCE_SCATTER,
    CollectiveType.BARRIER: CollectiveType.ALL_REDUCE,
}


class Communication(Struct):
    """A device op's part in a communication.

    `collective` None: a send, a receive, or unknown here. `bytes` None: unknown; `received` may
    differ (uneven all-to-all). `peer`: global rank. Ops of one `key` are kernels of one call; -1 is
    an orphan. `tag` is the user's until `matching` sets it. `sends`, `gets`: uneven all-to-all
    bytes by the other member's place in `ranks`.
    """

    op: int
    type: NodeType
    collective: CollectiveType | None
    name: str
    group: str | None
    ranks: tuple[int, ...]
    bytes: int | None
    received: int | None = None
    peer: int | None = None
    tag: int = 0
    sequence: int | None = None
    key: int = -1
    uneven: bool = False
    sends: tuple[int, ...] = ()
    gets: tuple[int, ...] = ()


class Found(Struct):
    """A rank's communications in issue order, and what was unclear."""

    items: list[Communication] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)  # kernel names


def find(linked: Linked, calls: Calls) -> Found:
    found = Found()
    batches = _Batches(linked, calls)
    names = {op.name for op in linked.device_ops if op.cat == "kernel"}  # far fewer than kernels
    kernels = {name for name in names if _KERNEL.search(name)}
    told = (
        op
        for op in linked.device_ops
        if op.cat == "comm" or (op.cat == "kernel" and op.name in kernels)
    )
    for op in sorted(told, key=issue):
        call = calls.of(op.parent, op.comm)
        made = _communications(op, call, batches, linked)
        if not made:
            found.unknown[op.name] += 1
        found.items += made
    _share_out(found.items)
    _adopt_orphans(linked, found.items)
    return found


def issue(op: DeviceOp) -> tuple[int, int]:
    return op.start_ns if op.launch_start_ns is None else op.launch_start_ns, op.id


def collective_of(name: str) -> CollectiveType | None:
    short = plain(name.split("(", 1)[0])
    return next((kind for key, kind in _COLLECTIVES.items() if key in short), None)


def _communications(
    op: DeviceOp, call: Call | None, batches: _Batches, linked: Linked
) -> list[Communication]:
    told = collective_of(op.name) if op.cat == "kernel" else None
    if call is None:  # launched before the recording; other ranks may know
        return [_one(op, Call(-1), NodeType.COMM_COLL, told, linked)]
    kind = told if told is not None else collective_of(call.name)
    if kind is not None:
        return [_one(op, call, NodeType.COMM_COLL, kind, linked)]
    for start, type in _POINT_TO_POINT.items():
        if call.name.startswith(start):
            return [_one(op, call, type, None, linked)]
    return [_one(op, part, type, None, linked) for part, type in batches.of(op)]


def _one(
    op: DeviceOp,
    call: Call,
    type: NodeType,
    collective: CollectiveType | None,
    linked: Linked,
) -> Communication:
    group = call.group or op.pg_name or None
    ranks = _ranks(group, call, linked)
    made = Communication(
        op=op.id,
        type=type,
        collective=collective,
        name=call.name or plain(op.name.split("(", 1)[0]),
        group=group,
        ranks=ranks,
        bytes=call.sent,
        sequence=call.sequence,
        key=call.key,
        uneven=call.uneven,
        tag=call.tag or 0,
    )
    size = len(ranks) or call.group_size or linked.world_size
    _size(made, call, size)
    if type is not NodeType.COMM_COLL:
        made.peer = _global(call, ranks)
    return made


def _size(made: Communication, call: Call, size: int) -> None:
    kind = made.collective
    if kind is CollectiveType.ALL_TO_ALL:
        made.received = call.received
        if call.uneven:
            made.sends = _bytes_by_member(call.sends, call.sent)
            made.gets = _bytes_by_member(call.gets, call.received)
    elif kind is CollectiveType.ALL_GATHER and not made.bytes and call.received:
        made.bytes = call.received // max(1, size)
    elif kind in (CollectiveType.REDUCE_SCATTER, CollectiveType.SCATTER) and not made.bytes:
        made.bytes = call.received * size if call.received else None
    elif kind is CollectiveType.BARRIER or "barrier" in call.name:
        made.bytes = made.bytes or _BARRIER_BYTES


def _bytes_by_member(rows: tuple[int, ...], size: int | None) -> tuple[int, ...]:
    total = sum(rows)
    if size is None or (size % total if total else size):
        return ()
    return tuple(row * (size // total) if total else 0 for row in rows)


def _ranks(group: str | None, call: Call, linked: Linked) -> tuple[int, ...]:
    for known in linked.groups:
        if known.name == group and known.ranks:
            return tuple(known.ranks)
    if call.ranks and all(0 <= rank < MOST_RANKS for rank in call.ranks):
        return call.ranks
    return tuple(range(linked.world_size)) if call.group_size == linked.world_size else ()


def _global(call: Call, ranks: tuple[int, ...]) -> int | None:
    if call.peer is None or call.peer_is_global:
        return call.peer
    if not ranks:
        return call.peer
    return ranks[call.peer] if 0 <= call.peer < len(ranks) else None


def _share_out(items: list[Communication]) -> None:
    kernels: defaultdict[int, list[Communication]] = defaultdict(list)
    for item in items:
        if item.key >= 0 and item.collective is not None:
            kernels[item.key].append(item)
    for parts in kernels.values():
        if len(parts) > 1:
            _split(parts)


def _split(parts: list[Communication]) -> None:
    for which in ("bytes", "received"):
        total = getattr(parts[0], which)
        if total is not None:
            share, more = divmod(total, len(parts))
            for place, part in enumerate(parts):
                setattr(part, which, share + (place < more))
    for part in parts:
        part.sends = part.gets = ()


def _adopt_orphans(linked: Linked, items: list[Communication]) -> None:
    """A kernel launched before the recording is of its stream's group."""
    streams = {op.id: (op.device, op.stream) for op in linked.device_ops}
    served: dict[tuple[int, int], Communication] = {}
    for item in items:
        if item.key >= 0:
            served.setdefault(streams[item.op], item)
    for item in items:
        if item.key < 0 and (like := served.get(streams[item.op])):
            item.group, item.ranks = like.group, like.ranks


class _Batches:
    def __init__(self, linked: Linked, calls: Calls) -> None:
        with_kernel = {op.parent for op in linked.device_ops}
        self.calls = calls
        self.pending: defaultdict[int, list[tuple[int, Call, NodeType]]] = defaultdict(list)
        self.parents = {op.id: op.parent for op in linked.operators}
        for record in calls.records:
            call = calls.of(record.id)
            type = None if call is None else _POINT_TO_POINT.get(call.name[:4])
            if call is not None and type is not None and record.id not in with_kernel:
                self.pending[record.tid].append((record.id, call, type))

    def of(self, op: DeviceOp) -> list[tuple[Call, NodeType]]:
        if op.launch_tid is None or op.parent is None:
            return []
        waiting = self.pending[op.launch_tid]
        taken = [entry for entry in waiting if entry[0] < op.id]
        self.pending[op.launch_tid] = waiting[len(taken) :]
        return [(call, type) for _, call, type in taken]
