"""1F1B: after a warm-up, every device alternates one forward and one backward pass.

The bubble is GPipe's, but device i holds the activations of only min(m, p - i) micro-batches.

Source: Narayanan et al., ICML 2021 (PipeDream-Flush); Megatron-LM without interleaving.
"""

from __future__ import annotations

from functools import lru_cache

from yantra.workloads.schedules.schedule import Schedule, Step, in_turns

PLUGIN_NAME = "1f1b"


class OneFOneB(Schedule):
    """Warms up with one forward pass per following device."""

    def order(self, device: int, p: int, m: int, v: int) -> list[Step]:
        return in_turns(*_passes(m), min(p - device - 1, m))


@lru_cache(maxsize=2)  # shared by a pipeline's devices
def _passes(m: int) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    return tuple([Step("F", j) for j in range(m)]), tuple([Step("B", j) for j in range(m)])


PLUGIN = OneFOneB
