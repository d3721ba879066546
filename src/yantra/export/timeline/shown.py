"""Which ranks a timeline shows, and their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.result import Result
from yantra.workloads.templates.expand import parse_ranks

MOST_SLICES = 4_000_000
"""Slices of a timeline: 300 MB of protobuf, near the limit of a browser."""


class Shown(NamedTuple):
    rank: int
    name: str


def choose(result: Result, wanted: str | Iterable[int] | None, where: str = "ranks") -> list[Shown]:
    """The ranks to show, ascending; by default all, of a folded run each class's lowest."""
    ranks = _ranks(result, wanted, where)
    slices = sum(len(result.model.graphs.of(rank)) for rank in ranks)
    if slices > MOST_SLICES:
        fitting = max(1, int(len(ranks) * MOST_SLICES / slices))
        raise ConfigError(
            where,
            f"{len(ranks)} ranks have {slices} slices, and a viewer holds about {MOST_SLICES}; "
            f"choose some {fitting} of them, such as {_example(ranks, fitting)}",
        )
    if not result.outcome.folded:
        return [Shown(rank, f"rank {rank}") for rank in ranks]
    class_of = result.outcome.class_of
    sizes = Counter(class_of)
    return [
        Shown(rank, f"rank {rank} (class {class_of[rank]}, {_count(sizes[class_of[rank]])})")
        for rank in ranks
    ]


def _ranks(result: Result, wanted: str | Iterable[int] | None, where: str) -> list[int]:
    total = result.model.ranks
    if wanted is None and result.outcome.folded:
        first: dict[int, int] = {}
        for rank, at in enumerate(result.outcome.class_of):
            first.setdefault(at, rank)
        return sorted(first.values())
    if wanted is None or wanted == "all":
        return list(range(total))
    if isinstance(wanted, str):
        return sorted(set(parse_ranks(wanted, total, where)))
    ranks = sorted(set(wanted))
    if not ranks or ranks[0] < 0 or ranks[-1] >= total:
        raise ConfigError(where, f"expected ranks from 0 to {total - 1}, got {ranks[:8]}")
    return ranks


def _example(ranks: list[int], number: int) -> str:
    return f"{ranks[0]}-{ranks[number - 1]}" if number > 1 else f"{ranks[0]}"


def _count(ranks: int) -> str:
    return "1 rank" if ranks == 1 else f"{ranks} ranks"
