"""The distinct rows of columns of small whole numbers, in time that grows with the rows alone."""

from __future__ import annotations

import numpy as np

_WIDEST = 1 << 18  # codes of rows that are looked up in a table and not sorted


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each distinct row stands, and which of them every row is."""
    span = np.array([column.max() for column in rows.T]) + 1  # along rows, which are many
    code = np.zeros(len(rows), dtype=np.int64)
    for at in range(rows.shape[1]):
        code = code * span[at] + rows[:, at]
    if int(np.prod(span.astype(float))) > _WIDEST:
        _, first, back = np.unique(code, return_index=True, return_inverse=True)
        return first, back
    place = np.full(int(span.prod()), -1, dtype=np.int64)
    place[code] = np.arange(len(code))  # where a code stands last; any of its rows would do
    met = np.flatnonzero(place >= 0)
    first = place[met]
    place[met] = np.arange(len(met))
    return first, place[code]


def starts(rows: np.ndarray) -> np.ndarray:
    """Return where rows begin that differ from the one before; the first always does."""
    differs = np.zeros(len(rows), dtype=bool)
    differs[:1] = True
    for column in rows.T:
        differs[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(differs)
