"""Table -> a stream of the Arrow C data interface, without pyarrow, for polars, DuckDB and others.

Source: https://arrow.apache.org/docs/format/Columnar.html (layouts of buffers)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yantra import _core
from yantra.base.output import HALVES
from yantra.result.columns import NEVER, Coded, Columns, Kind, Part, Reals, Ticks

_FORMATS: dict[Kind, str] = {"whole": "l", "id": "L", "real": "g", "text": "u"}
_Column = tuple[int, int, list[bytes | None]]
"""Rows, missing values, and buffers: validity bits, then values."""


def capsule(table: Columns) -> Any:
    kinds = [table.kind(column) for column in table.columns]
    parts = table.parts()
    texts = _Texts()

    def following() -> list[_Column] | None:
        part_of_each = next(parts, None)
        if part_of_each is None:
            return None
        pairs = zip(part_of_each, kinds, strict=True)
        return [
            _text(part, texts) if kind == "text" else _number(part, kind) for part, kind in pairs
        ]

    return _core.arrow_stream(list(table.columns), [_FORMATS[kind] for kind in kinds], following)


class _Texts:
    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, list[bytes]]] = {}

    def encoded(self, texts: Any) -> list[bytes]:
        found = self._known.get(id(texts))
        if found is None or len(found[1]) < len(texts):
            found = self._known[id(texts)] = texts, [text.encode(errors=HALVES) for text in texts]
        return found[1]


def _number(part: Part, kind: Kind) -> _Column:
    dtype = {"whole": np.int64, "id": np.uint64, "real": np.float64}[kind]
    missing = None
    if isinstance(part, list):
        missing = np.array([value is None for value in part], bool)
        values = np.array([0 if value is None else value for value in part], dtype)
    elif isinstance(part, Ticks):
        ticks = np.frombuffer(part.values, np.uint64)
        values, missing = ticks / np.float64(part.per_ns), ticks == NEVER
    elif isinstance(part, Reals):
        values = np.frombuffer(part.bits, np.float64)
        missing = np.isnan(values)
    else:
        values = np.asarray(part).astype(dtype)
    return len(values), *_with_bits(missing, [values.tobytes()])


def _text(part: Part, texts: _Texts) -> _Column:
    missing = None
    if isinstance(part, Coded):
        known = texts.encoded(part.texts)
        encoded = [known[code] for code in part.codes]
    else:
        given: list[Any] = list(part)
        missing = np.array([text is None for text in given], bool)
        encoded = [b"" if text is None else text.encode(errors=HALVES) for text in given]
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(text) for text in encoded], out=offsets[1:])
    return len(encoded), *_with_bits(missing, [offsets.tobytes(), b"".join(encoded)])


def _with_bits(missing: Any, buffers: list[bytes | None]) -> tuple[int, list[bytes | None]]:
    nulls = 0 if missing is None else int(missing.sum())
    bits = np.packbits(~missing, bitorder="little").tobytes() if nulls else None
    return nulls, [bits, *buffers]
