"""Synchronous: all GPUs generate, then all train.

Trade-off: samples are as fresh as may be, and GPUs wait for the longest of them.
Source: Sheng et al., HybridFlow, arXiv 2409.19256 (2024).
"""

from __future__ import annotations

from yantra.rl.modes.mode import Asked, Loop, Mode


class Sync(Mode):
    about = "all GPUs generate, then all train"
    colocated = True
    waits = True

    def loop(self, asked: Asked) -> Loop:
        return Loop("sync", routing="round-robin")

    def most_stale(self, asked: Asked) -> int:
        return asked.prompts // asked.minibatch - 1


PLUGIN = Sync
