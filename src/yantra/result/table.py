"""`Table`: named columns of equal length, each computed when it is first asked for.

Columns are plain Python lists, so that text and JSON output need no numpy; indexing makes an array
of a column and keeps it. Not a data frame: hand the columns or the Parquet file to polars or pandas
for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from yantra.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    import numpy as np

Kind = Literal["whole", "id", "real", "text"]
Value = int | float | str | None
Column = tuple[Kind, Callable[[], list[Any]]]
_DTYPES = {"whole": "int64", "id": "uint64", "real": "float64", "text": "str"}


class Table:
    """Columns by name. `table["finish_ns"]` is a numpy array, `table.values(...)` a list.

    A missing value is None in a list and NaN in an array; only columns of real numbers have any.
    """

    def __init__(self, name: str, length: int, columns: Mapping[str, Column]) -> None:
        self.name = name
        self.columns = tuple(columns)
        self._length = length
        self._makers = columns
        self._lists: dict[str, list[Any]] = {}
        self._arrays: dict[str, Any] = {}

    def kind(self, column: str) -> Kind:
        """Return what a column holds: whole numbers, ids up to 2^64, real numbers or text."""
        return self._maker(column)[0]

    def values(self, column: str) -> list[Any]:
        """Return a column as a list, which is not to be changed."""
        if column not in self._lists:
            self._lists[column] = self._maker(column)[1]()
        return self._lists[column]

    def __getitem__(self, column: str) -> np.ndarray[Any, Any]:
        if column not in self._arrays:
            import numpy as np

            values = self.values(column)
            self._arrays[column] = np.array(values, dtype=_DTYPES[self.kind(column)])
            self._arrays[column].flags.writeable = False
        array: np.ndarray[Any, Any] = self._arrays[column]
        return array

    def as_dict(self) -> dict[str, list[Any]]:
        """Return all columns as lists."""
        return {column: self.values(column) for column in self.columns}

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """Iterate over the rows, values in the order of `columns`."""
        return zip(*(self.values(column) for column in self.columns), strict=True)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<Table {self.name}: {self._length} rows of {', '.join(self.columns)}>"

    def _maker(self, column: str) -> Column:
        if column not in self._makers:
            hint = did_you_mean(column, self.columns) or f"; it has {', '.join(self.columns)}"
            raise ConfigError(f"table {self.name}", f"has no column '{column}'{hint}")
        return self._makers[column]
