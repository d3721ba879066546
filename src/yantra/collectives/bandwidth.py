"""How fast a collective was, as everybody says it: algorithm and bus bandwidth.

The *buffer* of a collective is what nccl-tests call its size: the buffer of a rank, of an
all-gather, gather, reduce-scatter, scatter and all-to-all the whole one, which has a part for each
rank. The *algorithm bandwidth* is the buffer over the time. The *bus bandwidth* is that times a
factor of the kind and the number of ranks, such that it is the rate of each rank's links where they
are the limit, whatever the number of ranks; so it is the one to hold against a link.

A trace's `comm_size` is the buffer, but of an all-gather and gather the part that a rank gives.
Messages between two ranks have the factor 1. Switches that add make both exceed a link's rate.

Source: NVIDIA, nccl-tests, doc/PERFORMANCE.md and the `GetBw` of each test (v2.13.9).
"""

from __future__ import annotations

from fractions import Fraction

_WHOLE = Fraction(1)
_OF_PARTS = ("all_gather", "gather")
_BUT_OWN_PART = (
    "all_gather",
    "gather",
    "reduce_scatter",
    "reduce_scatter_block",
    "scatter",
    "all_to_all",
)
_ONCE = ("broadcast", "reduce", "send", "recv", "receive")


def buffer_bytes(kind: str, comm_size: int, ranks: int) -> int:
    """Return what nccl-tests call the size, of a collective of which a trace says `comm_size`."""
    return comm_size * ranks if kind in _OF_PARTS else comm_size


def comm_size(kind: str, buffer: int, ranks: int) -> int:
    """Return what a trace says of a collective of a buffer; parts are rounded up to a byte."""
    return -(-buffer // ranks) if kind in _OF_PARTS else buffer


def bus_factor(kind: str, ranks: int) -> Fraction | None:
    """Return bus bandwidth over algorithm bandwidth; None of what has no such thing: a barrier."""
    if kind == "all_reduce":
        return Fraction(2 * (ranks - 1), ranks)
    if kind in _BUT_OWN_PART:
        return Fraction(ranks - 1, ranks)
    return _WHOLE if kind in _ONCE else None


def bus_rate(kind: str, ranks: int, buffer: float, time: float) -> float:
    """Return the bus bandwidth of a buffer in a time, in the unit of their quotient.

    Of a kind that has none it is not a number.
    """
    factor = bus_factor(kind, ranks)
    return float("nan") if factor is None or not time else float(factor) * buffer / time
