"""Columns exchanged with plug-ins: signed integers, durations.

Trade-off: up to 2**63 - 1, half of what a trace can hold, so that differences may be negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import TraceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_NS = 9e15
"""The longest duration: a run counts picoseconds, and that is 104 days of them."""


class Wrong(NamedTuple):
    """The first row of a column that holds no duration, and why."""

    row: int
    problem: str


def signed(column: Any, what: str) -> NDArray[np.int64]:
    """Return numbers from 0 as int64; TraceError if `what` is above 2**63 - 1."""
    import numpy as np

    numbers = np.asarray(column, np.uint64)
    if numbers.size and int(numbers.max()) >= 2**63:
        raise TraceError(f"{what}: expected at most 2**63 - 1, got {int(numbers.max())}")
    return numbers.astype(np.int64)


def not_a_duration(ns: NDArray[np.float64], name: str = "it") -> Wrong | None:
    """Return the first row that is negative, not finite, or longer than can be."""
    import numpy as np

    wrong = ~np.isfinite(ns) | (ns < 0)
    if wrong.any():
        row = int(wrong.argmax())
        return Wrong(row, f"expected a finite duration from 0 up; {name} is {ns[row]:g} ns")
    long = ns > LONGEST_NS
    if long.any():
        row = int(long.argmax())
        return Wrong(
            row, f"expected at most {LONGEST_NS:g} ns (104 days); {name} is {ns[row]:g} ns"
        )
    return None
