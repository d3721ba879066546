"""A figure of many lives: its mean, and what holds 90 % of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_ENDS = (0.05, 0.95)


class Range(NamedTuple):
    mean: float
    low: float
    high: float


def range_of(values: Any) -> Range:
    low, high = np.quantile(values, _ENDS)
    return Range(float(np.mean(values)), float(low), float(high))
