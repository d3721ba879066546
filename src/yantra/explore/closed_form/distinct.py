"""The distinct rows of columns of small whole numbers, in time that grows with the rows alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_WIDEST = 1 << 18  # codes of rows that are looked up in a table and not sorted


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each distinct row stands, and which of them every row is."""
    return distinct_of(list(rows.T))


def distinct_of(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return where each distinct row of columns stands, and which of them every row is."""
    code, span = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column in columns:
        width = int(column.max(initial=0)) + 1
        if span * width > _WIDEST:
            first, code = _of_codes(code, span)
            span = len(first)
        code, span = code * width + column, span * width
    return _of_codes(code, span)


def _of_codes(code: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
    if span > _WIDEST:
        _, first, back = np.unique(code, return_index=True, return_inverse=True)
        return first, back
    place = np.full(span, -1, dtype=np.int64)
    place[code] = np.arange(len(code))  # where a code stands last; any of its rows would do
    met = np.flatnonzero(place >= 0)
    first = place[met]
    place[met] = np.arange(len(met))
    return first, place[code]
