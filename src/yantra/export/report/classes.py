"""Result -> classes of ranks: those with the same graph whose nodes ran at the same times."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from yantra.result import Result
from yantra.result.parts import NAMES as PARTS
from yantra.result.tables import breakdown, communication_ticks

_RUNS_SHOWN = 4


class RankClass(NamedTuple):
    """Ranks of equal graphs and times (ticks); `rank` is the lowest.

    `parts` are `yantra.result.tables.PARTS`, `first` is where nodes begin in the outcome's columns.
    """

    graph: int
    rank: int
    size: int
    label: str
    first: int
    nodes: int
    finish: int
    parts: tuple[int, ...]
    communication: int


class Classes(NamedTuple):
    """All classes by their lowest rank, and the class of every rank."""

    classes: list[RankClass]
    class_of: Any  # numpy array by rank


def find_classes(result: Result) -> Classes:
    places, members = _members(result)
    classes = [_class(result, ranks) for ranks in members]
    return Classes(classes, places)


def _members(result: Result) -> tuple[Any, list[Any]]:
    graphs, outcome = result.model.graphs, result.outcome
    known: dict[Any, int] = {}
    equal: dict[tuple[int, int], int] = {}
    places = np.zeros(result.model.ranks, dtype=np.int64)
    for rank, block in enumerate(zip(graphs.by_rank, outcome.first_node, strict=False)):
        if block not in equal:
            key = block if outcome.folded else _times(result, *block)
            equal[block] = known.setdefault(key, len(known))
        places[rank] = equal[block]
    order = np.argsort(places, kind="stable")
    begins = np.searchsorted(places[order], np.arange(len(known) + 1))
    return places, [order[begin:end] for begin, end in pairwise(begins)]


def _times(result: Result, graph: int, first: int) -> tuple[int, bytes]:
    past = first + len(result.model.graphs.distinct[graph])
    digest = blake2b(bytes(result.outcome.start[first:past]))
    digest.update(bytes(result.outcome.end[first:past]))
    return graph, digest.digest()


def _class(result: Result, ranks: Any) -> RankClass:
    model, outcome = result.model, result.outcome
    rank = int(ranks[0])
    graph = model.graphs.by_rank[rank]
    return RankClass(
        graph=graph,
        rank=rank,
        size=len(ranks),
        label=label_of(ranks),
        first=outcome.first_node[rank],
        nodes=len(model.graphs.distinct[graph]),
        finish=outcome.finish[rank],
        parts=breakdown(model, outcome, rank),
        communication=communication_ticks(model, outcome, rank),
    )


def label_of(ranks: Any) -> str:
    """Ascending ranks as `0-7, 16-23, ...`, only the first few."""
    runs = np.split(ranks, np.flatnonzero(np.diff(ranks) != 1) + 1)
    shown = [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs[:_RUNS_SHOWN]]
    return ", ".join(shown) + (", ..." if len(runs) > _RUNS_SHOWN else "")


def mean_parts(classes: list[RankClass]) -> list[float]:
    ranks = sum(one.size for one in classes)
    return [sum(one.parts[at] * one.size for one in classes) / ranks for at in range(len(PARTS))]
