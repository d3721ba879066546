"""GPipe: all forward passes, then all backward passes.

The simplest order, with 1F1B's bubble, (p - 1) / (m + p - 1) of the time; but every device holds
the activations of all m micro-batches.

Source: Huang et al., "GPipe: efficient training of giant neural networks using pipeline
parallelism", NeurIPS 2019, figure 2c.
"""

from __future__ import annotations

from yantra.workloads.schedules.schedule import Schedule, Step


class GPipe(Schedule):
    """Forward, turn, backward."""

    def order(self, device: int, p: int, m: int, v: int) -> list[Step]:
        return [Step("F", j) for j in range(m)] + [Step("B", j) for j in range(m)]


PLUGIN = GPipe
