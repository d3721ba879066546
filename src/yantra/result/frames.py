"""Table -> pyarrow, pandas and polars.

Whole numbers are int64, ids uint64, times and shares float64, texts string. A missing value is
null; in pandas NaN among reals, NA among whole ones, whose columns become Int64 or UInt64.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol

from yantra.base.errors import UnsupportedError
from yantra.base.extras import install
from yantra.result.columns import NEVER, Coded, Columns, Kind, Part, Reals, Ticks

_ARROW_TYPES: dict[Kind, str] = {
    "whole": "int64",
    "id": "uint64",
    "real": "float64",
    "text": "string",
}
_WITH_GAPS: dict[Kind, str] = {"whole": "Int64", "id": "UInt64"}


class WholeColumns(Columns, Protocol):
    """Columns that can also be had whole, as a `Table`."""

    def values(self, column: str) -> list[Any]: ...

    def __getitem__(self, column: str) -> Any: ...


def needed(package: str, what: str, extra: str = "") -> Any:
    """An optional package. Raises UnsupportedError that says how to install it."""
    try:
        return import_module(package)
    except ImportError:
        name = package.partition(".")[0]
        how = install(extra) if extra else f"pip install {name}"
        raise UnsupportedError(
            f"{what}: needs the package {name}, which is not installed; run: {how}"
        ) from None


def to_arrow(table: Columns, what: str = "to_arrow") -> Any:
    pyarrow = needed("pyarrow", what, "tables")
    return pyarrow.Table.from_batches(list(batches(table, pyarrow)), schema_of(table, pyarrow))


def to_pandas(table: WholeColumns) -> Any:
    pandas = needed("pandas", "to_pandas")
    return pandas.DataFrame({column: _series(table, column, pandas) for column in table.columns})


def _series(table: WholeColumns, column: str, pandas: Any) -> Any:
    kind = table.kind(column)
    if kind == "text":
        return pandas.Series(table.values(column), dtype="str")
    if kind in _WITH_GAPS and table[column].dtype.kind == "f":
        return pandas.Series(table.values(column), dtype=_WITH_GAPS[kind])
    return pandas.Series(table[column], copy=True)


def to_polars(table: WholeColumns) -> Any:
    return needed("polars", "to_polars").DataFrame(table)


def schema_of(table: Columns, pyarrow: Any) -> Any:
    return pyarrow.schema(
        [(column, _type(pyarrow, table.kind(column))) for column in table.columns]
    )


def batches(table: Columns, pyarrow: Any) -> Iterator[Any]:
    schema = schema_of(table, pyarrow)
    kinds = [table.kind(column) for column in table.columns]
    texts: dict[int, tuple[Any, Any]] = {}
    for parts in table.parts():
        arrays = [
            _array(part, kind, pyarrow, texts) for part, kind in zip(parts, kinds, strict=True)
        ]
        yield pyarrow.record_batch(arrays, schema=schema)


def _type(pyarrow: Any, kind: Kind) -> Any:
    return pyarrow.type_for_alias(_ARROW_TYPES[kind])


def _array(part: Part, kind: Kind, pyarrow: Any, texts: dict[int, tuple[Any, Any]]) -> Any:
    import numpy as np

    type = _type(pyarrow, kind)
    if isinstance(part, list):
        return pyarrow.array(part, type)
    if isinstance(part, Ticks):
        ticks = np.frombuffer(part.values, np.uint64)
        return pyarrow.array(ticks / np.float64(part.per_ns), type, mask=ticks == NEVER)
    if isinstance(part, Coded):
        known = texts.get(id(part.texts))
        if known is None or len(known[1]) < len(part.texts):
            known = texts[id(part.texts)] = part.texts, pyarrow.array(part.texts, type)
        return known[1].take(pyarrow.array(np.frombuffer(part.codes, np.uint64)))
    if isinstance(part, Reals):
        doubles = np.frombuffer(part.bits, np.float64)
        return pyarrow.array(doubles, type, mask=np.isnan(doubles))
    return pyarrow.array(np.frombuffer(part, np.uint64)).cast(type)
