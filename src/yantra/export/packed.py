"""Long tables -> the member `packed` of a result file; `unpacked.py` reads it.

Rows come in parts: one rank's, or some ten thousand. A column's distinct parts are written once
(`pieces`), with each part's piece (`of`), so equal ranks cost a number each. A rank's own names
(its number, its groups) become places, whose meanings are in `names`.

Numbers are differences of neighbours, as planes of bytes (native/export/planes.hpp), deflated, in
base64. Trade-off: readable only by programs, for files a hundredth as long; up to
`MOST_ROWS_IN_FULL` rows stay plain lists.
"""

from __future__ import annotations

import json
import zlib
from array import array
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from yantra import _core
from yantra.result.columns import Coded, Gathered, Kind, Reals, Ticks, part_of
from yantra.result.table import Table

MOST_ROWS_IN_FULL = 1_000
"""Longer tables are packed."""

_MOST_NUMBERS_IN_FULL = 16
_ROWS_OF_A_PART = 65_536
_LEVEL = 6
_LARGEST = 2**64

Numbers = list[int] | str


def numbers_form(numbers: Any) -> Numbers:
    """64-bit whole numbers as JSON: a few as a list, many packed."""
    if len(numbers) <= _MOST_NUMBERS_IN_FULL:
        return list(numbers)
    planes = _core.to_planes(memoryview(numbers).cast("B").cast("Q"))
    return b64encode(zlib.compress(planes, _LEVEL)).decode("ascii")


def table_pieces(table: Table) -> Iterator[str]:
    columns = {name: table.column(name) for name in table.columns}
    begins = _begins(list(columns.values()), len(table))
    lengths = array("Q", map(int.__sub__, begins[1:], begins))
    yield f'{{\n      "rows": {len(table)},\n      "lengths": {_text(numbers_form(lengths))},'
    yield '\n      "columns": {'
    for at, (name, column) in enumerate(columns.items()):
        yield f"{',' if at else ''}\n        {_text(name)}: "
        yield from _column_pieces(column, begins, table.kind(name))
    yield "\n      }\n    }"


def _begins(columns: list[Any], rows: int) -> Sequence[int]:
    for column in columns:
        if isinstance(column, Gathered):
            return column.begins
    return array("Q", [*range(0, rows, _ROWS_OF_A_PART), rows])


def _column_pieces(column: Any, begins: Sequence[int], kind: Kind) -> Iterator[str]:
    gathered = _gathered(column, begins)
    yield f'{{"kind": "{kind}", "pieces": ['
    of = array("Q")
    by_key: dict[int, int] = {}
    by_content: dict[bytes, int] = {}
    widths: list[int] = []
    for part, key in enumerate(gathered.alike):
        if key not in by_key:
            numbers = gathered.stretch(part)
            content = blake2b(numbers, digest_size=16).digest()
            by_key[key] = by_content.setdefault(content, len(by_content))
            if by_key[key] == len(widths):
                widths.append(max(numbers, default=-1) + 1 if gathered.meaning else 0)
                yield ("," if len(widths) > 1 else "") + "\n          "
                yield _text(numbers_form(numbers))
        of.append(by_key[key])
    yield f'],\n          "of": {_text(numbers_form(of))}'
    if gathered.meaning is not None:
        names = _names(gathered.meaning, [widths[piece] for piece in of])
        yield f', "names": {_text([numbers_form(slot) for slot in names])}'
    yield _meaning_of_numbers(gathered.wrap(array("Q"))) + "}"


def _names(meaning: Callable[[int], Sequence[int]], widths: list[int]) -> list[array[int]]:
    names = [array("Q") for _ in range(max(widths, default=0))]
    for part, width in enumerate(widths):
        if width:
            for slot, name in zip(names, meaning(part)[:width], strict=False):
                slot.append(name)
    return names


def _meaning_of_numbers(part: Any) -> str:
    if isinstance(part, Ticks):
        return f', "per_ns": {part.per_ns}'
    if isinstance(part, Reals):
        return ', "doubles": true'
    if isinstance(part, Coded):
        return f',\n          "values": {_text(list(part.texts))}'
    return ""


def _gathered(column: Any, begins: Sequence[int]) -> Gathered:
    if isinstance(column, Gathered) and column.begins == begins:
        return column
    if isinstance(column, list):
        return _of_list(column, begins)

    def numbers(at: int) -> Any:
        part = part_of(column, begins[at], begins[at + 1])
        return _values_of(part)

    empty: Any = part_of(column, 0, 0)

    def wrap(some: array[int]) -> Any:
        return some if isinstance(empty, array) else empty._replace(**{_FIELD[type(empty)]: some})

    return Gathered(begins, numbers, wrap)


_FIELD = {Ticks: "values", Coded: "codes", Reals: "bits"}


def _values_of(part: Any) -> Any:
    return getattr(part, _FIELD[type(part)]) if type(part) in _FIELD else part


def _of_list(values: list[Any], begins: Sequence[int]) -> Gathered:
    places: dict[tuple[type, Any], int] = {}
    codes = array("Q", [places.setdefault((type(v), v), len(places)) for v in values])
    distinct = [value for _, value in places]
    return Gathered(
        begins,
        lambda at: memoryview(codes)[begins[at] : begins[at + 1]],
        lambda some: Coded(some, distinct),
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
