"""ZB-H2: a longer warm-up and more weight gradients put off, so that no bubble is left inside.

Where F = b = W no device idles between its passes, for the activations of 2p - 1 micro-batches.

Source: Qi et al., "Zero bubble (almost) pipeline parallelism", ICLR 2024, section 2.2.
"""

from __future__ import annotations

from yantra.workloads.schedules.schedule import Action, Schedule
from yantra.workloads.schedules.split_backward import one_forward_one_input_gradient

PLUGIN_NAME = "zb-h2"


class ZBH2(Schedule):
    """Device i puts off 2i weight gradients."""

    def order(self, device: int, p: int, m: int, v: int) -> list[Action]:
        return one_forward_one_input_gradient(
            m, warm_up=2 * (p - device - 1), most_waiting=2 * device
        )


PLUGIN = ZBH2
