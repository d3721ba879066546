"""Off by k: some GPUs generate the samples of steps ahead while others train.

Trade-off: the longer side alone counts, and samples are up to so many steps stale.
Source: Noukhovitch et al., Asynchronous RLHF, arXiv 2410.18252 (2024).
"""

from __future__ import annotations

from yantra.rl.modes.mode import Asked, Loop, Mode

PLUGIN_NAME = "k-off"


class KOff(Mode):
    about = "the same, up to `staleness` steps ahead"
    counts = "steps"

    def loop(self, asked: Asked) -> Loop:
        return Loop("k-off", k=asked.staleness, refit_rule=asked.refit_rule, kv=asked.kv)

    def most_stale(self, asked: Asked) -> int:
        return (asked.staleness + 1) * (asked.prompts // asked.minibatch) - 1


PLUGIN = KOff
