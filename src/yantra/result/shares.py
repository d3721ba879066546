"""Shares of a whole in tenths of a per cent that add up to 100.0 %, by Hamilton's method (largest
remainders).
"""

from __future__ import annotations

from collections.abc import Sequence

from yantra.result.path import ps_of

_STEPS = 1000  # tenths of a per cent


def tenths(parts: Sequence[float]) -> list[int]:
    """Tenths of a per cent that add up to 1000; of nothing, 0s.

    Parts are times in ns, compared as whole picoseconds.
    """
    whole = sum(ps_of(part) for part in parts)
    if whole <= 0:
        return [0] * len(parts)
    exact = [ps_of(part) * _STEPS for part in parts]
    floors = [value // whole for value in exact]
    by_remainder = sorted(range(len(parts)), key=lambda at: -(exact[at] % whole))
    for at in by_remainder[: _STEPS - sum(floors)]:
        floors[at] += 1
    return floors


def percent(tenth: int) -> str:
    return f"{tenth / 10:.1f} %"
