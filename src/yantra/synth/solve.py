"""Least squares with coefficients that are at least 0, relative to what is fitted.

Trade-off: of two features that settings do not tell apart, the cheaper stays alone.

Source: Lawson, Hanson, Solving Least Squares Problems (1974), chapter 23.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_COST = 1e-4
_ENOUGH = 1e-9


def solve(
    rows: Sequence[Sequence[float]], values: Sequence[float], cost: Sequence[float]
) -> tuple[list[float], float]:
    """Coefficients by column, and the relative root mean square of what is left.

    `cost`: 1 for usual features; rows of 0 count beside the mean.
    """
    y = np.asarray(values, float)
    x = np.asarray(rows, float)
    if not len(y) or not y.any():
        return [0.0] * x.shape[1], 0.0
    weight = 1 / np.where(y > 0, y, y.mean())
    scale = np.abs(x * weight[:, None]).max(axis=0)
    used = np.where(scale > 0, scale, 1.0)
    a = x * weight[:, None] / used
    ridge = np.diag(np.sqrt(np.asarray(cost, float)) * _COST * np.sqrt(len(y)))
    target = y * weight
    found = _lawson_hanson(np.vstack([a, ridge]), np.append(target, np.zeros(x.shape[1])))
    left = float(np.sqrt(np.mean((a @ found - target) ** 2)))
    return [float(one) for one in found / used], left


def _lawson_hanson(a: np.ndarray, y: np.ndarray) -> np.ndarray:
    count = a.shape[1]
    found, inside = np.zeros(count), np.zeros(count, bool)
    for _ in range(3 * count):
        slope = a.T @ (y - a @ found)
        slope[inside] = 0
        if slope.max() <= _ENOUGH:
            break
        inside[int(slope.argmax())] = True
        while True:
            tried = np.zeros(count)
            tried[inside] = np.linalg.lstsq(a[:, inside], y, rcond=None)[0]
            if (tried[inside] > 0).all():
                break
            below = inside & (tried <= 0)
            step = (found[below] / np.maximum(found[below] - tried[below], 1e-300)).min()
            found = found + step * (tried - found)
            inside &= found > 1e-15
            found[~inside] = 0
        found = tried
    return found
