"""Threads that work for the main one end on its order; others, and their next calls, do not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from yantra import _core
from yantra._core import Stop, Stopped
from yantra.base import cores as of_cores
from yantra.base.at_once import in_order
from yantra.chakra import TraceBuilder

NODES = 20_000
LONG_S = 30.0


def _trace() -> bytes:
    builder = TraceBuilder()
    node = None
    for _ in range(NODES):
        node = builder.compute(name="x" * 60, duration_micros=1, after=[node] if node else [])
    return builder.build().to_bytes()


@pytest.fixture(scope="module")
def content() -> bytes:
    made = _trace()
    assert len(made) > 1 << 20
    return made


def _again_and_again(content: bytes, until: Callable[[], bool] = lambda: False) -> str:
    end = time.monotonic() + LONG_S
    while time.monotonic() < end and not until():
        try:
            _core.decode_trace(content)
        except Stopped:
            return "stopped"
    return "not stopped"


def test_a_thread_that_hears_a_stop_ends_and_another_goes_on(content: bytes) -> None:
    stop, other = Stop(), Stop()
    with (
        ThreadPoolExecutor(1, initializer=stop.hear) as hears,
        ThreadPoolExecutor(1, initializer=other.hear) as hears_another,
        ThreadPoolExecutor(1) as hears_none,
    ):
        ended = hears.submit(_again_and_again, content)
        on = [
            pool.submit(_again_and_again, content, ended.done)
            for pool in (hears_another, hears_none)
        ]
        time.sleep(0.05)
        stop.say()
        assert ended.result() == "stopped"
        assert [each.result() for each in on] == ["not stopped", "not stopped"]
    assert len(_core.decode_trace(content)) == NODES, "nor this one, afterwards"


def test_who_leaves_calls_on_all_cores_waits_for_none_of_them(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_cores, "cores", lambda: 2)
    ends: list[str] = []
    is_under_way = threading.Event()

    def call(item: int) -> int:
        if item == 0:
            assert is_under_way.wait(LONG_S)
        else:
            is_under_way.set()
            ends.append(_again_and_again(content))
        return item

    answers = in_order(call, range(50), lambda _item: True, Stop())
    begun = time.monotonic()
    assert next(answers) == 0
    answers.close()
    assert time.monotonic() - begun < LONG_S / 2
    assert ends and set(ends) == {"stopped"}
