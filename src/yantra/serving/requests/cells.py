"""Columns of a table of requests as numbers: cells of CSV, which are texts, or values of JSON.

Any other is looked at cell by cell, exactly and ten times slower, which accepts what is valid and
names the row of what is not.
"""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from yantra.base.errors import ConfigError, show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Whole = NDArray[np.int64]

MOST_NS = 2**62
"""The latest time: in ns from 1970 on, it is in 2116."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_STRANGE = re.compile(r"[^0-9.eE+\-]")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:?\d\d)?", re.A)
_EXACT = 2.0**50  # below, a float's error in ns is less than a half
_YEARS = ("1970", "2115")


class Cells:
    """Some rows of a file: a column by its name, and the place of a row for errors."""

    def __init__(
        self,
        column: Callable[[str], Sequence[Any]],
        place: Callable[[int], str],
    ) -> None:
        self._column = column
        self.place = place
        """Return where a row is: `trace.csv, line 3`."""

    def of(self, columns: Mapping[str, Sequence[Any]], row: int) -> Cells:
        return Cells(columns.__getitem__, lambda _: self.place(row))

    def whole(
        self, name: str, least: int, most: int, default: int | None = None, what: str = "tokens"
    ) -> Whole:
        """Raises ConfigError, with the row, for a cell that is none, or that is out of range."""
        cells = self._column(name)
        values = _whole(cells)
        if values is not None and _within(values, least, most):
            return values
        found, of_what = [], f" of {what}" if what else ""
        for row, cell in enumerate(cells):
            if _is_empty(cell) and default is not None:
                found.append(default)
                continue
            number = decimal(cell)
            if number is None or number != number.to_integral_value():
                raise self.wrong(row, name, f"a whole number{of_what}", cell)
            if not least <= number <= most:
                wanted = f"at least {least}" if number < least else f"at most {most}"
                raise self.wrong(row, name, f"{wanted} {what}".rstrip(), cell)
            found.append(int(number))
        return np.array(found, np.int64)

    def times_ns(self, name: str, unit_ns: int, default: int | None = None) -> Whole:
        """A column of times in ns; cells are numbers of `unit_ns`, or dates."""
        cells = self._column(name)
        if cells and isinstance(cells[0], str) and _DATE.fullmatch(cells[0]):
            return self._dates_ns(name, cells)
        values = _real(cells)
        if values is not None and len(values):
            values = values * unit_ns
            if values.min() >= 0 and values.max() < _EXACT:
                return np.rint(values).astype(np.int64)
        found = []
        for row, cell in enumerate(cells):
            if _is_empty(cell) and default is not None:
                found.append(default)
                continue
            number = decimal(cell)
            if number is None:
                raise self.wrong(row, name, "a time", cell)
            time = (number * unit_ns).to_integral_value()
            if not 0 <= time <= MOST_NS:
                most = f"{MOST_NS / unit_ns:.4g}"
                wanted = "a time from 0 on" if time < 0 else f"a time of {most} at most"
                raise self.wrong(row, name, wanted, cell)
            found.append(int(time))
        return np.array(found, np.int64)

    def _dates_ns(self, name: str, cells: Sequence[str]) -> Whole:
        width = len(cells[0])
        if _have_form_of_dates(cells, width):
            with suppress(ValueError):  # the 31st of February
                return np.array(cells, "M8[ns]").astype(np.int64)
        found = []
        for row, cell in enumerate(cells):
            match = _DATE.fullmatch(cell)
            moment = None
            if match is not None and _YEARS[0] <= match[1][:4] <= _YEARS[1]:
                try:
                    moment = np.datetime64(match[1], "ns").astype(np.int64)
                except ValueError:
                    moment = None
            if match is None or moment is None:
                raise self.wrong(row, name, "a date such as 2023-11-16 18:15:46.6805900", cell)
            found.append(int(moment) - _offset_ns(match[2]))
        return np.array(found, np.int64)

    def texts(self, name: str) -> list[str]:
        return ["" if cell is None else str(cell) for cell in self._column(name)]

    def values(self, name: str) -> Sequence[Any]:
        """Return a column as it is in the file."""
        return self._column(name)

    def floats(self, name: str) -> NDArray[np.float64]:
        cells = self._column(name)
        values = _real(cells)
        if values is not None:
            return values
        found = []
        for row, cell in enumerate(cells):
            number = None if _is_empty(cell) else decimal(cell)
            if number is None and not _is_empty(cell):
                raise self.wrong(row, name, "a number", cell)
            found.append(float("nan") if number is None else float(number))
        return np.array(found, np.float64)

    def wrong(self, row: int, name: str, expected: str, cell: object) -> ConfigError:
        """Return the error of a cell."""
        if _is_empty(cell):
            return ConfigError(self.place(row), f"{name}: expected {expected}, got nothing")
        got = cell if isinstance(cell, str) and cell.isprintable() else show(cell)
        shown = got if len(got) <= 60 else got[:57] + "..."
        return ConfigError(self.place(row), f"{name}: expected {expected}, got {shown}")


def decimal(cell: object) -> Decimal | None:
    if isinstance(cell, str):
        text = cell.strip(" \t")
        return Decimal(text) if _NUMBER.fullmatch(text) else None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    number = Decimal(cell) if isinstance(cell, int) else Decimal(repr(cell))
    return number if number.is_finite() else None


def _within(values: Whole, least: int, most: int) -> bool:
    return not len(values) or bool(least <= values.min() <= values.max() <= most)


def _is_empty(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())


def _whole(cells: Sequence[Any]) -> Whole | None:
    kinds = set(map(type, cells))
    try:
        if kinds == {str}:
            joined = "".join(cells)
            plain = joined.isascii() and joined.isdecimal()
            return np.array(list(map(int, cells)), np.int64) if plain else None
        return np.array(cells, np.int64) if kinds <= {int} else None
    except (ValueError, OverflowError):  # an empty cell, one of 5,000 digits
        return None


def _real(cells: Sequence[Any]) -> NDArray[np.float64] | None:
    kinds = set(map(type, cells))
    try:
        if kinds == {str}:
            if _STRANGE.search("".join(cells)):
                return None
            return np.array(list(map(float, cells)), np.float64)
        return np.array(cells, np.float64) if kinds <= {int, float} else None
    except (ValueError, OverflowError):
        return None


def _have_form_of_dates(cells: Sequence[str], width: int) -> bool:
    if set(map(type, cells)) != {str} or not 19 <= width <= 29 or set(map(len, cells)) != {width}:
        return False
    text = "".join(cells)
    if not text.isascii():
        return False
    signs = np.frombuffer(text.encode(), np.uint8).reshape(len(cells), width)
    expected = np.frombuffer(b"0000-00-00 00:00:00.000000000"[:width], np.uint8)
    is_digit = (signs >= ord("0")) & (signs <= ord("9"))
    fits = np.where(expected == ord("0"), is_digit, signs == expected)
    if not fits.all() or width == 20:
        return False
    number = signs.astype(np.int64) - ord("0")
    year = number[:, :4] @ [1000, 100, 10, 1]
    month, day, hour, minute, second = (
        number[:, at] * 10 + number[:, at + 1] for at in (5, 8, 11, 14, 17)
    )
    lows = (year >= int(_YEARS[0])) & (month >= 1) & (day >= 1)
    highs = (year <= int(_YEARS[1])) & (month <= 12) & (day <= 31) & (hour <= 23)
    return bool((lows & highs & (minute <= 59) & (second <= 59)).all())


def _offset_ns(zone: str | None) -> int:
    if not zone or zone == "Z":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return (-minutes if zone[0] == "-" else minutes) * 60 * 10**9
