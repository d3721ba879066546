"""Algorithm and bus bandwidth of a collective.

*Algorithm bandwidth* is nccl-tests' buffer over time; *bus bandwidth* that times a factor which
makes it the rate of a rank's links where they are the limit.

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
    """The buffer of a trace's `comm_size`."""
    return comm_size * ranks if kind in _OF_PARTS else comm_size


def comm_size(kind: str, buffer: int, ranks: int) -> int:
    """Parts are rounded up to a byte."""
    return -(-buffer // ranks) if kind in _OF_PARTS else buffer


def bus_factor(kind: str, ranks: int) -> Fraction | None:
    """Bus bandwidth over algorithm bandwidth; None for a barrier."""
    if kind == "all_reduce":
        return Fraction(2 * (ranks - 1), ranks)
    if kind in _BUT_OWN_PART:
        return Fraction(ranks - 1, ranks)
    return _WHOLE if kind in _ONCE else None


def bus_rate(kind: str, ranks: int, buffer: float, time: float) -> float:
    """Bus bandwidth, in the unit of buffer / time; NaN for a kind without one."""
    factor = bus_factor(kind, ranks)
    return float("nan") if factor is None or not time else float(factor) * buffer / time
