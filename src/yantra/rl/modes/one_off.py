"""Off by one: some GPUs generate the next step's samples while others train.

Trade-off: as `k-off`, of one step.
Source: Noukhovitch et al., Asynchronous RLHF, arXiv 2410.18252 (2024).
"""

from __future__ import annotations

from yantra.rl.modes.k_off import KOff

PLUGIN_NAME = "one-off"


class OneOff(KOff):
    about = "some GPUs generate the next step's samples while others train"
    counts = ""
    ahead = 1


PLUGIN = OneOff
