"""DualPipeV: DualPipe cut in half; two chunks per device in the shape of a V, and one copy.

The bubble is (p - 1) (F&B + B - 3W) in times of one chunk.

Source: DeepSeek's DualPipe; Qi, Wan, Huang and Lin (Sea AI Lab, 2025).
"""

from __future__ import annotations

from yantra.workloads.schedules.bidirectional import phases
from yantra.workloads.schedules.limits import enough_microbatches
from yantra.workloads.schedules.schedule import Action, Schedule
from yantra.workloads.schedules.split_backward import SplitOrder
from yantra.workloads.schedules.stages import Stages, v_shape


class DualPipeV(Schedule):
    vpp = (1, 2)

    def limits(self, p: int, m: int, v: int) -> str | None:
        return enough_microbatches(p, m)

    def stages(self, p: int, v: int = 1) -> Stages:
        return v_shape(p)

    def order(self, device: int, p: int, m: int, v: int) -> list[Action]:
        order = SplitOrder(first=(0, 0))
        return phases(order, 0, 1, to_turn=p - device - 1, passed=device, each=m)


PLUGIN = DualPipeV
