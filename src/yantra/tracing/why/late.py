"""Who comes last to each collective, what the others lose, and where that began.

The last arriver and a usual one are followed back side by side, at each collective over to who came
last there. Where they part, their lateness is longer work of a rank, slower transfers of a group,
or a later begin. Each wait is blamed once, on the largest part, so blames add up to all waiting.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from yantra.tracing.clocks import ONE_SIDED, Clocks, on_one_clock, shared
from yantra.tracing.why.summary import Summary

BEGIN = "its recording begins later"
_DEEPEST = 64
_CALLS = 2


class Meeting(NamedTuple):
    """A collective of a group, on the common clock.

    `ranks`, `calls` (their numbers among the rank's), `came_ns`, `left_ns`: by member.
    """

    group: str
    order: int
    kind: str
    bytes: int
    kernel: str
    operator: str
    ranks: list[int]
    calls: list[int]
    came_ns: list[float]
    left_ns: list[float]
    step: int | None

    @property
    def last(self) -> int:
        """The place of the last arriver among the members."""
        return max(range(len(self.came_ns)), key=self.came_ns.__getitem__)

    @property
    def waited_ns(self) -> float:
        """What the others waited for the last, together."""
        end = max(self.came_ns)
        return sum(end - came for came in self.came_ns)

    @property
    def transfer_ns(self) -> float:
        """From the last arrival until the members leave, in the median."""
        return max(0.0, median(self.left_ns) - max(self.came_ns))

    @property
    def gathers(self) -> bool:
        """Whether all wait for all."""
        return self.kind not in ONE_SIDED

    @property
    def key(self) -> tuple[str, int, int, str]:
        """Meetings of the same kind, size, members and kernel take equally long."""
        return self.kind, self.bytes, len(self.ranks), self.kernel


class Blame(NamedTuple):
    """Waiting that a rank, or a group's transfers, caused.

    `what`: a part of PARTS, "begin" or "transfer". `since`: the first step, None without steps.
    """

    rank: int | None
    group: str
    what: str
    name: str
    waited_ns: float
    times: int
    since: int | None


def meetings(found: Sequence[Summary], clocks: Clocks) -> list[Meeting]:
    """Match the ranks' collectives, counted from the last of each group, by time."""
    by_group: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for place, one in enumerate(found):
        for number, call in enumerate(one.calls):
            by_group[call.group].setdefault(place, []).append(number)
    made = []
    for group, members in by_group.items():
        if len(members) >= _CALLS:
            made += _of_group(found, clocks, group, members)
    return sorted(made, key=lambda one: max(one.came_ns))


def _of_group(
    found: Sequence[Summary], clocks: Clocks, group: str, members: dict[int, list[int]]
) -> list[Meeting]:
    calls_of = {
        place: [(number, found[place].calls[number]) for number in numbers]
        for place, numbers in members.items()
    }
    made = []
    for calls in shared(calls_of, lambda one: (one[1].kind, one[1].bytes)):
        place, (_, first) = next(iter(calls.items()))
        made.append(
            Meeting(
                group,
                first.order,
                first.kind,
                first.bytes,
                first.kernel.split("(", 1)[0],
                first.operator,
                list(calls),
                [number for number, _ in calls.values()],
                [float(clocks.true_ns(at, call.start_ns)) for at, (_, call) in calls.items()],
                [float(clocks.true_ns(at, call.end_ns)) for at, (_, call) in calls.items()],
                found[place].step_of(first.start_ns),
            )
        )
    return made


def blames(found: Sequence[Summary], clocks: Clocks, made: Sequence[Meeting]) -> list[Blame]:
    """Blame all waiting; the most first."""
    walk = _Walk(found, clocks, made)
    sums: dict[tuple[int | None, str, str, str], list[tuple[Meeting, float]]] = defaultdict(list)
    for meeting in made:
        if meeting.gathers:
            sums[walk.cause(meeting)].append((meeting, meeting.waited_ns))
    rows = []
    for key, waits in sums.items():
        most = max(wait for _, wait in waits)
        steps = [meeting.step for meeting, wait in waits if wait >= most / 4]
        known = [step for step in steps if step is not None]
        total = sum(wait for _, wait in waits)
        rows.append(Blame(*key, total, len(waits), min(known, default=None)))
    return sorted(rows, key=lambda row: -row.waited_ns)


def late_ranks(found: Sequence[Summary]) -> dict[int, float]:
    """What each rank costs the others, in ns; empty without a common clock."""
    clocks = on_one_clock([one.ends() for one in found])
    made = meetings(found, clocks) if clocks.how != "unknown" else []
    costs: dict[int, float] = defaultdict(float)
    for row in blames(found, clocks, made):
        if row.rank is not None:
            costs[row.rank] += row.waited_ns
    return dict(costs)


class _Walk:
    """Follows the last arriver and a usual one back, side by side, to where they part."""

    def __init__(self, found: Sequence[Summary], clocks: Clocks, made: Sequence[Meeting]) -> None:
        self.found, self.clocks = found, clocks
        self._sorted: dict[tuple[int, tuple[str, int]], dict[tuple[str, str], list[int]]] = {}
        self.of_call = {
            (place, number): one
            for one in made
            for place, number in zip(one.ranks, one.calls, strict=True)
        }

    def cause(self, meeting: Meeting) -> tuple[int | None, str, str, str]:
        """What made the last arriver late: the largest part of its lateness."""
        late = _At(meeting, meeting.last)
        usual = _At(meeting, _usual(meeting))
        parts: dict[tuple[int | None, str], float] = defaultdict(float)
        longest: dict[int, tuple[float, _At, _At]] = {}
        for _ in range(_DEEPEST):
            (late_base, late_before), (usual_base, usual_before) = map(self._base, (late, usual))
            own = (late.came_ns - late_base) - (usual.came_ns - usual_base)
            parts[late.rank, ""] += own
            if own > longest.get(late.rank, (0.0,))[0]:
                longest[late.rank] = own, late, usual
            if late_before is None or usual_before is None or late_before is usual_before:
                break
            more = late_before.transfer_ns - usual_before.transfer_ns
            if late_before.key == usual_before.key:
                parts[None, late_before.group] += more
            late = _At(late_before, late_before.last)
            usual = _At(usual_before, usual_before.last)
        if late_before is None or usual_before is None:
            parts[late.rank, BEGIN] += late_base - usual_base
        (rank, name), _ = max(parts.items(), key=lambda part: part[1])
        if rank is None:
            return None, name, "transfer", late.meeting.kind
        if name == BEGIN:
            return self.found[rank].rank, "", "begin", BEGIN
        _, late, usual = longest.get(rank, (0.0, late, usual))
        return self.found[rank].rank, "", *self._work(late, usual)

    def _base(self, at: _At) -> tuple[float, Meeting | None]:
        """When a member left its collective before this, and which; else when it began."""
        for earlier in range(at.number - 1, -1, -1):
            before = self.of_call.get((at.rank, earlier))
            if before is not None and before.gathers:
                return before.left_ns[before.ranks.index(at.rank)], before
        return float(self.clocks.true_ns(at.rank, self.found[at.rank].begin_ns)), None

    def _work(self, late: _At, usual: _At) -> tuple[str, str]:
        """The work before a call that is longest beyond the others' of the same name."""
        mine = self.found[late.rank].before[late.number]
        values = self._alike(late.number, self.found[late.rank].calls.size(late.number))
        usual_work = self.found[usual.rank].before[usual.number]
        best, excess = ("idle", "nothing recorded"), 0.0
        for key, ns in mine.items():
            others = median_without(values[key], ns) if len(values[key]) > 1 else None
            more = ns - (usual_work.get(key, 0) if others is None else others)
            if more > excess:
                best, excess = key, more
        return best

    def _alike(self, number: int, size: tuple[str, int]) -> dict[tuple[str, str], list[int]]:
        """Sorted times of each work before calls of this number, kind and size, one a rank."""
        known = self._sorted.get((number, size))
        if known is None:
            some = [
                one.before[number]
                for one in self.found
                if number < len(one.calls) and one.calls.size(number) == size
            ]
            keys = {key for one in some for key in one}
            known = {key: sorted(one.get(key, 0) for one in some) for key in keys}
            if len(self._sorted) >= _DEEPEST:
                self._sorted.clear()
            self._sorted[number, size] = known
        return known


def median_without(values: Sequence[int], one: int) -> float:
    """The median of sorted values but one of them."""
    at, rest = bisect_left(values, one), len(values) - 1
    low, high = (values[place + (place >= at)] for place in ((rest - 1) // 2, rest // 2))
    return low if low == high else (low + high) / 2


class _At(NamedTuple):
    """A member of a meeting: its place there."""

    meeting: Meeting
    place: int

    @property
    def rank(self) -> int:
        return self.meeting.ranks[self.place]

    @property
    def number(self) -> int:
        return self.meeting.calls[self.place]

    @property
    def came_ns(self) -> float:
        return self.meeting.came_ns[self.place]


def _usual(meeting: Meeting) -> int:
    """The place of the median arriver; of two the first."""
    order = sorted(range(len(meeting.came_ns)), key=meeting.came_ns.__getitem__)
    return order[(len(order) - 1) // 2]
