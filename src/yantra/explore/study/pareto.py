"""The Pareto front: points that no other point dominates.

Exact, for any number of objectives; less is better.
"""

from __future__ import annotations

import numpy as np

from yantra.base.errors import ConfigError, expected_got


def front(points: np.ndarray) -> np.ndarray:
    """Return the rows on the front, ascending; `points` is (points, objectives).

    A dominating point is nowhere larger and somewhere smaller.
    """
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2:
        raise ConfigError("points", expected_got("a table of points by objectives", points.shape))
    if np.isnan(points).any():
        raise ConfigError("points", "expected numbers; a point that is not feasible has no place")
    # A point sorts after all that dominate it, so one pass is enough.
    order = np.lexsort(points.T[::-1])
    kept = np.empty((0, points.shape[1]))
    found = []
    for row in order:
        point = points[row]
        if not _dominated(point, kept):
            kept = np.vstack([kept, point])
            found.append(int(row))
    return np.array(sorted(found), dtype=np.int64)


def _dominated(point: np.ndarray, others: np.ndarray) -> bool:
    beats = (others <= point).all(axis=1) & (others < point).any(axis=1)
    return bool(beats.any())
