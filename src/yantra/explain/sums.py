"""Exact sums over the tables of a result, in whole picoseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from yantra.result import Table
from yantra.result.alike import Alike, alike
from yantra.result.parts import NAMES as PARTS
from yantra.result.path import ps_of

Key = tuple[Any, ...]


class _Sum(NamedTuple):
    ps: int
    rows: int
    at: tuple[int, int]  # part and row of the key's first occurrence


def sums_of_ranks(table: Table, makespan_ns: float) -> dict[str, int]:
    sums = {
        part: _total(table.values(f"{part}_ns")) for part in PARTS if f"{part}_ns" in table.columns
    }
    sums["finished"] = ps_of(makespan_ns) * len(table) - _total(table.values("finish_ns"))
    return sums


def _total(times: Iterable[float]) -> int:
    return sum(ps_of(ns) * count for ns, count in Counter(times).items())


def time_by(table: Table, keys: Sequence[str]) -> dict[Key, tuple[int, int]]:
    """A key is a row's values in some columns; rows that never ran do not count."""
    sums: dict[Key, _Sum] = {}
    for rows in alike(table, [*keys, "start_ns", "end_ns"]):
        for key, sum_ in _named(rows, keys):
            known = sums.get(key)
            if known is not None:
                at = min(known.at, sum_.at)
                sum_ = _Sum(known.ps + sum_.ps, known.rows + sum_.rows, at)
            sums[key] = sum_
    ordered = sorted(sums.items(), key=lambda item: item[1].at)
    return {key: (sum_.ps, sum_.rows) for key, sum_ in ordered}


def _named(rows: Alike, keys: Sequence[str]) -> Iterator[tuple[Key, _Sum]]:
    named = [at for at, key in enumerate(keys) if key in rows.uses]
    assert len(named) < 2, "one column at most is named by rank"
    for key, (ps, count, row) in _within(rows.columns).items():
        if not named:
            yield key, _Sum(ps * rows.times, count * rows.times, (rows.first, row))
            continue
        at = named[0]
        for use in rows.uses[keys[at]][key[at]]:
            called = (*key[:at], use.value, *key[at + 1 :])
            yield called, _Sum(ps * use.times, count * use.times, (use.first, row))


def _within(columns: list[list[Any]]) -> dict[Key, list[int]]:
    *keys, starts, ends = columns
    found: dict[Key, list[int]] = {}
    for row, (key, start, end) in enumerate(
        zip(zip(*keys, strict=True), starts, ends, strict=True)
    ):
        if start is None or end is None:
            continue
        sums = found.setdefault(key, [0, 0, row])
        sums[0] += ps_of(end) - ps_of(start)
        sums[1] += 1
    return found
