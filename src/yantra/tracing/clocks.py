"""One clock for ranks whose clocks differ: members leave a collective together.

A rank's clock is true time plus an offset and, over long recordings, a drift. Offsets are medians
of ends of shared collectives, from rank to rank, then polished against the medians of each
collective (Tukey's median polish). Roots may leave early, so one-sided kinds do not count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from yantra.base.text import count
from yantra.base.units import format_time

ONE_SIDED = frozenset(("BROADCAST", "REDUCE", "GATHER", "SCATTER"))
AGREE_NS = 50_000
"""Clocks whose offsets are below this, or thrice the spread, agree."""

C = TypeVar("C")

_ROUNDS = 5
_FOR_DRIFT = 8  # collectives
_WORTH_NS = 10_000  # of drift over the recording
_FASTEST = 5e-4  # quartz is within 1e-4
_TOGETHER = 0.9  # of the ends are within the spread


class End(NamedTuple):
    """A rank's end of a collective; `key`: its group, kind and size, in the group's order."""

    group: str
    key: tuple[str, int]
    end_ns: int


class Clocks(NamedTuple):
    """How ranks' clocks stand to the first rank's.

    `how`: agree, estimated, or unknown, then clocks are taken as they are if `trusted`.
    `spread_ns`: within which nine tenths of the ends of a collective are. `collectives`: used.
    """

    offset_ns: list[float]
    drift: list[float]
    at_ns: int
    spread_ns: float
    collectives: int
    how: str

    def true_ns(self, place: int, clock_ns: Any) -> Any:
        """Times of rank number `place`'s clock on the common one, from `at_ns`.

        Not absolute, as a double has no nanoseconds of today's date.
        """
        since = clock_ns - self.at_ns
        if self.how != "estimated":
            return float(since)
        return since - (self.offset_ns[place] + self.drift[place] * since)

    def in_words(self) -> str:
        if self.how == "unknown":
            return "no collective says how the clocks of the ranks differ: skew is unknown"
        of = f"ranks leave each of {count(self.collectives, 'collective')} within "
        within = f"{of}{format_time(self.spread_ns)}"
        if self.how == "agree":
            return f"clocks agree: {within}"
        most = max(self.offset_ns) - min(self.offset_ns)
        return f"clocks are up to {format_time(most)} apart; corrected, {within}"


def on_one_clock(ends: Sequence[Sequence[End]]) -> Clocks:
    """Estimate offsets from the ends of collectives, in time order for each rank."""
    ranks = len(ends)
    same = Clocks([0.0] * ranks, [0.0] * ranks, 0, 0.0, 0, "unknown")
    rank, event, end_ns = _events(ends)
    if not len(rank):
        return same
    base = int(end_ns.min())
    ends_ns = (end_ns - base).astype(float)
    offset = _first_offsets(rank, event, ends_ns, ranks)
    if offset is None:
        return same
    for _ in range(_ROUNDS):
        middle = _medians(event, ends_ns - offset[rank])
        offset = _medians(rank, ends_ns - middle[event], ranks)
        offset -= offset[0]
    middle = _medians(event, ends_ns - offset[rank])
    left = ends_ns - middle[event] - offset[rank]
    drift = _drifts(rank, middle[event], left, ranks)
    middle_ns = float(np.median(middle))
    left = left - drift[rank] * (middle[event] - middle_ns)
    spread = float(np.quantile(np.abs(left), _TOGETHER)) * 2
    apart = float(offset.max() - offset.min())
    reach = float(np.abs(drift).max() * (ends_ns.max() - ends_ns.min()))
    agree = max(apart, reach) <= max(AGREE_NS, 3 * spread)
    return Clocks(
        [0.0] * ranks if agree else offset.tolist(),
        [0.0] * ranks if agree else drift.tolist(),
        base + int(middle_ns),
        spread + (apart if agree else 0.0),
        len(middle),
        "agree" if agree else "estimated",
    )


def _events(ends: Sequence[Sequence[End]]) -> tuple[Any, Any, Any]:
    """Rank, number of the collective and end, of those that several ranks have alike."""
    by_group: dict[str, dict[int, list[End]]] = defaultdict(dict)
    for rank, some in enumerate(ends):
        for one in some:
            by_group[one.group].setdefault(rank, []).append(one)
    rows = []
    number = 0
    for members in by_group.values():
        if len(members) < 2:
            continue
        for calls in shared(members, lambda end: end.key):
            if next(iter(calls.values())).key[0] in ONE_SIDED:
                continue
            rows += [(rank, number, end.end_ns) for rank, end in calls.items()]
            number += 1
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    return table[:, 0], table[:, 1], table[:, 2]


def shared(members: Mapping[int, Sequence[C]], key: Callable[[C], object]) -> list[dict[int, C]]:
    """Collectives of a group that all its ranks have, in order, of one `key`.

    Recordings begin at different collectives, so they are counted from the end.
    """
    found = []
    for back in range(min(map(len, members.values())), 0, -1):
        calls = {rank: some[-back] for rank, some in members.items()}
        if len(set(map(key, calls.values()))) == 1:
            found.append(calls)
    return found


def _first_offsets(rank: Any, event: Any, ends: Any, ranks: int) -> Any:
    """Offsets from rank to rank over shared collectives; None if not all are joined."""
    of_event: dict[int, list[int]] = defaultdict(list)
    of_rank: dict[int, list[int]] = defaultdict(list)
    for row, (one, at) in enumerate(zip(rank.tolist(), event.tolist(), strict=True)):
        of_event[at].append(row)
        of_rank[one].append(row)
    offset = np.zeros(ranks)
    known = {0}
    todo = [0]
    while todo:
        here = todo.pop(0)
        apart: dict[int, list[float]] = defaultdict(list)
        for row in of_rank[here]:
            for other in of_event[int(event[row])]:
                if int(rank[other]) not in known:
                    apart[int(rank[other])].append(float(ends[other] - ends[row]))
        for other, differences in apart.items():
            offset[other] = offset[here] + float(np.median(differences))
            known.add(other)
            todo.append(other)
    return offset if len(known) == ranks else None


def _medians(key: Any, values: Any, size: int | None = None) -> Any:
    count_ = int(key.max()) + 1 if size is None else size
    order = np.lexsort((values, key))
    keys, ordered = key[order], values[order]
    begin = np.searchsorted(keys, np.arange(count_))
    end = np.searchsorted(keys, np.arange(count_), side="right")
    found = np.zeros(count_)
    here = end > begin
    low = begin + (end - begin - 1) // 2
    high = begin + (end - begin) // 2
    found[here] = (ordered[low[here]] + ordered[high[here]]) / 2
    return found


def _drifts(rank: Any, at: Any, left: Any, ranks: int) -> Any:
    """Slopes of what is left, by thirds (Tukey's resistant line), where they exceed the noise."""
    drift = np.zeros(ranks)
    for one in range(ranks):
        here = rank == one
        if here.sum() < _FOR_DRIFT:
            continue
        x, y = at[here], left[here]
        order = np.argsort(x)
        third = len(x) // 3
        first, last = order[:third], order[-third:]
        span = float(np.median(x[last]) - np.median(x[first]))
        if span <= 0:
            continue
        slope = float(np.median(y[last]) - np.median(y[first])) / span
        noise = float(np.median(np.abs(y - slope * (x - np.median(x)))))
        if max(4 * noise, _WORTH_NS) < abs(slope) * span < _FASTEST * span:
            drift[one] = slope
    return drift - drift[0] if ranks else drift
