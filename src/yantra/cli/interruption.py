"""Ctrl-C and SIGTERM: never within a row that is kept, and at once where numpy hears none."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from threading import Thread
from types import FrameType
from typing import Any, TypeVar

_T = TypeVar("_T")
_SLICE_S = 0.2
_ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held() -> Iterator[None]:
    """Delay interruptions to the block's end.

    Only the main thread gets them.
    """
    came: list[tuple[int, FrameType | None]] = []
    before: dict[int, Any] = {}
    with suppress(ValueError):
        for number in _ENDS:
            before[number] = signal.signal(
                number, lambda *signal_and_frame: came.append(signal_and_frame)
            )
    try:
        yield
    finally:
        for held_signal, handler in before.items():
            signal.signal(held_signal, handler)
    for sent, frame in came[:1]:
        if callable(before[sent]):
            before[sent](sent, frame)
        else:
            os.kill(os.getpid(), sent)


def heard(call: Callable[[], _T]) -> _T:
    """What a call gives, in a thread: an interruption ends the wait for it."""
    given: Future[_T] = Future()

    def work() -> None:
        try:
            given.set_result(call())
        except BaseException as error:
            given.set_exception(error)

    Thread(target=work, daemon=True).start()
    while not wait((given,), _SLICE_S).done:
        pass
    return given.result()
