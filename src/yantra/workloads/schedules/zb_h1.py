"""ZB-H1: 1F1B whose weight gradients are put off to fill the bubble at the end.

A third of 1F1B's bubble where F = b = W, with the same peak memory.

Source: Qi et al., "Zero bubble (almost) pipeline parallelism", ICLR 2024, section 2.1.
"""

from __future__ import annotations

from yantra.workloads.schedules.schedule import Action, Schedule
from yantra.workloads.schedules.split_backward import one_forward_one_input_gradient

PLUGIN_NAME = "zb-h1"


class ZBH1(Schedule):
    """Device i puts off i weight gradients."""

    def order(self, device: int, p: int, m: int, v: int) -> list[Action]:
        return one_forward_one_input_gradient(m, warm_up=p - device - 1, most_waiting=device)


PLUGIN = ZBH1
