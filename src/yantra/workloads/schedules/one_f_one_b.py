"""1F1B: after a warm-up, every device alternates one forward and one backward pass.

The bubble is that of GPipe, (p - 1) / (m + p - 1) of the time, but device i holds the activations
of min(m, p - i) micro-batches only.

Source: Narayanan et al., "Memory-efficient pipeline-parallel DNN training", ICML 2021
(PipeDream-Flush); Megatron-LM's schedule without interleaving.
"""

from __future__ import annotations

from yantra.workloads.schedules.schedule import Schedule, Step

PLUGIN_NAME = "1f1b"


class OneFOneB(Schedule):
    """A warm-up of one forward pass per device that follows."""

    def order(self, device: int, p: int, m: int, v: int) -> list[Step]:
        warm_up = min(p - device - 1, m)
        steps = [Step("F", j) for j in range(warm_up)]
        for j in range(m - warm_up):
            steps += (Step("F", warm_up + j), Step("B", j))
        return steps + [Step("B", j) for j in range(m - warm_up, m)]


PLUGIN = OneFOneB
