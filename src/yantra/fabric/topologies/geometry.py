"""Geometry that topologies share."""

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
    """Return the next position the shorter way around a ring, upwards if equal."""
    upwards = (to - at) % n
    return (at - 1 if n - upwards < upwards else at + 1) % n


@cache
def near_square(n: int) -> int:
    return next(divisor for divisor in range(isqrt(n), 0, -1) if n % divisor == 0)
