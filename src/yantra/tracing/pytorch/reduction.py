"""Transitive reduction: drops dependencies implied by others.

Time and memory: nodes times chains, about the threads and streams.
"""

from __future__ import annotations

from collections.abc import Sequence


def reduced(deps: Sequence[Sequence[int]]) -> list[list[int]]:
    """Node i may depend only on nodes below i."""
    chain = [0] * len(deps)
    place = [0] * len(deps)
    tails: list[int] = []
    reach: list[dict[int, int] | None] = [None] * len(deps)
    readers = [0] * len(deps)
    for parents in deps:
        for parent in parents:
            readers[parent] += 1
    kept: list[list[int]] = []
    for node, given in enumerate(deps):
        parents = list(dict.fromkeys(given))
        kept.append(_needed(parents, chain, place, reach))
        mine = _reach_of(kept[node], reach)
        line = next((line for line, far in mine.items() if place[tails[line]] == far), len(tails))
        if line == len(tails):
            tails.append(node)
        else:
            place[node] = place[tails[line]] + 1
            tails[line] = node
        chain[node] = line
        mine[chain[node]] = place[node]
        reach[node] = mine
        for parent in given:
            readers[parent] -= 1
            if not readers[parent]:
                reach[parent] = None
    return kept


def _needed(
    parents: list[int], chain: list[int], place: list[int], reach: list[dict[int, int] | None]
) -> list[int]:
    if len(parents) < 2:
        return parents
    return [
        parent
        for parent in parents
        if not any(
            (reach[other] or {}).get(chain[parent], -1) >= place[parent]
            for other in parents
            if other != parent
        )
    ]


def _reach_of(parents: list[int], reach: list[dict[int, int] | None]) -> dict[int, int]:
    mine: dict[int, int] = {}
    for parent in parents:
        for line, far in (reach[parent] or {}).items():
            if far > mine.get(line, -1):
                mine[line] = far
    return mine
