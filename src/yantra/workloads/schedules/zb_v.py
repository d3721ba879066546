"""ZB-V: two chunks per device in the shape of a V, so that the first device also has the loss.

Where F = b = W no device idles between its first and last pass, with 1F1B's activations of p
micro-batches, for twice the messages.

Source: Qi et al., "Pipeline parallelism with controllable memory", NeurIPS 2024 (the fixed order
that its greedy generator finds; needs at least 2p micro-batches).
"""

from __future__ import annotations

from yantra.workloads.schedules.limits import enough_microbatches
from yantra.workloads.schedules.schedule import Action, Schedule
from yantra.workloads.schedules.split_backward import SplitOrder
from yantra.workloads.schedules.stages import Stages, v_shape

PLUGIN_NAME = "zb-v"


class ZBV(Schedule):
    vpp = (1, 2)

    def limits(self, p: int, m: int, v: int) -> str | None:
        return enough_microbatches(p, m)

    def stages(self, p: int, v: int = 1) -> Stages:
        return v_shape(p)

    def order(self, device: int, p: int, m: int, v: int) -> list[Action]:
        order = SplitOrder(first=(0, 0))
        to_turn = p - device - 1
        for _ in range(2 * to_turn + 1):
            order.forward(0)
        for _ in range(device):
            order.forward(1)
            order.forward(0)
        order.forward(1)
        for _ in range(to_turn):
            _whole(order, 1)
            order.forward(1)
        for j in range(m - p):
            _whole(order, 1)
            if j < m - 2 * p + device + 1:
                order.forward(0)
            _whole(order, 0)
            order.forward(1)
        for _ in range(device + 1):
            order.input_gradient(1)
            order.input_gradient(0)
        for _ in range(to_turn):
            order.weight_gradient()
            order.input_gradient(0)
        order.flush()
        return order.actions


def _whole(order: SplitOrder, chunk: int) -> None:
    order.input_gradient(chunk)
    order.weight_gradient()


PLUGIN = ZBV
