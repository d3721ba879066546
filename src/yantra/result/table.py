"""`Table`: named columns of equal length, each computed when it is first asked for.

Large tables are written from parts (`yantra.result.columns`), without an object for each value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.output import Path
from yantra.result.columns import Gathered, Kind, Part, as_array, as_list, part_of
from yantra.result.forms import exporter

if TYPE_CHECKING:
    import numpy as np

Value = int | float | str | None
Column = tuple[Kind, Callable[[], Any]]
"""What a column holds, and what makes it: a list or one of `columns`."""

_ROWS_OF_A_PART = 65_536


class Table:
    """Columns by name. `table["finish_ns"]` is a numpy array, `table.values(...)` a list.

    A missing value is None in a list and NaN in an array, which is then of float64; `kind` and
    `to_pandas` keep whole numbers.
    """

    def __init__(self, name: str, length: int, columns: Mapping[str, Column]) -> None:
        self.name = name
        """What the table is called."""
        self.columns = tuple(columns)
        """The names of the columns, in order."""
        self._length = length
        self._makers = columns
        self._made: dict[str, Any] = {}
        self._lists: dict[str, list[Any]] = {}
        self._arrays: dict[str, Any] = {}

    def kind(self, column: str) -> Kind:
        """What a column holds: whole numbers, ids up to 2^64, real numbers or text."""
        return self._maker(column)[0]

    def values(self, column: str) -> list[Any]:
        """A column as a list, which is not to be changed."""
        if column not in self._lists:
            self._lists[column] = as_list(part_of(self.column(column), 0, self._length))
        return self._lists[column]

    def __getitem__(self, column: str) -> np.ndarray[Any, Any]:
        if column not in self._arrays:
            made = self.column(column)
            part = part_of(made, 0, self._length) if isinstance(made, Gathered) else made
            self._arrays[column] = as_array(part, self.kind(column))
            self._arrays[column].flags.writeable = False
        array: np.ndarray[Any, Any] = self._arrays[column]
        return array

    def as_dict(self) -> dict[str, list[Any]]:
        """All columns as lists."""
        return {column: self.values(column) for column in self.columns}

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """Iterate over the rows, values in the order of `columns`."""
        for parts in self.parts():
            yield from zip(*(as_list(part) for part in parts), strict=True)

    def head(self, count: int) -> list[tuple[Value, ...]]:
        """The first rows, at most `count`."""
        stop = min(count, self._length)
        parts = [part_of(self.column(column), 0, stop) for column in self.columns]
        return list(zip(*(as_list(part) for part in parts), strict=True))

    def parts(self, columns: Sequence[str] | None = None) -> Iterator[list[Part]]:
        """Parts of all columns, or of those named, some thousand rows each."""
        wanted = [self.column(column) for column in columns or self.columns]
        for start in range(0, self._length, _ROWS_OF_A_PART):
            stop = min(start + _ROWS_OF_A_PART, self._length)
            yield [part_of(column, start, stop) for column in wanted]

    def extended(self, columns: Mapping[str, Column]) -> Table:
        """A table with more columns."""

        def same(name: str) -> Column:
            return self.kind(name), lambda: self.column(name)

        kept = {name: same(name) for name in self.columns}
        return Table(self.name, self._length, kept | dict(columns))

    def to_csv(self, path: Path) -> None:
        """Write the table as CSV; see `yantra.export.csv`."""
        exporter("csv").write_table(self, path)

    def to_parquet(self, path: Path) -> None:
        """Write Parquet; needs pyarrow."""
        exporter("parquet").write_table(self, path)

    def to_feather(self, path: Path) -> None:
        """Write Feather; needs pyarrow."""
        exporter("feather").write_table(self, path)

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; needs pyarrow."""
        from yantra.result.frames import to_arrow

        return to_arrow(self)

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`; needs pandas."""
        from yantra.result.frames import to_pandas

        return to_pandas(self)

    def to_polars(self) -> Any:
        """A `polars.DataFrame`; needs polars."""
        from yantra.result.frames import to_polars

        return to_polars(self)

    def plot(self, x: str, *y: str) -> Any:
        """A figure of matplotlib: columns against column `x`, a point for each row.

        Needs matplotlib.
        """
        return exporter("plot").table(self, x, y)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """The rows as a stream of Arrow, for polars, DuckDB and others.

        Types are those of `to_arrow`, whatever schema is asked for.
        """
        from yantra.result.arrow_stream import capsule

        return capsule(self)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<Table {self.name}: {self._length} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from yantra.result.html import MOST_ROWS, table_html

        return table_html(self.name, self.columns, self.head(MOST_ROWS), len(self))

    def column(self, column: str) -> Any:
        """A column as a list or one of `yantra.result.columns`."""
        if column not in self._made:
            self._made[column] = self._maker(column)[1]()
        return self._made[column]

    def _maker(self, column: str) -> Column:
        if column not in self._makers:
            hint = did_you_mean(column, self.columns) or f"; it has {', '.join(self.columns)}"
            raise ConfigError(f"table {self.name}", f"has no column '{column}'{hint}")
        return self._makers[column]
