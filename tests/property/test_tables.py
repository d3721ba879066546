"""A table says the same as list, array, CSV, JSON and Arrow, whatever its columns are made of."""

from __future__ import annotations

import csv
import io
import json
import struct
from array import array
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra import _core
from yantra.export.texts import Texts
from yantra.result import table as tables
from yantra.result.columns import NEVER, Coded, Gathered, Reals, Ticks, as_cells
from yantra.result.table import Column, Table

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
REALS = st.floats(allow_nan=False, allow_infinity=False)
WHOLES = st.integers(0, 2**63 - 1)
NUMBERS = st.integers(0, 2**64 - 2)
TICKS = st.integers(0, 2**50) | st.just(NEVER)


def _bits(values: list[float | None]) -> array[int]:
    doubles = [float("nan") if value is None else value for value in values]
    return array(
        "Q", struct.unpack(f"<{len(doubles)}Q", struct.pack(f"<{len(doubles)}d", *doubles))
    )


@st.composite
def some_tables(draw: st.DrawFn) -> tuple[Table, dict[str, list[Any]]]:
    lengths = draw(st.lists(st.integers(0, 4), max_size=5))
    rows = sum(lengths)

    def drawn(values: st.SearchStrategy[Any]) -> list[Any]:
        found: list[Any] = draw(st.lists(values, min_size=rows, max_size=rows))
        return found

    per_ns = draw(st.sampled_from([1, 1000]))
    ticks, ids, wholes = drawn(TICKS), drawn(NUMBERS), drawn(st.integers(0, 2**32 - 1))
    texts, reals, listed = drawn(TEXTS), drawn(REALS | st.none()), drawn(REALS | st.none())
    gaps = drawn(st.integers(-(2**53), 2**53) | st.none())
    distinct = sorted(set(texts))
    codes = array("Q", [distinct.index(text) for text in texts])
    begins = [sum(lengths[:at]) for at in range(len(lengths) + 1)]

    def stretch(at: int) -> memoryview:
        return memoryview(array("Q", ids))[begins[at] : begins[at + 1]]

    columns: dict[str, Column] = {
        "ticks": ("real", lambda: Ticks(memoryview(array("Q", ticks)), per_ns)),
        "ids": ("id", lambda: Gathered(begins, stretch)),
        "wholes": ("whole", lambda: memoryview(array("I", wholes))),
        "texts": ("text", lambda: Coded(codes, distinct)),
        "reals": ("real", lambda: Reals(_bits(reals))),
        "listed": ("real", lambda: listed),
        "gaps": ("whole", lambda: gaps),
    }
    told = {
        "ticks": [
            None if t == NEVER else t // per_ns if t % per_ns == 0 else t / per_ns for t in ticks
        ],
        "ids": ids,
        "wholes": wholes,
        "texts": texts,
        "reals": reals,
        "listed": listed,
        "gaps": gaps,
    }
    return Table("some", rows, columns), told


@given(some_tables(), st.integers(1, 7))
def test_every_form_of_a_table_says_the_same(
    pair: tuple[Table, dict[str, list[Any]]], rows_of_a_part: int
) -> None:
    table, told = pair
    pyarrow = pytest.importorskip("pyarrow")
    assert table.as_dict() == told
    with patch.object(tables, "_ROWS_OF_A_PART", rows_of_a_part):
        assert list(table.rows()) == list(zip(*told.values(), strict=True))
        assert table.to_arrow() == pyarrow.table(told, table.to_arrow().schema)
        assert pyarrow.table(table) == table.to_arrow()
        assert [json.loads(text) for text in _json(table)] == list(told.values())
    assert table.head(3) == list(zip(*(values[:3] for values in told.values()), strict=True))
    for column, values in told.items():
        expected = [np.nan if value is None else value for value in values]
        np.testing.assert_array_equal(table[column], np.array(expected, table[column].dtype))


@given(some_tables(), st.integers(1, 7))
def test_csv_is_what_the_csv_module_writes(
    pair: tuple[Table, dict[str, list[Any]]], rows_of_a_part: int
) -> None:
    table, told = pair
    expected = io.StringIO(newline="")
    writer = csv.writer(expected)
    writer.writerow(table.columns)
    writer.writerows(zip(*told.values(), strict=True))
    core = _core.TableWriter(json=False)
    texts = Texts(core)
    with patch.object(tables, "_ROWS_OF_A_PART", rows_of_a_part):
        written = [core.rows([as_cells(part, texts) for part in parts]) for parts in table.parts()]
    assert (",".join(table.columns) + "\r\n").encode() + b"".join(
        written
    ) == expected.getvalue().encode()


def _json(table: Table) -> list[str]:
    from yantra.export.json import _elements

    return ["[" + "".join(_elements(table, column)) + "]" for column in table.columns]


@given(REALS, NUMBERS, TICKS)
def test_numbers_are_written_as_python_writes_them(real: float, whole: int, ticks: int) -> None:
    core = _core.TableWriter(json=False)

    def written(kind: _core.CellKind, value: int, number: int = 0) -> str:
        cells = _core.Cells.numbers(kind, array("Q", [value]), number)
        return core.rows([cells]).decode().strip()

    (bits,) = struct.unpack("<Q", struct.pack("<d", real))
    assert written(_core.CellKind.REAL, bits) == repr(real)
    assert written(_core.CellKind.WHOLE, whole) == str(whole)
    if ticks != NEVER:
        assert float(written(_core.CellKind.TICKS, ticks, 1000)) == ticks / 1000


def test_a_table_with_more_columns_keeps_those_it_had(tmp_path: Path) -> None:
    made = []

    def column() -> list[int]:
        made.append(1)
        return [1, 2]

    table = Table("some", 2, {"a": ("whole", column)})
    more = table.extended({"b": ("text", lambda: ["x", "y"])})
    assert more.as_dict() == {"a": [1, 2], "b": ["x", "y"]}
    assert table.values("a") == [1, 2] and len(made) == 1
