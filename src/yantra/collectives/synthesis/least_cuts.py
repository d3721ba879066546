"""Least cuts of devices joined by directed links: exact, in whole numbers of up to 124 bits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from yantra import _core
from yantra.base.errors import UnsupportedError

Link = tuple[int, int, int]
"""From, to, capacity."""

_MOST_BITS = 120


class Columns(NamedTuple):
    start: NDArray[np.uint32]
    end: NDArray[np.uint32]
    high: NDArray[np.uint64]
    low: NDArray[np.uint64]


def whole(rates: Sequence[Fraction]) -> tuple[Fraction, list[int]]:
    below = math.lcm(*(rate.denominator for rate in rates))
    units = [rate.numerator * (below // rate.denominator) for rate in rates]
    common = math.gcd(*units)
    return Fraction(below, common), [unit // common for unit in units]


def columns(links: Sequence[Link], times: int = 1) -> Columns:
    """Raises UnsupportedError if sums times `times` are too large."""
    if (sum(capacity for *_, capacity in links) * times).bit_length() > _MOST_BITS:
        raise UnsupportedError(
            f"the rates of the links need more than {_MOST_BITS} bits together; "
            "round them, for they are too different to be added exactly"
        )
    low = (1 << 64) - 1
    return Columns(
        np.array([start for start, _, _ in links], np.uint32),
        np.array([end for _, end, _ in links], np.uint32),
        np.array([capacity >> 64 for *_, capacity in links], np.uint64),
        np.array([capacity & low for *_, capacity in links], np.uint64),
    )


def least_cut(devices: int, links: Sequence[Link], source: int, sinks: Iterable[int]) -> Cut:
    given = columns(links)._asdict()
    found = _core.least_cut(devices=devices, source=source, sinks=list(sinks), **given)
    return _cut(links, found)


def gather_cut(ranks: int, devices: int, links: Sequence[Link], sinks: Iterable[int]) -> Cut:
    """The set with most ranks for what it lets out, without some sink; every rank reaches every
    other.
    """
    given = columns(links, ranks * ranks)._asdict()
    return _cut(links, _core.gather_cut(ranks=ranks, devices=devices, sinks=list(sinks), **given))


class Cut(NamedTuple):
    exit: int
    inside: frozenset[int]


def _cut(links: Sequence[Link], found: _core.CutSide) -> Cut:
    inside = frozenset(device for device, is_in in enumerate(found.inside) if is_in)
    return Cut(exit_of(links, inside), inside)


def exit_of(links: Iterable[Link], inside: frozenset[int]) -> int:
    return sum(rate for start, end, rate in links if start in inside and end not in inside)
