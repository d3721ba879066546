"""`uncollected` puts the search for cycles off and leaves no cycle for good."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from yantra.base import garbage
from yantra.base.garbage import uncollected


class _Ring:
    """An object that holds itself."""

    def __init__(self) -> None:
        self.itself = self


def _dropped() -> weakref.ref[_Ring]:
    """Return a reference to a cycle that nobody holds."""
    return weakref.ref(_Ring())


@pytest.fixture(autouse=True)
def _searched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(garbage, "_unseen", garbage._Unseen())
    gc.collect()
    yield
    gc.enable()


def test_cycles_are_searched_again_behind_the_block_as_before_it() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    with uncollected():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_a_block_within_another_leaves_the_search_off() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()


def test_an_error_in_the_block_does_not_leave_the_search_off() -> None:
    with pytest.raises(ValueError, match="wrong"), uncollected():
        raise ValueError("wrong")
    assert gc.isenabled()


def test_a_young_cycle_from_before_the_block_is_gone_in_it() -> None:
    before = _dropped()
    with uncollected():
        assert before() is None


def test_a_cycle_of_the_block_lives_until_all_are_searched() -> None:
    with uncollected():
        inside = _dropped()
    assert inside() is not None
    gc.collect()
    assert inside() is None


def test_all_are_searched_once_too_many_joined_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "_MOST_UNSEEN", 1000)
    with uncollected():
        inside = _dropped()
    assert inside() is not None
    with uncollected():
        kept = [[] for _ in range(2000)]  # type: list[list[int]]
    assert inside() is None
    assert len(kept) == 2000


def test_what_somebody_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with uncollected():
            pass
        assert gc.get_freeze_count() == frozen > 0
    finally:
        gc.unfreeze()
