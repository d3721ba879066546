"""Boxes of graphs made by hand, where the file does not say.

A switch that joins only ranks is in their box, named or not; one that leads elsewhere only if the
file says so.

Trade-off: a switch of all ranks says nothing; of nested sets the smallest is the box, otherwise
there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from yantra.fabric.graphs.graph import NO_BOX

_Boxes = NDArray[np.int32]


def with_own_switches(
    ranks: int, start: NDArray[np.uint32], end: NDArray[np.uint32], boxes: _Boxes
) -> _Boxes:
    """Devices below `ranks` are ranks, `start` and `end` are links' ends, `boxes` the file's, by
    device. Named boxes gain switches, and no others are made.
    """
    joined = _own_switches(ranks, start, end)
    made = boxes.copy()
    if (boxes != NO_BOX).any():
        for switch, members in joined.items():
            of_members = {int(boxes[rank]) for rank in members}
            if made[switch] == NO_BOX and len(of_members) == 1:
                made[switch] = of_members.pop()
        return made
    housings = _housings(ranks, list(joined.values()))
    for number, members in enumerate(housings):
        made[list(members)] = number
        made[[switch for switch, own in joined.items() if own == members]] = number
    return made


def parted(
    ranks: int, start: NDArray[np.uint32], end: NDArray[np.uint32], boxes: _Boxes
) -> tuple[int, int, int] | None:
    """Return a box and two of its ranks that no inner links join, or None."""
    inside = (boxes[start] == boxes[end]) & (boxes[start] != NO_BOX)
    group = np.arange(len(boxes))
    ends = np.stack((start[inside], end[inside])).astype(np.int64)
    while True:  # the least number among neighbours
        least = group.copy()
        np.minimum.at(least, ends[0], group[ends[1]])
        np.minimum.at(least, ends[1], group[ends[0]])
        if (least == group).all():
            break
        group = least
    first: dict[int, int] = {}
    for rank in range(ranks):
        if boxes[rank] != NO_BOX:
            one = first.setdefault(int(boxes[rank]), rank)
            if group[one] != group[rank]:
                return int(boxes[rank]), one, rank
    return None


def _own_switches(
    ranks: int, start: NDArray[np.uint32], end: NDArray[np.uint32]
) -> Mapping[int, frozenset[int]]:
    found: dict[int, set[int]] = {}
    leads_on: set[int] = set()
    for one, other in ((start, end), (end, start)):
        of_switch = one >= ranks
        leads_on.update(one[of_switch & (other >= ranks)].tolist())
        to_rank = of_switch & (other < ranks)
        for switch, rank in zip(one[to_rank].tolist(), other[to_rank].tolist(), strict=True):
            found.setdefault(switch, set()).add(rank)
    return {
        switch: frozenset(members)
        for switch, members in found.items()
        if switch not in leads_on and len(members) > 1
    }


def _housings(ranks: int, sets: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    each = [one for one in dict.fromkeys(sets) if len(one) < ranks]
    of_rank: dict[int, list[frozenset[int]]] = {}
    for one in each:
        for rank in one:
            of_rank.setdefault(rank, []).append(one)
    return [one for one in each if all(one <= other for rank in one for other in of_rank[rank])]
