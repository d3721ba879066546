"""The eight phases that DualPipe and DualPipeV share, for one device.

Source: DeepSeek-V3 technical report (2024), section 3.2.1 and figure 5.
"""

from __future__ import annotations

from yantra.workloads.schedules.schedule import Action
from yantra.workloads.schedules.split_backward import SplitOrder


def phases(
    order: SplitOrder, near: int, far: int, *, to_turn: int, passed: int, each: int
) -> list[Action]:
    for _ in range(2 * to_turn):
        order.forward(near)
    for _ in range(passed + 1):
        order.forward(near)
        order.forward(far)
    for _ in range(to_turn):
        order.input_gradient(far)
        order.weight_gradient()
        order.forward(far)
    for j in range(each - 2 * to_turn - passed - 1):
        if j == 0 and to_turn == 0:  # the neighbour waits for this forward: do not tie it to B
            order.forward(near)
            order.backward(far)
        else:
            order.pair(near, far)
        order.pair(far, near)
    for _ in range(to_turn):
        order.backward(far)
        order.pair(far, near)
    _last_gradients(order, near, far, passed + 1)
    for _ in range(to_turn):
        order.weight_gradient()
        order.input_gradient(near)
    order.flush()
    return order.actions


def _last_gradients(order: SplitOrder, near: int, far: int, rounds: int) -> None:
    for number in range(2 * rounds):
        chunk = near if number % 2 else far
        if number < rounds:
            order.backward(chunk)
        else:
            order.input_gradient(chunk)
