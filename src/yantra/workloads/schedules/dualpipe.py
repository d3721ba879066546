"""DualPipe: micro-batches enter at both ends, and forward and backward passes overlap in pairs.

The bubble is (p / 2 - 1) (F&B + B - 3W), at the price of two copies of every stage and the
activations of p + 1 micro-batches.

Source: DeepSeek-V3 technical report (2024), section 3.2.1, table 2 and figure 5.
"""

from __future__ import annotations

from yantra.workloads.schedules.bidirectional import phases
from yantra.workloads.schedules.limits import enough_microbatches
from yantra.workloads.schedules.schedule import Action, Schedule
from yantra.workloads.schedules.split_backward import SplitOrder
from yantra.workloads.schedules.stages import Stages, mirror


class DualPipe(Schedule):
    def limits(self, p: int, m: int, v: int) -> str | None:
        if p % 2:
            nearest = f"are {p - 1} and {p + 1}" if p > 1 else "is 2"
            return f"needs an even number of devices, got {p}; the nearest {nearest}"
        return enough_microbatches(p, m, even=True)

    def stages(self, p: int, v: int = 1) -> Stages:
        return mirror(p)

    def order(self, device: int, p: int, m: int, v: int) -> list[Action]:
        near = 0 if device < p // 2 else 1
        passed = min(device, p - 1 - device)
        order = SplitOrder(first=(0, m // 2))
        to_turn = p // 2 - passed - 1
        return phases(order, near, 1 - near, to_turn=to_turn, passed=passed, each=m // 2)


PLUGIN = DualPipe
