"""Long tables -> the member `packed` of a result file, and back.

Rows come in parts: a part is what one rank has, or some ten thousand rows. Of each column the parts
that differ are written once (`pieces`), and which of them each part has (`of`). So ranks of one
class, and ranks that only did the same, cost a number each. A column whose numbers are names of a
rank's own (its number, its groups) has pieces of places, and in `names` what place 0, 1, ... means
for each part that has it.

Numbers are packed: differences of neighbours, as planes of bytes (native/export/planes.hpp),
deflated, in base64. Trade-off: no tool but a program reads that, in return for files a hundredth as
long; tables of up to `MOST_ROWS_IN_FULL` rows stay plain lists.

Pieces are made, written and forgotten one by one, so memory does not follow the length of a table.
"""

from __future__ import annotations

import json
import zlib
from array import array
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Any

from yantra import _core
from yantra.base.errors import ConfigError, expected_got, show
from yantra.result.columns import DTYPES, Coded, Gathered, Kind, Reals, Ticks, as_list, part_of
from yantra.result.table import Column, Table

MOST_ROWS_IN_FULL = 1_000
"""Tables of more rows are packed."""

_MOST_NUMBERS_IN_FULL = 16
_ROWS_OF_A_PART = 65_536
_LEVEL = 6
_LARGEST = 2**64

Numbers = list[int] | str


def numbers_form(numbers: Any) -> Numbers:
    """Return 64-bit whole numbers as JSON: a few as a list, many packed."""
    if len(numbers) <= _MOST_NUMBERS_IN_FULL:
        return list(numbers)
    planes = _core.to_planes(memoryview(numbers).cast("B").cast("Q"))
    return b64encode(zlib.compress(planes, _LEVEL)).decode("ascii")


def numbers_of(form: Any, where: str) -> array[int]:
    """Return the numbers of their form; `where` names it in errors."""
    if isinstance(form, list):
        for number in form:
            if type(number) is not int or not 0 <= number < _LARGEST:
                raise ConfigError(where, expected_got("whole numbers up to 2^64", number))
        return array("Q", form)
    try:
        planes = zlib.decompress(b64decode(form, validate=True))
        if len(planes) % 8:
            raise ValueError
    except (NotBase64, zlib.error, ValueError, TypeError):
        raise ConfigError(where, "damaged: not what packed numbers look like") from None
    numbers = array("Q")
    numbers.frombytes(_core.from_planes(planes))
    return numbers


# --- writing


def table_pieces(table: Table) -> Iterator[str]:
    """Yield the JSON text of a table, piece by piece."""
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
    """Return the rows at which the parts of a table begin, and the number of rows."""
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
    """Return by place what it means for each part that has it."""
    names = [array("Q") for _ in range(max(widths, default=0))]
    for part, width in enumerate(widths):
        if width:
            for slot, name in zip(names, meaning(part)[:width], strict=False):
                slot.append(name)
    return names


def _meaning_of_numbers(part: Any) -> str:
    """Return the member that says what the numbers of a column stand for."""
    if isinstance(part, Ticks):
        return f', "per_ns": {part.per_ns}'
    if isinstance(part, Reals):
        return ', "doubles": true'
    if isinstance(part, Coded):
        return f',\n          "values": {_text(list(part.texts))}'
    return ""


def _gathered(column: Any, begins: Sequence[int]) -> Gathered:
    """Return a column as stretches that begin there."""
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
    """Return a list as places in the list of its distinct values."""
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


# --- reading


def table_of(
    name: str, form: Mapping[str, Any], where: str, complete: frozenset[str] = frozenset()
) -> Table:
    """Return the table of its packed form; what is damaged is told when a column is asked for.

    Columns named in `complete` have a value in every row. Raises ConfigError, with a place that
    starts with `where`.
    """
    lengths = numbers_of(form["lengths"], f"{where}.lengths")
    if sum(lengths) != form["rows"]:
        problem = f"expected lengths that add up to its {form['rows']} rows"
        raise ConfigError(f"{where}.lengths", problem)
    begins = array("Q", accumulate(lengths, initial=0))

    def column(key: str, packed: Mapping[str, Any]) -> Column:
        at = f"{where}.columns.{key}"
        if packed["kind"] not in DTYPES:
            raise ConfigError(f"{at}.kind", expected_got(", ".join(DTYPES), packed["kind"]))
        return packed["kind"], lambda: _column_of(packed, begins, lengths, at, key in complete)

    columns = {key: column(key, packed) for key, packed in form["columns"].items()}
    return Table(name, form["rows"], columns)


def _column_of(
    form: Mapping[str, Any], begins: array[int], lengths: array[int], where: str, complete: bool
) -> Gathered:
    pieces = [numbers_of(piece, f"{where}.pieces[{at}]") for at, piece in enumerate(form["pieces"])]
    of = numbers_of(form["of"], f"{where}.of")
    if len(of) != len(lengths) or max(of, default=-1) >= len(pieces):
        raise ConfigError(f"{where}.of", "expected one of the pieces for each part of the table")
    if any(len(pieces[piece]) != length for piece, length in set(zip(of, lengths, strict=True))):
        raise ConfigError(f"{where}.pieces", "expected as many numbers as the table has rows")
    meaning, stand = None, pieces
    if "names" in form:
        widths = [max(piece, default=-1) + 1 for piece in pieces]
        stand = [numbers_of(slot, f"{where}.names[{at}]") for at, slot in enumerate(form["names"])]
        meaning = _meaning(stand, [widths[piece] for piece in of], f"{where}.names")
    highest = max((max(some, default=-1) for some in stand), default=-1)
    if "values" in form and highest >= len(form["values"]):
        raise ConfigError(f"{where}.values", "expected a value for each number of the pieces")
    wrap = _wrap(form, where)
    if complete and any(None in as_list(wrap(some)) for some in stand):
        raise ConfigError(where, "expected a value in every row")
    return Gathered(begins, lambda at: pieces[of[at]], wrap, alike=of, meaning=meaning)


def _meaning(
    names: list[array[int]], widths: list[int], where: str
) -> Callable[[int], Sequence[int]]:
    """Return what the places of a part mean; a place has a name in each part that is so wide."""
    if max(widths, default=0) > len(names):
        raise ConfigError(where, "expected a list for each place of the pieces")
    places = [
        array("Q", accumulate((width > slot for width in widths), initial=0))
        for slot in range(len(names))
    ]
    if any(len(slot) != at[-1] for slot, at in zip(names, places, strict=True)):
        raise ConfigError(where, "expected a name for each part that has the place")

    def meaning(part: int) -> list[int]:
        return [names[slot][places[slot][part]] for slot in range(widths[part])]

    return meaning


def _wrap(form: Mapping[str, Any], where: str) -> Callable[[array[int]], Any]:
    """Return what makes a part of numbers."""
    kind = form["kind"]
    if "values" in form:
        values = form["values"]
        for value in values:
            if type(value) not in _TYPES[kind]:
                raise ConfigError(f"{where}.values", f"{show(value)} is no value of kind {kind}")
        if kind == "text":
            return lambda some: Coded(some, values)
        return lambda some: [values[place] for place in some]
    if kind == "text":
        raise ConfigError(where, "values: missing; expected a list")
    if kind == "real" and "per_ns" in form:
        per_ns = form["per_ns"]
        if per_ns not in (1, 1000):
            raise ConfigError(f"{where}.per_ns", expected_got("1 or 1000", per_ns))
        return lambda some: Ticks(some, per_ns)
    if kind == "real" and form.get("doubles"):
        return Reals
    if kind == "real":
        raise ConfigError(where, "expected one of values, per_ns and doubles")
    return lambda some: some


_TYPES: Mapping[Kind, tuple[type, ...]] = {
    "whole": (int,),
    "id": (int,),
    "real": (int, float, type(None)),
    "text": (str,),
}
