"""Slowdowns of messages by size: percentiles for each power of ten.

Completion time over that alone (Alizadeh et al., "pFabric", SIGCOMM 2013, section 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

PERCENTILES = (50, 95, 99)
Percentiles = tuple[float, ...]


def slowdown(fct_ns: NDArray[np.float64], alone_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Completion times over those alone; 1 where both are 0."""
    alone = np.where(alone_ns > 0, alone_ns, 1.0)
    return np.where(alone_ns > 0, fct_ns / alone, 1.0)


def by_size(
    sizes: NDArray[Any], slowdowns: NDArray[np.float64], fct_ns: NDArray[np.float64]
) -> Iterator[tuple[int | None, int, Percentiles, Percentiles]]:
    """The power of ten below a size, the count, percentiles of slowdown and time; last all, with
    None.
    """
    decade = np.floor(np.log10(np.maximum(sizes, 1))).astype(int)
    rows = [(power, decade == power) for power in np.unique(decade).tolist()]
    if len(decade):
        rows.append((None, np.ones(len(decade), np.bool_)))
    for power, chosen in rows:
        both = (np.percentile(of[chosen], PERCENTILES) for of in (slowdowns, fct_ns))
        yield power, int(chosen.sum()), *(tuple(of.tolist()) for of in both)
