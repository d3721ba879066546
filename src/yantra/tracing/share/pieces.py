"""A rank cut into pieces of its lanes, and where its calls meet them.

Each lane is cut at given times and where it meets a call; what is between two cuts is a piece. A
call needs the work before the mean place of what it stands for, and gives to the work after the
mean place where that was needed; calls that came one after the other keep as much work beside them
as they had together. Waiting of one lane for another becomes a dependency on its last piece, and a
delay for the rest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from msgspec import Struct, field

from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.obfuscate.keyed import Keyed
from yantra.tracing.share.calls import Call, Part, Rank, Times
from yantra.tracing.share.lanes import COMMUNICATION, DELAY, Amount, Lane, Work, disjoint

_COMPUTES = 128  # operations a byte from which a computation is bound by them
_PIECES = 512  # of a stream, beside those that calls cut
_SAME = 1e-4  # of a lane: nearer places are one
_COMMUNICATION = (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV)

LaneKey = tuple[str, int, int]
"""What it is (thread, stream, or the type of memory accesses), its number, its line."""


class Piece(Struct):
    """Work between two places of a lane, when it ran, and what it waits for."""

    lane: LaneKey
    first: float
    last: float
    begins: float
    ends: float
    amounts: list[Amount]
    delay: int = 0
    after: set[int] = field(default_factory=set)  # pieces, by number
    calls: set[int] = field(default_factory=set)


class Meeting(Struct):
    """Places, by lane, before which a call's work must be done, and from which it is needed."""

    needs: dict[LaneKey, float]
    gives: dict[LaneKey, float]
    after: set[int]


class Span(NamedTuple):
    """The places of a node on a lane: after what it comes, and before what."""

    need: float | None
    give: float | None
    part: Part


class Drawn:
    """The pieces of a rank, by lane in order, and its calls' meetings with them."""

    def __init__(
        self, rank: int, one: Rank, calls: Sequence[Call], cuts: list[float], keyed: Keyed
    ) -> None:
        self.rank = rank
        self.keyed = keyed
        self.columns, self.times = one
        self.calls = [call for call in calls if rank in call.nodes]
        self.lane_of, self.lanes = _lanes(self.columns, self.times)
        self.calls_of: dict[int, list[int]] = defaultdict(list)
        for number, call in enumerate(self.calls):
            for part in call.nodes[rank]:
                self.calls_of[part.node].append(number)
        self.place = self._places()
        self.meetings = self._meetings()
        self.pieces: list[Piece] = []
        self.of_lane: dict[LaneKey, list[int]] = {}
        self._cut(cuts)
        self._wait()

    def _places(self) -> dict[int, tuple[float, float]]:
        """Where each computation begins and ends on its lane."""
        order: dict[LaneKey, list[int]] = defaultdict(list)
        for at, key in self.lane_of.items():
            order[key].append(at)
        found = {}
        for key, nodes in order.items():
            nodes.sort(key=lambda at: (self.times.start[at], self.times.end[at], at))
            places = self.lanes[key].at
            for number, at in enumerate(nodes):
                found[at] = places[number], places[number + 1]
        return found

    def _meetings(self) -> list[Meeting]:
        found: list[Meeting] = []
        reached: dict[LaneKey, float] = defaultdict(float)
        latest: dict[str, Meeting] = {}  # of a group: the next is ready no earlier
        for number, call in enumerate(self.calls):
            parts = call.nodes[self.rank]
            spans: dict[LaneKey, list[Span]] = defaultdict(list)
            after = set()
            for part in parts:
                self._add(spans, part)
                for at in (part.node, *self.columns.parents(part.node)):
                    before = [other for other in self.calls_of.get(at, ()) if other < number]
                    after |= set(before[-1:])
            made = Meeting({}, {}, after)
            group = call.order[2]
            if call.type == NodeType.COMM_COLL:
                if group in latest:
                    made.needs |= latest[group].needs
                    made.after |= latest[group].after
                latest[group] = made
            for key, found_here in spans.items():
                need, give = poured(found_here)
                if need is not None:
                    reached[key] = made.needs[key] = max(need, reached[key])
                if give is not None:
                    made.gives[key] = max(give, made.needs.get(key, reached[key]))
            found.append(made)
        return found

    def _add(self, spans: dict[LaneKey, list[Span]], part: Part) -> None:
        own: dict[LaneKey, list[float | None]] = defaultdict(lambda: [None, None])
        for side, nodes in enumerate(
            (self.columns.parents(part.node), self.columns.children(part.node))
        ):
            for at in nodes:
                if at in self.place:
                    found = own[self.lane_of[at]]
                    place, known = self.place[at][1 - side], found[side]
                    best = min if side else max
                    found[side] = place if known is None else best(place, known)
        for key, (need, give) in own.items():
            spans[key].append(Span(need, give, part))

    def _cut(self, cuts: list[float]) -> None:
        base = {
            key: sorted({0.0, lane.length, *map(lane.place, cuts)})
            for key, lane in self.lanes.items()
        }
        met = self._waits(base)
        for one in self.meetings:
            for side in (one.needs, one.gives):
                for key, place in side.items():
                    met[key].add(place)
        for key, lane in self.lanes.items():
            distinct = _apart({*base[key]}, met[key], lane.length * _SAME)
            for one in self.meetings:
                for side in (one.needs, one.gives):
                    if key in side:
                        side[key] = _nearest(distinct, side[key])
            self.of_lane[key] = []
            for first, last in pairwise(self._by_chance(key, distinct)):
                amounts = lane.between(first, last)
                if amounts:
                    self.of_lane[key].append(len(self.pieces))
                    when = lane.begins(first), lane.ends(last)
                    self.pieces.append(Piece(key, first, last, *when, amounts))

    def _by_chance(self, key: LaneKey, places: list[float]) -> list[float]:
        """Places with more between them on a stream, so that pieces are as long in all jobs."""
        usual = self.lanes[key].length / _PIECES
        if key[0] != "stream" or not usual:
            return places
        found = places[:1]
        for at, (first, last) in enumerate(pairwise(places)):
            drawn = self.keyed.number("pieces", key, at) / (1 << 128)
            many = max(round((last - first) / usual * 2 ** (drawn - 0.5)), 1)
            each = [self.keyed.number("piece", key, at, n) / (1 << 128) for n in range(many)]
            ends = [*accumulate(4**one for one in each)]
            found += [first + (last - first) * end / ends[-1] for end in ends[:-1]]
            found.append(last)
        return found

    def _waits(self, base: Mapping[LaneKey, list[float]]) -> dict[LaneKey, set[float]]:
        """Where the longest wait of each part for another lane is: cuts of both lanes."""
        longest: dict[tuple[LaneKey, int], tuple[float, int]] = {}
        for at, (place, _) in self.place.items():
            key = self.lane_of[at]
            gap, others = self._gap(at, key)
            part = key, bisect_right(base[key], place)
            if others and gap > longest.get(part, (0.0, 0))[0]:
                longest[part] = gap, at
        met: dict[LaneKey, set[float]] = defaultdict(set)
        for (key, _), (_, at) in longest.items():
            met[key].add(self.place[at][0])
            for parent in self.columns.parents(at):
                other = self.lane_of.get(parent, key)
                if other != key:
                    met[other].add(self.place[parent][1])
        return met

    def before(self, key: LaneKey, place: float) -> int | None:
        """The last piece of a lane that ends by a place."""
        numbers = self.of_lane[key]
        at = bisect_left(numbers, True, key=lambda n: self.pieces[n].last > place)
        return numbers[at - 1] if at else None

    def _after(self, key: LaneKey, place: float) -> int | None:
        numbers = self.of_lane[key]
        at = bisect_left(numbers, place, key=lambda n: self.pieces[n].first)
        return numbers[at] if at < len(numbers) else None

    def _wait(self) -> None:
        for number, one in enumerate(self.meetings):
            for key, place in one.gives.items():
                piece = self._after(key, place)
                if piece is not None:
                    self.pieces[piece].calls.add(number)
        waits: dict[int, list[tuple[float, set[LaneKey]]]] = defaultdict(list)
        for at, (place, _) in sorted(self.place.items(), key=lambda item: item[1]):
            key = self.lane_of[at]
            gap, others = self._gap(at, key)
            if others or gap:
                last = self.before(key, place)
                numbers = self.of_lane[key]
                after = numbers[0] if last is None else last + 1
                if numbers and after <= numbers[-1]:
                    waits[after].append((gap, others))
        for number, found in waits.items():
            self._explain(number, found)

    def _gap(self, at: int, key: LaneKey) -> tuple[float, set[LaneKey]]:
        """How long a computation waited for another lane, and which lanes it depends on."""
        start, end = self.times
        free, latest, others, is_call = 0.0, 0.0, set(), False
        for parent in self.columns.parents(at):
            is_own = self.lane_of.get(parent) == key
            if parent in self.lane_of and not is_own:
                others.add(self.lane_of[parent])
            if is_own:
                free = max(free, end[parent])
            elif end[parent] > latest:
                latest, is_call = end[parent], parent not in self.lane_of
        lane = self.lanes[key]
        before = bisect_left(lane.works, start[at], key=lambda work: work.start) - 1
        free = max(free, lane.works[before].end if before >= 0 else 0.0)
        if is_call or latest <= free:
            return 0.0, others
        return max(start[at] - free, 0.0), others

    def _explain(self, number: int, found: Iterable[tuple[float, set[LaneKey]]]) -> None:
        piece = self.pieces[number]
        before = [n for n in self.of_lane[piece.lane] if n < number]
        free = self.pieces[before[-1]].ends if before else 0.0
        explained = free
        total = 0.0
        for gap, others in found:
            total += gap
            for other in others:
                numbers = self.of_lane[other]
                at = bisect_left(numbers, True, key=lambda n: self.pieces[n].ends > piece.begins)
                if at:
                    piece.after.add(numbers[at - 1])
                    explained = max(explained, self.pieces[numbers[at - 1]].ends)
        piece.delay = max(round(total - max(explained - free, 0.0)), 0)


def _lanes(columns: Columns, times: Times) -> tuple[dict[int, LaneKey], dict[LaneKey, Lane]]:
    nodes: dict[tuple[str, int], list[int]] = defaultdict(list)
    for at, type in enumerate(columns.type):
        if type not in _COMMUNICATION:
            nodes[_lane(columns, at)].append(at)
    operations = columns.integers("num_ops")
    exact = columns.integers("duration_ns")
    timed = any(columns.duration)
    lane_of: dict[int, LaneKey] = {}
    lanes: dict[LaneKey, Lane] = {}
    for (what, number), members in sorted(nodes.items()):
        lines = disjoint([(times.start[at], times.end[at]) for at in members])
        works: dict[LaneKey, list[Work]] = defaultdict(list)
        for at, line in zip(members, lines, strict=True):
            key = lane_of[at] = what, number, line
            done, moved = operations[at] or 0, columns.tensor_size[at] or 0
            kind = _staying(columns, at) or (0 if timed else _kind(done, moved))
            ns = exact[at]
            took = columns.duration[at] * 1000 if ns is None else ns
            works[key].append(Work(times.start[at], times.end[at], kind, took, done, moved))
        lanes |= {key: Lane(found) for key, found in works.items()}
    return lane_of, lanes


def _lane(columns: Columns, at: int) -> tuple[str, int]:
    type, extra = columns.type[at], columns.extra[at]
    if type in (NodeType.MEM_LOAD, NodeType.MEM_STORE):
        return "memory load" if type == NodeType.MEM_LOAD else "memory store", 0
    if columns.is_cpu[at] or type != NodeType.COMP:
        return "thread", extra.thread or 0
    return "stream", extra.stream or 0


def _staying(columns: Columns, at: int) -> int | None:
    extra = columns.extra[at]
    return DELAY if extra.is_delay else None if extra.communication is None else COMMUNICATION


def _kind(operations: int, moved: int) -> int:
    return int(operations >= _COMPUTES * moved)


def poured(spans: Sequence[Span]) -> tuple[float | None, float | None]:
    """Where the call that stands for all needs and gives: the means, or, where each ended before
    the next began or as it did, as much work beside it as beside all of them.
    """
    need = _mean([(span.need, span.part.of_call) for span in spans])
    give = _mean([(span.give, span.part.of_call) for span in spans])
    both = [(s.need, s.give, s.part) for s in spans if s.need is not None and s.give is not None]
    if need is None or give is None or len(both) < 2:
        return need, give
    usual = max(give - need, 0.0)
    apart = (both[-1][0] - both[0][0]) / (len(both) - 1)
    together = _union(
        [(first, first + (last - first) * part.of_node) for first, last, part in both]
    )
    weight = min(max(2 - usual / apart, 0.0), 1.0) if apart > 0 else 0.0
    beside = max(usual, usual + (together - usual) * weight)
    middle = (need + give) / 2
    return middle - beside / 2, middle + beside / 2


def _union(spans: Sequence[tuple[float, float]]) -> float:
    covered, until = 0.0, float("-inf")
    for first, last in sorted(spans):
        covered += max(last - max(first, until), 0.0)
        until = max(until, last)
    return covered


def _mean(places: Sequence[tuple[float | None, float]]) -> float | None:
    known = [(place, share) for place, share in places if place is not None]
    total = sum(share for _, share in known)
    return sum(place * share for place, share in known) / total if known else None


def _apart(places: set[float], met: set[float], least: float) -> list[float]:
    """Places in order, of which those nearer than `least` are one; meetings stay."""
    found: list[float] = []
    for place in sorted(places | met):
        if found and place - found[-1] <= least:
            if place in met and found[-1] not in met:
                found[-1] = place
            continue
        found.append(place)
    last = max(places)
    if found[-1] != last:
        found[-1:] = [last] if len(found) > 1 else [found[-1], last]
    found[0] = 0.0
    return found


def _nearest(places: Sequence[float], place: float) -> float:
    at = bisect_left(places, place)
    return min(places[max(at - 1, 0) : at + 1], key=lambda one: abs(one - place))
