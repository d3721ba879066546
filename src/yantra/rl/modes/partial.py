"""Partial rollouts: a step takes the first groups that end, and others go on behind it.

Trade-off: no step waits for the longest sample, which is of several versions of the weights.
Source: Kimi Team, Kimi k1.5, arXiv 2501.12599 (2025).
"""

from __future__ import annotations

from yantra.rl.modes.mode import Asked, Loop, Mode


class Partial(Mode):
    about = "as sync, but a step takes the first groups that end, and others go on behind it"
    colocated = True

    def loop(self, asked: Asked) -> Loop:
        return Loop("partial", in_flight_groups=asked.at_once or 2 * asked.prompts, kv=asked.kv)


PLUGIN = Partial
