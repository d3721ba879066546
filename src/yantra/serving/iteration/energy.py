"""Joules of an iteration: a share of a device's power at all times, another while kernels that read
weights or keys run, and one for each operation; never more than all of it.

    joules / power = min(seconds, IDLE x seconds + BUSY x heavy seconds + operations / RATE)

Fitted to 122 iterations of decode on H100 and B200 (ML.ENERGY leaderboard v3, vLLM). Trade-off: a
law of decoding; what a host draws is not in it.
"""

from __future__ import annotations

IDLE, BUSY = 0.35, 0.5
RATE = 1e15 / 2.25
"""Operations a second that would draw all of a device's power by themselves."""


def joules(power_w: float, seconds: float, heavy_s: float, operations: float) -> float:
    """The energy of one device; `heavy_s` is its time in products, attention and experts."""
    drawn = IDLE * seconds + BUSY * heavy_s + operations / RATE
    return power_w * min(seconds, drawn)
