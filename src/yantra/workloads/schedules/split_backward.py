"""What zero-bubble schedules share: weight gradients wait, the oldest goes first."""

from __future__ import annotations

from collections import deque

from yantra.workloads.schedules.schedule import Action, Kind, Pair, Step


class SplitOrder:
    """The order of one device, written pass by pass."""

    def __init__(self, first: tuple[int, ...] = (0,)) -> None:
        self.actions: list[Action] = []
        self._next: dict[str, list[int]] = {"F": list(first), "B": list(first)}
        self._waiting: deque[Step] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def forward(self, chunk: int = 0) -> None:
        self.actions.append(self._step("F", chunk))

    def backward(self, chunk: int = 0) -> None:
        self.actions.append(self._step("B", chunk))

    def input_gradient(self, chunk: int = 0) -> None:
        step = self._step("b", chunk)
        self.actions.append(step)
        self._waiting.append(step)

    def weight_gradient(self) -> None:
        step = self._waiting.popleft()
        self.actions.append(Step("W", step.microbatch, step.chunk))

    def flush(self) -> None:
        while self._waiting:
            self.weight_gradient()

    def pair(self, forward: int, backward: int) -> None:
        self.actions.append(Pair(self._step("F", forward), self._step("B", backward)))

    def _step(self, kind: Kind, chunk: int) -> Step:
        numbers = self._next["F" if kind == "F" else "B"]
        step = Step(kind, numbers[chunk], chunk)
        numbers[chunk] += 1
        return step


def one_forward_one_input_gradient(m: int, warm_up: int, most_waiting: int) -> list[Action]:
    """1F1B with up to `most_waiting` weight gradients put off."""
    order = SplitOrder()
    warm_up = min(warm_up, m)
    for _ in range(warm_up):
        order.forward()
    for j in range(m):
        if warm_up + j < m:
            order.forward()
        order.input_gradient()
        if order.waiting > most_waiting:
            order.weight_gradient()
    order.flush()
    return order.actions
