"""GPipe: all forward passes, then all backward passes.

The bubble is (p - 1) / (m + p - 1) of the time; every device holds the activations of all m
micro-batches.

Source: Huang et al., GPipe, NeurIPS 2019, figure 2c.
"""

from __future__ import annotations

from yantra.workloads.schedules.schedule import Schedule, Step


class GPipe(Schedule):
    def order(self, device: int, p: int, m: int, v: int) -> list[Step]:
        return [Step("F", j) for j in range(m)] + [Step("B", j) for j in range(m)]


PLUGIN = GPipe
