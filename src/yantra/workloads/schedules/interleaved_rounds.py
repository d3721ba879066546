"""Interleaved 1F1B in rounds: groups of as many micro-batches as fit, not of one per device.

The m micro-batches go in max(1, m // p) equal rounds.

Source: PyTorch, `torch.distributed.pipelining.ScheduleInterleaved1F1B`.
"""

from __future__ import annotations

from itertools import count

from yantra.workloads.schedules.interleaved import Interleaved

PLUGIN_NAME = "interleaved-rounds"


class InterleavedRounds(Interleaved):
    """Each round passes a device's chunks in turn."""

    def limits(self, p: int, m: int, v: int) -> str | None:
        if _is_even(p, m):
            return None
        below = next(less for less in range(m - 1, 0, -1) if _is_even(p, less))
        above = next(more for more in count(m + 1) if _is_even(p, more))
        needed = f"needs micro-batches in equal rounds of at least one per device ({p})"
        return f"{needed}, got {m}; the nearest are {below} and {above}"

    def group(self, p: int, m: int) -> int:
        return m // max(1, m // p)


def _is_even(p: int, m: int) -> bool:
    return m % max(1, m // p) == 0


PLUGIN = InterleavedRounds
