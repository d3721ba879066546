"""The member `packed` of a result file -> tables; see `packed.py`."""

from __future__ import annotations

from array import array
from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from yantra import _core
from yantra.base.errors import ConfigError, expected_got, show
from yantra.base.unpacking import unpack_numbers
from yantra.result.columns import DTYPES, Coded, Gathered, Kind, Reals, Ticks, as_list
from yantra.result.table import Column, Table

_LARGEST = 2**64


def numbers_of(form: Any, where: str) -> array[int]:
    """Numbers of their form; `where` names it in errors."""
    if isinstance(form, list):
        for number in form:
            if type(number) is not int or not 0 <= number < _LARGEST:
                raise ConfigError(where, expected_got("whole numbers up to 2^64", number))
        return array("Q", form)
    try:
        planes = unpack_numbers(b64decode(form, validate=True))
        if len(planes) % 8:
            raise ValueError
    except (NotBase64, ValueError, TypeError):
        raise ConfigError(where, "damaged: not what packed numbers look like") from None
    numbers = array("Q")
    numbers.frombytes(_core.from_planes(planes))
    return numbers


def table_of(
    name: str, form: Mapping[str, Any], where: str, complete: frozenset[str] = frozenset()
) -> Table:
    lengths = numbers_of(form["lengths"], f"{where}.lengths")
    if sum(lengths) != form["rows"]:
        problem = f"expected lengths that add up to its {form['rows']} rows"
        raise ConfigError(f"{where}.lengths", problem)
    parts = _Parts(lengths)

    def column(key: str, packed: Mapping[str, Any]) -> Column:
        at = f"{where}.columns.{key}"
        if packed["kind"] not in DTYPES:
            raise ConfigError(f"{at}.kind", expected_got(", ".join(DTYPES), packed["kind"]))
        return packed["kind"], lambda: _column_of(packed, parts, at, key in complete)

    columns = {key: column(key, packed) for key, packed in form["columns"].items()}
    return Table(name, form["rows"], columns)


class _Chosen(NamedTuple):
    of: array[int]
    counts: Counter[tuple[int, int]]


class _Parts:
    def __init__(self, lengths: array[int]) -> None:
        self.begins = array("Q", accumulate(lengths, initial=0))
        self._lengths = lengths
        self._known: dict[str, _Chosen] = {}

    def chosen(self, form: Any, where: str) -> _Chosen:
        key = form if isinstance(form, str) else str(form)
        if key not in self._known:
            of = numbers_of(form, where)
            if len(of) != len(self._lengths):
                raise ConfigError(where, "expected one of the pieces for each part of the table")
            self._known[key] = _Chosen(of, Counter(zip(of, self._lengths, strict=True)))
        return self._known[key]


def _column_of(form: Mapping[str, Any], parts: _Parts, where: str, complete: bool) -> Gathered:
    pieces = [numbers_of(piece, f"{where}.pieces[{at}]") for at, piece in enumerate(form["pieces"])]
    of, counts = parts.chosen(form["of"], f"{where}.of")
    if any(piece >= len(pieces) for piece, _ in counts):
        raise ConfigError(f"{where}.of", "expected one of the pieces for each part of the table")
    if any(len(pieces[piece]) != length for piece, length in counts):
        raise ConfigError(f"{where}.pieces", "expected as many numbers as the table has rows")
    meaning, stand = None, pieces
    if "names" in form:
        stand = [numbers_of(slot, f"{where}.names[{at}]") for at, slot in enumerate(form["names"])]
        widths = [max(piece, default=-1) + 1 for piece in pieces]
        _check_names(stand, widths, counts, f"{where}.names")
        meaning = _meaning(stand, widths, of, {piece for piece, _ in counts})
    highest = max((max(some, default=-1) for some in stand), default=-1)
    if "values" in form and highest >= len(form["values"]):
        raise ConfigError(f"{where}.values", "expected a value for each number of the pieces")
    wrap = _wrap(form, where)
    if complete and any(None in as_list(wrap(some)) for some in stand):
        raise ConfigError(where, "expected a value in every row")
    return Gathered(parts.begins, lambda at: pieces[of[at]], wrap, alike=of, meaning=meaning)


def _check_names(
    names: list[array[int]], widths: list[int], counts: Counter[tuple[int, int]], where: str
) -> None:
    if any(widths[piece] > len(names) for piece, _ in counts):
        raise ConfigError(where, "expected a list for each place of the pieces")
    for slot, some in enumerate(names):
        wide = sum(count for (piece, _), count in counts.items() if widths[piece] > slot)
        if len(some) != wide:
            raise ConfigError(where, "expected a name for each part that has the place")


def _meaning(
    names: list[array[int]], widths: list[int], of: array[int], used: set[int]
) -> Callable[[int], Sequence[int]]:
    if len({widths[piece] for piece in used}) == 1:  # a part's number is its place in each list
        return lambda part: [slot[part] for slot in names]
    places = [
        array("Q", accumulate((widths[piece] > slot for piece in of), initial=0))
        for slot in range(len(names))
    ]

    def meaning(part: int) -> list[int]:
        return [names[slot][places[slot][part]] for slot in range(widths[of[part]])]

    return meaning


def _wrap(form: Mapping[str, Any], where: str) -> Callable[[array[int]], Any]:
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
    "whole": (int, type(None)),
    "id": (int, type(None)),
    "real": (int, float, type(None)),
    "text": (str,),
}
