"""Ends a step where the script's first optimizer has stepped.

PyTorch's hook runs inside the range `Optimizer.step`, so `optimizer.step` is replaced on that
object.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MethodType
from typing import Any


@contextmanager
def stepping(step: Callable[[], None]) -> Iterator[None]:
    """Call `step` after each step of the first optimizer, until the block ends."""
    from torch.optim.optimizer import register_optimizer_step_post_hook

    first = _First(step)
    handle = register_optimizer_step_post_hook(first.stepped)
    try:
        yield
    finally:
        handle.remove()
        first.let_go()


class _First:
    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step
        self._optimizer: Any = None
        self._own: Any = None  # on the object, in place of the class's method
        self._replacement: Any = None
        self._calls = 0  # of the replacement, still running
        self._over = False

    def stepped(self, optimizer: Any, *_: Any) -> None:
        if self._optimizer is None:
            self._optimizer = optimizer
            self._replace(optimizer)
        if optimizer is self._optimizer and not self._calls:
            self._step()

    def let_go(self) -> None:
        self._over = True
        optimizer = self._optimizer
        if optimizer is None or vars(optimizer).get("step") is not self._replacement:
            return
        if self._own is None:
            del optimizer.step
        else:
            optimizer.step = self._own

    def _replace(self, optimizer: Any) -> None:
        inner = optimizer.step
        self._own = vars(optimizer).get("step")

        @functools.wraps(inner)  # keeps schedulers' marks
        def step_and_tell(_: Any, *rest: Any, **named: Any) -> Any:
            self._calls += 1
            try:
                result = inner(*rest, **named)
            finally:
                self._calls -= 1
            if not self._calls and not self._over:
                self._step()
            return result

        # Later schedulers ask for its function.
        self._replacement = optimizer.step = MethodType(step_and_tell, optimizer)
