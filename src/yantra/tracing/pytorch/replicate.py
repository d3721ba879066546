"""One rank's communications, as every rank of the job would have them if all did the same (SPMD).

A group of some ranks stands for the blocks of the same shape that fill the world: ranks 0, 2 of 8
become 1, 3 and 4, 6 and 5, 7. A message to the next member of a group goes to the next of every
member. That is an assumption; pipeline stages, for one, do not do the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from yantra.base.errors import TraceError
from yantra.tracing.pytorch.communication import Communication


def replicated(
    items: Sequence[Communication], rank: int, recorded: int, world_size: int
) -> dict[int, list[Communication]]:
    """Return the communications of `world_size` ranks, from those of `rank` among `recorded`.

    A group of all recorded ranks becomes one of all ranks. Raises TraceError for another group
    whose ranks are not evenly spaced or whose copies do not fill the world.
    """
    return {
        other: [_moved(item, rank, other, recorded, world_size) for item in items]
        for other in range(world_size)
    }


def _moved(
    item: Communication, rank: int, other: int, recorded: int, world_size: int
) -> Communication:
    members = item.ranks or tuple(range(recorded))
    everybody = len(members) == recorded
    group = tuple(range(world_size)) if everybody else _block(members, other, world_size)
    peer = item.peer
    if peer is not None and peer in members and rank in members:
        shift = members.index(peer) - members.index(rank)
        peer = group[(group.index(other) + shift) % len(group)]
    return structs.replace(item, ranks=group, peer=peer)


def _block(members: tuple[int, ...], rank: int, world_size: int) -> tuple[int, ...]:
    """Return the group of `rank` in the partition of the world that `members` is part of."""
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
