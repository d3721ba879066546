"""Every registered reader survives a few hundred broken inputs; the loop finds planted faults."""

from __future__ import annotations

import time

import pytest

from tests.fuzz import loop, readers
from tests.fuzz.readers import Reader
from yantra.base.errors import TraceError


@pytest.mark.parametrize("name", readers.names())
def test_a_reader_ends_in_a_result_or_a_yantra_error(name: str) -> None:
    found = loop.fuzz(readers.load(name), runs=300, seconds=5, seed=7)
    assert found.failure is None, f"{found.failure.data!r}\n{found.failure.problem}"


def _reader(read: object) -> Reader:
    return Reader("planted", "json", lambda: [b'{"a": [1, 2]}'], read)  # type: ignore[arg-type]


def test_the_loop_finds_an_exception_that_is_not_ours() -> None:
    def read(data: bytes) -> None:
        if b'"a"' not in data:
            raise KeyError("a")

    found = loop.fuzz(_reader(read), runs=500)
    assert found.failure is not None
    assert b'"a"' not in found.failure.data
    assert "KeyError" in found.failure.problem


def test_the_loop_keeps_inputs_with_new_outcomes() -> None:
    def read(data: bytes) -> None:
        raise TraceError(f"{'many' if len(data) > 20 else 'few'} bytes")

    found = loop.fuzz(_reader(read), runs=200)
    assert found.failure is None
    assert found.kept == 2


def test_the_loop_stops_a_reader_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LONGEST_SECONDS", 0.05)
    found = loop.fuzz(_reader(lambda data: time.sleep(5)), runs=3)
    assert found.failure is not None
    assert "TimeoutError" in found.failure.problem
