"""Interleaved 1F1B: every device holds v chunks of layers, and the pipeline passes it v times.

The bubble is v times smaller than 1F1B's, for v times the messages and, on device 0, the
activations of p * v + p - 1 chunks.

Source: Narayanan et al., SC 2021, section 2.2.
"""

from __future__ import annotations

from functools import lru_cache

from yantra.workloads.schedules.schedule import Schedule, Step, in_turns

PLUGIN_NAME = "interleaved"


class Interleaved(Schedule):
    vpp = None

    def limits(self, p: int, m: int, v: int) -> str | None:
        if m % p == 0:
            return None
        below, above = m // p * p, (m // p + 1) * p
        nearest = f"the nearest are {below} and {above}" if below else f"the nearest is {above}"
        return f"needs micro-batches in groups of one per device ({p}), got {m}; {nearest}"

    def group(self, p: int, m: int) -> int:
        return p

    def order(self, device: int, p: int, m: int, v: int) -> list[Step]:
        each = self.group(p, m)
        forward, backward = _passes(each, m, v)
        warm_up = min(2 * (p - device - 1) + (v - 1) * each, m * v)
        return in_turns(forward, backward, warm_up)


@lru_cache(maxsize=2)  # shared by a pipeline's devices
def _passes(each: int, m: int, v: int) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    table = [
        (j, chunk)
        for first in range(0, m, each)
        for chunk in range(v)
        for j in range(first, first + each)
    ]
    forward = tuple([Step("F", j, chunk) for j, chunk in table])
    return forward, tuple([Step("B", j, v - 1 - chunk) for j, chunk in table])


PLUGIN = Interleaved
