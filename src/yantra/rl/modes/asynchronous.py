"""Asynchronous: groups start one by one, as long as none can be too stale.

A step of the loop is a mini-batch, as in SkyRL: weights move after each.

Trade-off: no side waits for a whole batch, and weights move under running samples. `staleness`
bounds when a group starts: with B groups of a mini-batch, one that n others overtake is up to
`staleness` + n / B stale, rounded up.
Source: Fu et al., AReaL, arXiv 2505.24298 (2025).
"""

from __future__ import annotations

from yantra.rl.modes.mode import Asked, Loop, Mode

PLUGIN_NAME = "async"


class Asynchronous(Mode):
    about = "groups start one by one, up to `staleness` mini-batches ahead of training"
    counts = "mini-batches"

    def loop(self, asked: Asked) -> Loop:
        return Loop(
            "async",
            groups_per_step=asked.minibatch,
            staleness=asked.staleness,
            max_concurrent=asked.at_once or asked.prompts * (asked.staleness + 1),
            refit_rule=asked.refit_rule,
            kv=asked.kv,
        )


PLUGIN = Asynchronous
