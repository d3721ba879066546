"""What a device draws: one law for serving, training, formulas and caps.

    W = min(limit, floor + (WORKING x limit - floor) x share of time at work + OPERATION x ops/s)

`floor` is drawn at all times, stated or FLOOR x limit; at work is a device whose kernels fill it.
The constants have the least squared relative errors, each model and device alike, of 122 iterations
of decode on H100 and B200 (ML.ENERGY leaderboard v3, vLLM). Trade-off: one law for all classes of
devices, whose limits scale it; bytes and clocks are in no term.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

FLOOR: Final = 0.22
WORKING: Final = 0.74
OPERATION: Final = 0.82e-12
"""Joules of an operation that runs, of rows that only fill a tile, too."""

INTERVAL: Final = 0.18
"""The half-width of 90 % of powers, as a logarithm: of decode, which was measured."""

UNJUDGED: Final = 2 * INTERVAL
"""Of training, whose watts nobody has measured in public: twice as wide."""


class Power(NamedTuple):
    """A device's law; `floor_w` None takes the class's share of the limit, `cap_w` no cap."""

    limit_w: float
    floor_w: float | None = None
    cap_w: float | None = None

    @property
    def idle_w(self) -> float:
        """What it draws without work."""
        floor = FLOOR * self.limit_w if self.floor_w is None else self.floor_w
        return min(floor, self.most_w)

    @property
    def working_w(self) -> float:
        """What it draws at work, without operations."""
        return max(WORKING * self.limit_w, self.idle_w)

    @property
    def most_w(self) -> float:
        """What it never exceeds."""
        return self.limit_w if self.cap_w is None else min(self.cap_w, self.limit_w)

    def joules(self, seconds: Any, work_s: Any = 0.0, operations: Any = 0.0) -> Any:
        """Energy of a time of which `work_s` at work; numbers or arrays."""
        import numpy as np

        drawn = self.idle_w * seconds + (self.working_w - self.idle_w) * work_s
        return np.minimum(drawn + OPERATION * operations, self.most_w * seconds)
