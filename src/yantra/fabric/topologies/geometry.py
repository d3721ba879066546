"""Pieces of geometry that several topologies share."""

from __future__ import annotations

from functools import cache
from math import isqrt
from typing import TYPE_CHECKING

from yantra.fabric.topologies.topology import Link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def both_ways(pairs: Iterable[Link]) -> Iterator[Link]:
    for one, other in pairs:
        yield one, other
        yield other, one


def around(n: int, at: int, to: int) -> int:
    """Return the next position on the shorter way around a ring of n, upwards if both are equal."""
    upwards = (to - at) % n
    return (at - 1 if n - upwards < upwards else at + 1) % n


@cache
def near_square(n: int) -> int:
    """Return the largest divisor of n that is at most its square root."""
    return next(divisor for divisor in range(isqrt(n), 0, -1) if n % divisor == 0)
