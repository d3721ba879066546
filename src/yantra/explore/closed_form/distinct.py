"""The distinct rows of columns of small integers, in linear time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_WIDEST = 1 << 18  # codes looked up in a table rather than sorted


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return distinct_of(list(rows.T))


def distinct_of(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
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
    place[code] = np.arange(len(code))  # the last row of a code; any would do
    met = np.flatnonzero(place >= 0)
    first = place[met]
    place[met] = np.arange(len(met))
    return first, place[code]
