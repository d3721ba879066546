"""Blocks that move between tiers of memory: accessed data comes into the fastest, and the least
recently used makes room.

Trade-off: blocks are simulated one by one, without prefetching.

Source: Mattson, Gecsei, Slutz and Traiger, IBM Systems Journal 9 (2), 1970.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.base.text import format_bytes

MOST_BLOCKS = 4_000_000
"""Accesses of blocks that are simulated: some seconds."""


class Touch(NamedTuple):
    data: int
    size_bytes: int
    is_store: bool


class Moved(NamedTuple):
    """Bytes that an access reads from each tier and writes into each."""

    read: list[int]
    written: list[int]


def blocks_of(size_bytes: int, granule: int) -> int:
    """How many blocks hold `size_bytes`."""
    return -(-size_bytes // granule)


def migrated(
    touches: Sequence[Touch], capacities: Sequence[int], granule: int, where: str = "granule"
) -> list[Moved]:
    """What each access moves; `capacities` are tiers' whole blocks, the fastest first.

    Raises ConfigError at `where` if there are too many blocks.
    """
    many = sum(blocks_of(one.size_bytes, granule) for one in touches)
    if many > MOST_BLOCKS:
        problem = f"a step accesses {many} blocks of {format_bytes(granule)}; expected at most"
        raise ConfigError(where, f"{problem} {MOST_BLOCKS}, so give a larger granule")
    tiers = _Tiers(capacities, granule)
    for one in touches:
        tiers.touch(one)
    return [tiers.touch(one) for one in touches]


class _Tiers:
    def __init__(self, capacities: Sequence[int], granule: int) -> None:
        self._capacities = capacities
        self._granule = granule
        # By tier, the least recently used first, with their bytes.
        self._blocks: list[dict[tuple[int, int], int]] = [{} for _ in capacities]
        self._tier_of: dict[tuple[int, int], int] = {}

    def touch(self, one: Touch) -> Moved:
        moved = Moved([0] * len(self._blocks), [0] * len(self._blocks))
        left = one.size_bytes
        for at in range(blocks_of(one.size_bytes, self._granule)):
            size = min(left, self._granule)
            left -= size
            self._touch((one.data, at), size, moved, is_store=one.is_store)
        return moved

    def _touch(self, block: tuple[int, int], size: int, moved: Moved, *, is_store: bool) -> None:
        tier = self._tier_of.get(block)
        held = size
        if tier is not None:
            held = max(size, self._blocks[tier].pop(block))
        if is_store:
            moved.written[0] += size
        elif not tier:
            moved.read[0] += size
        else:
            moved.read[tier] += held
            moved.written[0] += held
        self._put(block, held, 0)
        self._make_room(moved)

    def _put(self, block: tuple[int, int], size: int, tier: int) -> None:
        self._blocks[tier][block] = size
        self._tier_of[block] = tier

    def _make_room(self, moved: Moved) -> None:
        for tier, capacity in enumerate(self._capacities[:-1]):
            blocks = self._blocks[tier]
            if len(blocks) <= capacity:
                return
            oldest = next(iter(blocks))
            size = blocks.pop(oldest)
            moved.read[tier] += size
            moved.written[tier + 1] += size
            self._put(oldest, size, tier + 1)
