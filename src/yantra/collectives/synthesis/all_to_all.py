"""The cut bound of an all-to-all: what pairs across a cut send, over what the cut lets out.

Source: Leighton and Rao, JACM 46 (1999), for the sparsest cut.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from yantra.collectives.synthesis.least_cuts import Link, exit_of, least_cut

MOST_TRIED = 16
"""The largest fabric, in devices, with all cuts tried."""

_Set = frozenset[int]


def worst_cut(ranks: int, devices: int, links: Sequence[Link]) -> tuple[Fraction, _Set]:
    sets = (
        _all_sets(ranks, devices, links)
        if devices <= MOST_TRIED
        else (*_nearest(ranks, devices, links), *_slices(ranks, devices, links))
    )
    return max(_with_exit(ranks, links, sets), key=lambda one: one[0])


def _with_exit(
    ranks: int, links: Sequence[Link], sets: Iterable[_Set]
) -> Iterator[tuple[Fraction, _Set]]:
    for inside in sets:
        here = sum(device < ranks for device in inside)
        yield Fraction(here * (ranks - here), exit_of(links, inside)), inside


def _all_sets(ranks: int, devices: int, links: Sequence[Link]) -> list[_Set]:
    numbers = np.arange(1 << devices, dtype=np.uint32)
    exits = np.zeros(len(numbers))
    for start, end, rate in links:
        exits += float(rate) * ((numbers >> start & 1) & ~(numbers >> end) & 1)
    here = np.zeros(len(numbers))
    for rank in range(ranks):
        here += numbers >> rank & 1
    pairs = here * (ranks - here)
    sparsity = np.divide(pairs, exits, out=np.zeros_like(pairs), where=exits > 0)
    worst = np.flatnonzero(sparsity >= sparsity.max() * (1 - 1e-12))[:64]
    return [_members(int(number), devices) for number in worst]


def _members(number: int, devices: int) -> _Set:
    return frozenset(device for device in range(devices) if number >> device & 1)


def _nearest(ranks: int, devices: int, links: Sequence[Link]) -> Iterator[_Set]:
    start = np.array([one for one, _, _ in links])
    end = np.array([one for _, one, _ in links])
    rates = np.array([float(rate) for *_, rate in links])
    for tail, head, goes_out in ((start, end, True), (end, start, False)):
        after: list[list[int]] = [[] for _ in range(devices)]
        for one, other in zip(tail.tolist(), head.tolist(), strict=True):
            after[one].append(other)
        for device in range(devices):
            order = _by_distance(device, after)
            size = _worst_prefix(ranks, order, tail, head, rates)
            if size:
                near = frozenset(order[:size])
                yield near if goes_out else frozenset(range(devices)) - near


def _by_distance(device: int, after: list[list[int]]) -> list[int]:
    order, seen, waiting = [], {device}, deque([device])
    while waiting:
        at = waiting.popleft()
        order.append(at)
        for other in after[at]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return order


def _worst_prefix(
    ranks: int,
    order: list[int],
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    rates: NDArray[np.float64],
) -> int:
    place = np.full(int(max(tail.max(), head.max())) + 1, len(order))
    place[order] = np.arange(len(order))
    first, last = place[tail], place[head]
    leaves = first < last
    change = np.zeros(len(order) + 2)
    np.add.at(change, first[leaves] + 1, rates[leaves])
    np.add.at(change, last[leaves] + 1, -rates[leaves])
    exits = np.cumsum(change)[1 : len(order)]
    here = np.cumsum(np.array(order) < ranks)[: len(order) - 1]
    pairs = here * (ranks - here)
    if not len(pairs) or not pairs.any():
        return 0
    # Rounding errors around 0 are no way out.
    floor = rates.min() / 2
    return int(np.argmax(np.where(exits > floor, pairs / np.maximum(exits, floor), 0))) + 1


def _slices(ranks: int, devices: int, links: Sequence[Link]) -> Iterator[_Set]:
    unlimited = sum(rate for *_, rate in links) + 1
    chosen = {
        tuple(rank for rank in range(ranks) if rank // stride % count < slices)
        for stride in _divisors(ranks)
        for count in _divisors(ranks // stride)
        for slices in (1, count // 2)
        if count > 1
    }
    for inside in chosen:
        here = frozenset(inside)
        arcs = [
            (devices, rank, unlimited) if rank in here else (rank, devices + 1, unlimited)
            for rank in range(ranks)
        ]
        for ways in (links, [(end, start, rate) for start, end, rate in links]):
            cut = least_cut(devices + 2, [*ways, *arcs], devices, [devices + 1])
            side = cut.inside - {devices}
            yield side if ways is links else frozenset(range(devices)) - side


def _divisors(number: int) -> list[int]:
    return [part for part in range(1, number + 1) if not number % part]
