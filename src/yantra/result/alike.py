"""The rows of a table, those that are alike once, and how often they occur.

Ranks of one class have equal rows. What is summed over all ranks needs each such stretch of rows
once, so that its cost follows the classes and not the ranks.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from yantra.result.columns import Gathered, as_list
from yantra.result.table import Table


class Use(NamedTuple):
    """That a place of a column means `value` in `times` of the parts, first in `first`."""

    value: Any
    times: int
    first: int


class Alike(NamedTuple):
    """Rows that occur `times` times, first in part `first` of the table.

    `columns` are the values of each column. Where those differ from rank to rank by name alone,
    they are places, and `uses` has by column and place what that means, and how often.
    """

    times: int
    first: int
    columns: list[list[Any]]
    uses: dict[str, list[list[Use]]]


def alike(table: Table, columns: Sequence[str]) -> Iterator[Alike]:
    """Yield the rows of some columns, in the order in which they first occur."""
    made = [table.column(column) for column in columns]
    shared = [column for column in made if isinstance(column, Gathered)]
    begins: Sequence[int] = shared[0].begins if shared else []
    if len(shared) < len(made) or any(column.begins != begins for column in shared):
        for at, parts in enumerate(table.parts(columns)):
            yield Alike(1, at, [as_list(part) for part in parts], {})
        return
    places: dict[tuple[int, ...], list[int]] = {}
    for place, key in enumerate(zip(*(column.alike for column in shared), strict=True)):
        places.setdefault(key, []).append(place)
    for same in places.values():
        if begins[same[0] + 1] > begins[same[0]]:
            yield _alike(dict(zip(columns, shared, strict=True)), same)


def _alike(columns: dict[str, Gathered], parts: list[int]) -> Alike:
    first = parts[0]
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
    return Alike(len(parts), first, values, uses)


def _uses(column: Gathered, width: int, parts: list[int]) -> list[list[Use]]:
    """Return by place what it means in some parts."""
    assert column.meaning is not None
    counts: list[dict[int, list[int]]] = [{} for _ in range(width)]
    for part in parts:
        for found, number in zip(counts, column.meaning(part), strict=False):
            if number in found:
                found[number][0] += 1
            else:
                found[number] = [1, part]
    return [_texts_of(column, found) for found in counts]


def _texts_of(column: Gathered, found: dict[int, list[int]]) -> list[Use]:
    values = as_list(column.wrap(array("Q", found)))
    counted = zip(values, found.values(), strict=True)
    return [Use(value, times, first) for value, (times, first) in counted]
