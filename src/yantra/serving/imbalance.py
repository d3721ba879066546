"""How much longer experts take than if all had equal work: a factor, or a law of popularity.

`zipf:0.6` gives the expert of rank r the popularity r^-0.6 and deals experts out to ranks by what
they hold so far, the most popular first, as expert-parallel load balancers do (DeepSeek's EPLB).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from yantra.base.errors import ConfigError, expected_got

_FORM = "a factor of at least 1 such as 1.2, or a law such as zipf:0.6"


def imbalance_of(text: str, experts: int, ranks: int, where: str = "imbalance") -> float:
    """Read `1.2` or `zipf:0.6`. Raises ConfigError at `where`."""
    kind, colon, number = text.strip().partition(":")
    try:
        value = float(number if colon else kind)
    except ValueError:
        raise ConfigError(where, expected_got(_FORM, text)) from None
    if not colon:
        if not 1 <= value <= 1000:
            raise ConfigError(where, expected_got(_FORM, text))
        return value
    if kind != "zipf" or not 0 <= value <= 10:
        raise ConfigError(where, expected_got(_FORM, text))
    return of_loads([rank**-value for rank in range(1, experts + 1)], ranks)


def of_loads(loads: Sequence[float], ranks: int) -> float:
    if ranks <= 1 or not loads:
        return 1.0
    each = -(-len(loads) // ranks)
    full = [(0.0, 0, rank) for rank in range(ranks)]
    heapq.heapify(full)
    most = 0.0
    for load in sorted(loads, reverse=True):
        held, count, rank = heapq.heappop(full)
        most = max(most, held + load)
        if count + 1 < each:
            heapq.heappush(full, (held + load, count + 1, rank))
    return most * ranks / sum(loads)
