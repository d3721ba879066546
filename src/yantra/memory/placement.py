"""Which data is in which tier of memory: stated, or the hottest in the fastest.

Data without a stated tier is placed greedily by touches per byte, each byte in the fastest tier
with room, so data may be split. Trade-off: nothing moves during a job, as in `migration`.
"""

from __future__ import annotations

from collections.abc import Sequence

from yantra.base.errors import ConfigError, UnsupportedError, hint
from yantra.base.records import Record
from yantra.base.text import format_bytes


class Tier(Record):
    name: str
    capacity_bytes: int
    read_bytes_per_ns: float
    write_bytes_per_ns: float | None = None
    latency_ns: float = 0.0


class Data(Record):
    """A class of tensors: bytes, touches per step, and tier if stated."""

    name: str
    size_bytes: int
    touches: float = 1.0
    tier: str | None = None


Placement = tuple[tuple[int, ...], ...]
"""Bytes by piece of data, then by tier."""


def place(tiers: Sequence[Tier], data: Sequence[Data], where: str = "data") -> Placement:
    """Raises ConfigError at `where` for an unknown tier, UnsupportedError, with what needs how
    much, if it does not fit.
    """
    free = [tier.capacity_bytes for tier in tiers]
    placed = [[0] * len(tiers) for _ in data]
    names = [tier.name for tier in tiers]
    for at, one in enumerate(data):
        if one.tier is None:
            continue
        if one.tier not in names:
            problem = f"no tier is called '{one.tier}'{hint(one.tier, names)}"
            raise ConfigError(f"{where}[{at}].tier", problem)
        tier = names.index(one.tier)
        placed[at][tier] = one.size_bytes
        free[tier] -= one.size_bytes
        if free[tier] < 0:
            there = [other for other in data if other.tier == one.tier]
            raise does_not_fit(tiers[tier : tier + 1], there, where)
    fastest = sorted(range(len(tiers)), key=lambda tier: -tiers[tier].read_bytes_per_ns)
    for at in sorted(range(len(data)), key=lambda at: -data[at].touches):
        left = 0 if data[at].tier else data[at].size_bytes
        for tier in fastest:
            here = min(left, free[tier])
            placed[at][tier] += here
            free[tier] -= here
            left -= here
        if left:
            raise does_not_fit(tiers, data, where)
    return tuple(tuple(one) for one in placed)


def shares(tiers: Sequence[Tier], data: Sequence[Data], placement: Placement) -> list[float]:
    touched = [0.0] * len(tiers)
    for one, where in zip(data, placement, strict=True):
        for tier, size in enumerate(where):
            touched[tier] += one.touches * size
    whole = sum(touched)
    return [part / whole for part in touched]


def does_not_fit(tiers: Sequence[Tier], data: Sequence[Data], where: str) -> UnsupportedError:
    room = sum(tier.capacity_bytes for tier in tiers)
    need = sum(one.size_bytes for one in data)
    told = ", ".join(f"{one.name} {format_bytes(one.size_bytes)}" for one in data)
    held = " and ".join(f"{tier.name} {format_bytes(tier.capacity_bytes)}" for tier in tiers)
    return UnsupportedError(
        f"{where}: the tiers hold {format_bytes(room)} ({held}) and {format_bytes(need)} are to be "
        f"in them ({told}); add a tier, make one larger or place less"
    )
