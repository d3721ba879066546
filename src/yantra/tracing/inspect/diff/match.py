"""Matches records of two traces: by id, or by content and position.

`by_content` pairs what is left in steps from sure to less sure:

1. same content, ancestors and descendants; then same ancestors or descendants;
2. the longest sequences of equal contents, then of equal names and types, in the same order between
   found pairs (unique ones first, as in patience diff);
3. same content, then name and type, anywhere;
4. the rest of a stretch between pairs, if equally long.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence

from yantra.tracing.inspect.diff.side import Side

Match = list[int | None]
"""For each record of the first trace that of the second, or None."""


def by_id(a: Side, b: Side) -> Match:
    if len(a.place) == a.count and len(b.place) == b.count:
        place = b.place
        return [place.get(id) for id in a.ids]
    return _Matching(a, b).everywhere(a.ids, b.ids, even_only=False).match


def by_content(a: Side, b: Side) -> Match:
    matching = _Matching(a, b)
    ups, downs = ((_deep(side, True), _deep(side, False)) for side in (a, b))
    numbers = a.numbers
    both = [
        [numbers.of(("both", up, down)) for up, down in zip(*deep, strict=True)]
        for deep in (ups, downs)
    ]
    matching.everywhere(*both)
    matching.everywhere(ups[0], downs[0])
    matching.everywhere(ups[1], downs[1])
    contents = [[side.content(record) for record in range(side.count)] for side in (a, b)]
    kinds = [
        [
            numbers.of(("kind", side.field(record, "name"), side.types[record]))
            for record in range(side.count)
        ]
        for side in (a, b)
    ]
    matching.in_order(*contents)
    matching.in_order(*kinds)
    matching.everywhere(*contents, even_only=False)
    matching.everywhere(*kinds, even_only=False)
    matching.stretches()
    return matching.match


def longest_increasing(values: Sequence[int]) -> list[int]:
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for position, value in enumerate(values):
        pile = bisect_left(tops, value)
        before.append(at[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(value)
            at.append(position)
        else:
            tops[pile], at[pile] = value, position
    chain = []
    position = at[-1] if at else -1
    while position >= 0:
        chain.append(position)
        position = before[position]
    return chain[::-1]


class _Matching:
    def __init__(self, a: Side, b: Side) -> None:
        self.match: Match = [None] * a.count
        self.taken = [False] * b.count

    def pair(self, record: int, other: int) -> None:
        self.match[record] = other
        self.taken[other] = True

    def everywhere(
        self, keys: Sequence[int], others: Sequence[int], *, even_only: bool = True
    ) -> _Matching:
        """`even_only`: only keys that are equally frequent."""
        free: dict[int, list[int]] = defaultdict(list)
        for other, key in enumerate(others):
            if not self.taken[other]:
                free[key].append(other)
        mine: dict[int, list[int]] = defaultdict(list)
        for record, key in enumerate(keys):
            if self.match[record] is None:
                mine[key].append(record)
        for key, records in mine.items():
            if len(records) == len(free.get(key, ())) or not even_only:
                for record, other in zip(records, free.get(key, ()), strict=False):
                    self.pair(record, other)
        return self

    def in_order(self, keys: Sequence[int], others: Sequence[int]) -> None:
        for records, candidates in self._stretches():
            self._align(records, candidates, keys, others)

    def stretches(self) -> None:
        for records, candidates in self._stretches():
            if len(records) == len(candidates):
                for record, other in zip(records, candidates, strict=True):
                    self.pair(record, other)

    def _stretches(self) -> list[tuple[list[int], list[int]]]:
        paired = [record for record, other in enumerate(self.match) if other is not None]
        chain = longest_increasing([self.match[record] or 0 for record in paired])
        cuts = [(paired[at], self.match[paired[at]] or 0) for at in chain]
        cuts.append((len(self.match), len(self.taken)))
        found = []
        begin, other_begin = 0, 0
        for end, other_end in cuts:
            records = [at for at in range(begin, end) if self.match[at] is None]
            others = [at for at in range(other_begin, other_end) if not self.taken[at]]
            if records and others:
                found.append((records, others))
            begin, other_begin = end + 1, other_end + 1
        return found

    def _align(
        self,
        records: Sequence[int],
        candidates: Sequence[int],
        keys: Sequence[int],
        others: Sequence[int],
    ) -> None:
        begin = 0
        while begin < min(len(records), len(candidates)) and self._pair_if_equal(
            records[begin], candidates[begin], keys, others
        ):
            begin += 1
        end = 0
        while end < min(len(records), len(candidates)) - begin and self._pair_if_equal(
            records[-1 - end], candidates[-1 - end], keys, others
        ):
            end += 1
        mine = _occurrences(records[begin : len(records) - end], keys.__getitem__)
        theirs = _occurrences(candidates[begin : len(candidates) - end], others.__getitem__)
        common = [name for name in mine if name in theirs]
        for at in longest_increasing([theirs[name] for name in common]):
            self.pair(mine[common[at]], theirs[common[at]])

    def _pair_if_equal(
        self, record: int, other: int, keys: Sequence[int], others: Sequence[int]
    ) -> bool:
        if keys[record] != others[other]:
            return False
        self.pair(record, other)
        return True


def _occurrences(records: Sequence[int], key: Callable[[int], int]) -> dict[tuple[int, int], int]:
    seen: dict[int, int] = defaultdict(int)
    named = {}
    for record in records:
        number = key(record)
        named[number, seen[number]] = record
        seen[number] += 1
    return named


def _deep(side: Side, up: bool) -> list[int]:
    towards, away = (side.parents, side.children) if up else (side.children, side.parents)
    waiting = [len(before) for before in towards]
    ready = [record for record, count in enumerate(waiting) if not count]
    deep: list[int | None] = [None] * side.count
    numbers = side.numbers
    while ready:
        record = ready.pop()
        around = sorted(deep[before] or 0 for before in towards[record])
        deep[record] = numbers.of(("deep", up, side.content(record), tuple(around)))
        for after in away[record]:
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return [
        numbers.of(("cycle", side.content(record))) if number is None else number
        for record, number in enumerate(deep)
    ]
