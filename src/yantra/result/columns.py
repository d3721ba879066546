"""Columns of many rows, without a Python object for each value.

A column is a list, an array of 64-bit numbers (`Ticks`, `Coded`, `Reals`, whole ones), or
`Gathered` from one per rank. Its parts, some ten thousand rows, become lists, numpy arrays or text.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, Union

from yantra import _core
from yantra.result.codes import NEVER as NEVER
from yantra.result.codes import nanoseconds as nanoseconds

Kind = Literal["whole", "id", "real", "text"]
"""Whole numbers, ids up to 2^64, real numbers or text. Any may be missing."""

DTYPES = {"whole": "int64", "id": "uint64", "real": "float64", "text": "str"}
"""Numpy's type for each kind; whole numbers with gaps become float64."""


class Ticks(NamedTuple):
    """Times of the core: an array of ticks, `per_ns` to a nanosecond."""

    values: Any
    per_ns: int


class Coded(NamedTuple):
    """Texts: an array of places in a list of distinct ones."""

    codes: Any
    texts: Sequence[str]


class Reals(NamedTuple):
    """Real numbers: the bits of doubles; missing is NaN."""

    bits: Any


Part = Union[list[Any], Ticks, Coded, Reals, "array[int]"]


class Columns(Protocol):
    """Named columns that can be read in parts, as a `Table`."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    def kind(self, column: str) -> Kind: ...

    def parts(self) -> Iterator[list[Part]]: ...


class Gathered:
    """A column put together from stretches when a part of it is asked for.

    `begins`: their first rows, and the number of rows. `stretch(i)`: a buffer of 64-bit numbers;
    `wrap` makes a part of them. Equal entries of `alike` are equal stretches. With `meaning` the
    numbers are places in `meaning(i)`, to share stretches with other names.
    """

    def __init__(
        self,
        begins: Sequence[int],
        stretch: Callable[[int], Any],
        wrap: Callable[[array[int]], Part] = lambda numbers: numbers,
        *,
        alike: Sequence[int] | None = None,
        meaning: Callable[[int], Sequence[int]] | None = None,
    ) -> None:
        self.begins = begins
        self.stretch = stretch
        self.wrap = wrap
        self.alike = range(len(begins) - 1) if alike is None else alike
        self.meaning = meaning

    def part(self, start: int, stop: int) -> Part:
        numbers = array("Q")
        at = bisect_right(self.begins, start) - 1
        while start < stop:
            until = min(stop, self.begins[at + 1])
            begin = self.begins[at]
            if until > start:
                stretch = memoryview(self.stretch(at))[start - begin : until - begin]
                if self.meaning is None:
                    numbers.frombytes(stretch.cast("B"))
                else:
                    numbers += _translated(stretch, self.meaning(at))
                start = until
            at += 1
        return self.wrap(numbers)


def _translated(places: memoryview, meaning: Sequence[int]) -> array[int]:
    if len(meaning) == 1:
        return array("Q", meaning) * len(places)
    return array("Q", map(meaning.__getitem__, places))


def numbered(begins: Sequence[int]) -> Gathered:
    lengths = array("Q", map(int.__sub__, begins[1:], begins))
    zeros = array("Q", bytes(8 * max(lengths, default=0)))
    return Gathered(
        begins,
        lambda at: memoryview(zeros)[: lengths[at]],
        alike=lengths,
        meaning=lambda at: (at,),
    )


def part_of(column: Any, start: int, stop: int) -> Part:
    if isinstance(column, list):
        return column[start:stop]
    if isinstance(column, Ticks):
        return Ticks(_numbers(column.values, start, stop), column.per_ns)
    if isinstance(column, Coded):
        return Coded(_numbers(column.codes, start, stop), column.texts)
    if isinstance(column, Reals):
        return Reals(_numbers(column.bits, start, stop))
    if isinstance(column, Gathered):
        return column.part(start, stop)
    return _numbers(column, start, stop)


def as_list(part: Part) -> list[Any]:
    """The values of a part; a missing one is None."""
    if isinstance(part, list):
        return part
    if isinstance(part, Ticks):
        return [nanoseconds(tick, part.per_ns) for tick in part.values]
    if isinstance(part, Coded):
        texts = part.texts
        return [texts[code] for code in part.codes]
    if isinstance(part, Reals):
        doubles = memoryview(part.bits).cast("B").cast("d").tolist()
        return [value if value == value else None for value in doubles]
    return part.tolist()


def as_array(part: Any, kind: str) -> Any:
    import numpy as np

    if isinstance(part, list):
        gaps = kind != "text" and None in part
        return np.array(part, dtype=np.float64 if gaps else DTYPES[kind])
    if isinstance(part, Ticks):
        ticks = np.asarray(part.values)
        return np.where(ticks == NEVER, np.nan, ticks / np.float64(part.per_ns))
    if isinstance(part, Coded):
        return np.array(part.texts, dtype="str")[np.asarray(part.codes)]
    if isinstance(part, Reals):
        return np.frombuffer(part.bits, np.float64).copy()
    return np.asarray(part).astype(DTYPES[kind])


def as_cells(part: Part, texts: Callable[[Sequence[str]], int]) -> _core.Cells:
    """A part for the core's table writer."""
    if isinstance(part, list):
        return _core.Cells.given(["" if value is None else str(value) for value in part])
    if isinstance(part, Ticks):
        return _core.Cells.numbers(_core.CellKind.TICKS, part.values, part.per_ns)
    if isinstance(part, Coded):
        return _core.Cells.numbers(_core.CellKind.CODED, part.codes, texts(part.texts))
    if isinstance(part, Reals):
        return _core.Cells.numbers(_core.CellKind.REAL, part.bits)
    return _core.Cells.numbers(_core.CellKind.WHOLE, part)


def _numbers(column: Any, start: int, stop: int) -> array[int]:
    piece = column[start:stop]
    if isinstance(piece, memoryview) and piece.itemsize == 8:
        numbers = array("Q")
        numbers.frombytes(piece.cast("B"))
        return numbers
    return piece if isinstance(piece, array) and piece.typecode == "Q" else array("Q", piece)
