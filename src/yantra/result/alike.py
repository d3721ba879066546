"""The distinct rows of a table and how often they occur, so that sums over ranks cost as much as
the classes.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from yantra.result.columns import Gathered, as_list
from yantra.result.table import Table


class Use(NamedTuple):
    """A place of a column means `value` in `times` parts, first in `first`."""

    value: Any
    times: int
    first: int


class Alike(NamedTuple):
    """Rows that occur `times` times, first in part `first` of the table."""

    times: int
    first: int
    columns: list[list[Any]]
    uses: dict[str, list[list[Use]]]


def alike(table: Table, columns: Sequence[str]) -> Iterator[Alike]:
    made = [table.column(column) for column in columns]
    shared = [column for column in made if isinstance(column, Gathered)]
    begins: Sequence[int] = shared[0].begins if shared else []
    if len(shared) < len(made) or any(column.begins != begins for column in shared):
        for at, parts in enumerate(table.parts(columns)):
            yield Alike(1, at, [as_list(part) for part in parts], {})
        return
    keys = _keys(shared)
    times = Counter(keys)
    first = _first_of(keys, range(len(keys)))
    named = any(column.meaning is not None for column in shared)
    same = _by_key(keys) if named else {}
    for key, count in times.items():
        at = first[key]
        if begins[at + 1] > begins[at]:
            found = dict(zip(columns, shared, strict=True))
            yield _alike(found, count, at, same.get(key, ()))


def _keys(columns: list[Gathered]) -> Sequence[Any]:
    distinct: list[Sequence[int]] = []
    for column in columns:
        if column.alike not in distinct:
            distinct.append(column.alike)
    return distinct[0] if len(distinct) == 1 else list(zip(*distinct, strict=True))


def _first_of(keys: Sequence[Any], places: Sequence[int]) -> dict[Any, int]:
    return dict(zip(reversed(keys), reversed(places), strict=True))


def _by_key(keys: Sequence[Any]) -> dict[Any, list[int]]:
    places: dict[Any, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return places


def _alike(columns: dict[str, Gathered], times: int, first: int, parts: Sequence[int]) -> Alike:
    values: list[list[Any]] = []
    uses: dict[str, list[list[Use]]] = {}
    for name, column in columns.items():
        if column.meaning is None:
            start, stop = column.begins[first : first + 2]
            values.append(as_list(column.part(start, stop)))
        else:
            places = memoryview(column.stretch(first)).tolist()
            values.append(places)
            uses[name] = _uses(column, max(places, default=-1) + 1, parts)
    return Alike(times, first, values, uses)


def _uses(column: Gathered, width: int, parts: Sequence[int]) -> list[list[Use]]:
    assert column.meaning is not None
    meanings = [column.meaning(part)[:width] for part in parts]
    return [_used(column, numbers, parts) for numbers in zip(*meanings, strict=True)]


def _used(column: Gathered, numbers: Sequence[int], parts: Sequence[int]) -> list[Use]:
    counts = Counter(numbers)
    first = _first_of(numbers, parts)
    values = as_list(column.wrap(array("Q", counts)))
    return [
        Use(value, times, first[number])
        for value, (number, times) in zip(values, counts.items(), strict=True)
    ]
