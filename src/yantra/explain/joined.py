"""Comparisons of several results with one, joined side by side."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Row = Mapping[str, Any]
Data = Mapping[str, Any]


class Joined(NamedTuple):
    """A part: its time in each result, and changes against the first.

    `rows` are of each comparison; None where nothing changed.
    """

    times: list[float]
    changes: list[float]
    rows: list[Row | None]

    @property
    def known(self) -> Row:
        return next(row for row in self.rows if row is not None)

    def counts(self) -> list[float]:
        first = self.known["a_per_rank"]
        return [first, *(first if row is None else row["b_per_rank"] for row in self.rows)]


def joined(
    pairs: Sequence[Data],
    rows_of: Callable[[Data], Iterable[Row]],
    key_of: Callable[[Row], Hashable],
) -> list[Joined]:
    """A row that a comparison lacks did not change there."""
    found: dict[Hashable, list[Row | None]] = {}
    for at, data in enumerate(pairs):
        for row in rows_of(data):
            found.setdefault(key_of(row), [None] * len(pairs))[at] = row
    made = [_of(rows) for rows in found.values()]
    return sorted(made, key=lambda one: -max(map(abs, one.changes)))


def _of(rows: list[Row | None]) -> Joined:
    first = next(row["a_ns"] for row in rows if row is not None)
    times = [first, *(first if row is None else row["b_ns"] for row in rows)]
    return Joined(times, [0.0 if row is None else row["change_ns"] for row in rows], rows)


def values(pairs: Sequence[Data], member: str, key: str) -> list[list[Any]]:
    """Each key of a list of `a` and `b`, the first value and the others."""
    found: dict[Any, list[Row | None]] = {}
    for at, data in enumerate(pairs):
        for row in data[member]:
            found.setdefault(row[key], [None] * len(pairs))[at] = row
    return [[name, *_values(rows)] for name, rows in found.items()]


def _values(rows: list[Row | None]) -> list[Any]:
    first = next(row["a"] for row in rows if row is not None)
    return [first, *(first if row is None else row["b"] for row in rows)]
