"""Calls on all cores give what calls one after the other give."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from yantra._core import Stop
from yantra.base import cores as of_cores
from yantra.base.at_once import in_order


def _squared(item: int) -> int:
    time.sleep(0.001 * (item % 3))  # later ones are ready before earlier ones
    if item < 0:
        raise ValueError(str(item))
    return item * item


@pytest.mark.parametrize("cores", [1, 2, 5])
@pytest.mark.parametrize("large_from", [0, 7, 1000])
def test_answers_come_in_the_order_of_items(
    monkeypatch: pytest.MonkeyPatch, cores: int, large_from: int
) -> None:
    monkeypatch.setattr(of_cores, "cores", lambda: cores)
    items = range(40)
    assert list(in_order(_squared, items, lambda item: item >= large_from, Stop())) == [
        i * i for i in items
    ]


@pytest.mark.parametrize("cores", [1, 3])
def test_the_first_error_is_that_of_the_first_item_that_has_one(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(of_cores, "cores", lambda: cores)

    def items() -> Iterator[int]:
        yield from (2, 1, -5, -3, 4)
        raise KeyError("the items end badly")

    answers = in_order(_squared, items(), lambda item: True, Stop())
    assert [next(answers), next(answers)] == [4, 1]
    with pytest.raises(ValueError, match="-5"):
        next(answers)


def test_what_items_raise_comes_after_the_answers_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of_cores, "cores", lambda: 3)

    def items() -> Iterator[int]:
        yield from (3, 2)
        raise KeyError("no third")

    answers = in_order(_squared, items(), lambda item: True, Stop())
    assert [next(answers), next(answers)] == [9, 4]
    with pytest.raises(KeyError, match="no third"):
        next(answers)


def test_small_items_start_no_thread() -> None:
    names = list(
        in_order(lambda _: threading.current_thread().name, range(9), lambda _: False, Stop())
    )
    assert set(names) == {threading.current_thread().name}
