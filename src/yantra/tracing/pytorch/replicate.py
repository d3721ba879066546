"""One rank's communications as every rank would have them (SPMD).

A group stands for the blocks of its shape that fill the world: 0, 2 of 8 become 1, 3 and 4, 6 and
5, 7. An assumption; pipeline stages break it.

When a group of all ranks changes size, either the whole stays (FSDP's sharded parameters) or each
rank's share (a gathered loss). If the whole stays, shares of all-gather and gather scale by
recorded/new and inputs of reduce-scatter and scatter stay; if the share stays, the opposite.
All-reduces and broadcasts move the whole. Recordings show all-gathers in FSDP's ranges, or whose
whole is also reduce-scattered, as gradients are; the caller must say the others.

Source: Zhao et al., PyTorch FSDP (VLDB 2023); Rajbhandari et al., ZeRO (SC 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from msgspec import structs

from yantra.base.errors import TraceError, UnsupportedError
from yantra.base.text import count
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.pytorch.communication import Communication
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.pytorch.linked_columns import by_id
from yantra.tracing.pytorch.padding import Padding, gradients

Gathered = Literal["shards", "copies"]

_GIVEN = (CollectiveType.ALL_GATHER, CollectiveType.GATHER)  # sizes are of a share
_TAKEN = (  # sizes are of the whole
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.REDUCE_SCATTER_BLOCK,
    CollectiveType.SCATTER,
)
_SHARDING = ("fsdp", "fullysharded", "zero3", "zero_3")
_HIGHEST = 24  # operators above a collective that may be the framework's
_WIDER = (2, 4)  # width ratios of two types: float32 and bfloat16 or FP8


def replicated(
    items: Sequence[Communication], rank: int, recorded: int, world_size: int
) -> dict[int, list[Communication]]:
    """Communications of `world_size` ranks, from those of `rank` among `recorded`.

    A group of all grows to all, sizes unchanged; see `scaled`.
    """
    return {
        other: [_moved(item, rank, other, recorded, world_size) for item in items]
        for other in range(world_size)
    }


def alone_for_all(
    items: Sequence[Communication], rank: int, recorded: int, world_size: int
) -> list[Communication]:
    """Communications of rank 0 of `world_size`, as a template has them: others' are the same.

    Raises UnsupportedError for messages whose other ends are not the same from every rank.
    """
    made = [_moved(item, rank, 0, recorded, world_size) for item in items]
    for item in made:
        if len(item.ranks) == 1 < world_size:
            item.type = NodeType.COMP  # nobody to talk to: it lasts as long as recorded
    balance: Counter[tuple[object, ...]] = Counter()
    for item in made:
        if item.peer is None or item.type in (NodeType.COMM_COLL, NodeType.COMP):
            continue
        shift = item.ranks.index(item.peer) if item.peer in item.ranks else 0
        is_send = item.type is NodeType.COMM_SEND
        step = shift if is_send else -shift % len(item.ranks)
        balance[item.ranks, item.group, item.tag, step] += 1 if is_send else -1
    if any(balance.values()):
        raise UnsupportedError(
            f"rank {rank}: its messages have no counterpart if every rank sends and receives as "
            "it does (stages of a pipeline differ); give the traces of all ranks, or a prefix in "
            "place of a .yw, which keeps such messages as computations"
        )
    return made


def scaled(
    linked: Linked,
    items: Sequence[Communication],
    recorded: int,
    world_size: int,
    gathered: Gathered | None,
) -> tuple[list[Communication], list[str]]:
    """Items with sizes for `world_size` ranks, and what to say.

    `gathered` is for what the recording does not say; TraceError if needed and None.
    """
    if world_size == recorded:
        return list(items), []
    shapes = gradients(linked)
    shards = _known_shards(linked, items, recorded, Padding(shapes, recorded, recorded))
    open_ones = [item for item in items if _needs_word(item, recorded) and item.op not in shards]
    if open_ones and gathered is None:
        raise TraceError(_question(open_ones, recorded, world_size))
    padding = Padding(shapes, recorded, world_size)
    changed = with_padding = 0
    made = []
    for item in items:
        is_open = _needs_word(item, recorded) and item.op not in shards
        keeps_share = is_open and gathered == "copies"
        size = None if keeps_share else _with_padding(item, padding, recorded, world_size)
        with_padding += size is not None
        if size is None:
            size = _size(item, recorded, world_size, keep_share=keeps_share)
        changed += size != item.bytes
        made.append(structs.replace(item, bytes=size))
    told = [
        f"replicate: {count(changed, 'collective')} of all ranks scaled from {recorded} ranks to "
        f"{world_size}, so that what is sharded stays as large as a whole"
    ]
    if with_padding:
        told[0] += f"; {with_padding} of FSDP2 with its padding, by the shapes of gradients"
    return made, told if changed else []


def is_of_all(item: Communication, recorded: int) -> bool:
    is_collective = item.type is NodeType.COMM_COLL
    return is_collective and len(item.ranks or range(recorded)) == recorded


def _needs_word(item: Communication, recorded: int) -> bool:
    kinds = (*_GIVEN, CollectiveType.SCATTER)
    return is_of_all(item, recorded) and item.collective in kinds and bool(item.bytes)


def _size(item: Communication, recorded: int, world_size: int, *, keep_share: bool) -> int | None:
    if item.bytes is None or not is_of_all(item, recorded):
        return item.bytes
    if item.collective in _GIVEN and not keep_share:
        return -(-item.bytes * recorded // world_size)
    if item.collective is CollectiveType.SCATTER and keep_share:
        return item.bytes * world_size // recorded
    return item.bytes


def _with_padding(
    item: Communication, padding: Padding, recorded: int, world_size: int
) -> int | None:
    if not item.bytes or not is_of_all(item, recorded):
        return None
    if item.collective in _GIVEN:
        whole = padding.whole(item.bytes * recorded)
        return None if whole is None else whole // world_size
    if item.collective in _TAKEN and item.collective is not CollectiveType.SCATTER:
        return padding.whole(item.bytes)
    return None


def _known_shards(
    linked: Linked, items: Sequence[Communication], recorded: int, padding: Padding
) -> set[int]:
    wholes = {
        (item.bytes or 0)
        for item in items
        if is_of_all(item, recorded) and item.collective in _TAKEN
    }
    operators = by_id(linked.operators)
    given = {item.op for item in items if item.collective in _GIVEN}
    parents = {op.id: op.parent for op in linked.device_ops if op.id in given}
    found = set()
    for item in items:
        if item.collective not in _GIVEN or not item.bytes:
            continue
        whole = item.bytes * recorded
        if padding.whole(whole) is not None:
            found.add(item.op)
            continue
        at = parents.get(item.op)
        names = []
        for _ in range(_HIGHEST):
            operator = None if at is None else operators.get(at)
            if operator is None:
                break
            names.append(operator.name.lower())
            at = operator.parent
        inside = any(word in name for name in names for word in _SHARDING)
        if inside or not wholes.isdisjoint(_as_gradients(whole)):
            found.add(item.op)
    return found


def _as_gradients(whole: int) -> set[int]:
    return {whole, *(whole * wider for wider in _WIDER), *(whole // wider for wider in _WIDER)}


def _question(items: Sequence[Communication], recorded: int, world_size: int) -> str:
    sizes = sorted({item.bytes or 0 for item in items})
    shown = ", ".join(f"{size} B" for size in sizes[:4]) + (", ..." if len(sizes) > 4 else "")
    names = sorted({item.collective.name for item in items if item.collective is not None})
    return (
        f"replicate: {count(len(items), 'collective')} ({', '.join(names)}; {shown} a rank) gather "
        f"or scatter among all {recorded} ranks, and the recording does not tell what {world_size} "
        "ranks would: expected --gathered shards (each rank has a part of a whole that stays as "
        "large, as sharded parameters) or --gathered copies (each rank gives as much as it did)"
    )


def _moved(
    item: Communication, rank: int, other: int, recorded: int, world_size: int
) -> Communication:
    # The peer is the nearer way round; half-way a send goes forward, a receive back, as in a ring.
    members = item.ranks or tuple(range(recorded))
    everybody = len(members) == recorded
    group = _all(world_size) if everybody else _block(members, other, world_size)
    peer = item.peer
    if peer is not None and peer in members and rank in members:
        shift = (members.index(peer) - members.index(rank)) % len(members)
        back = 2 * shift - (item.type is NodeType.COMM_SEND) >= len(members)
        peer = group[(group.index(other) + shift - back * len(members)) % len(group)]
    return structs.replace(item, ranks=group, peer=peer)


@lru_cache(1)
def _all(world_size: int) -> tuple[int, ...]:
    return tuple(range(world_size))


@lru_cache(1 << 10)
def _block(members: tuple[int, ...], rank: int, world_size: int) -> tuple[int, ...]:
    size = len(members)
    stride = members[1] - members[0] if size > 1 else 1
    even = stride > 0 and all(
        member == members[0] + place * stride for place, member in enumerate(members)
    )
    span = stride * size
    if not even or world_size % span or members[0] % span >= stride:
        raise TraceError(
            f"replicate: the group {list(members)} cannot be repeated over {world_size} ranks: its "
            "copies must fill the job evenly; give the traces of all ranks instead"
        )
    first = rank // span * span + rank % stride
    return tuple(range(first, first + span, stride))
