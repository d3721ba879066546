"""Named tuples of our own do what those of `typing` do."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from yantra.base import tuples


class Ours(tuples.NamedTuple):
    """A place."""

    x: int
    y: int = 2
    count: str = "c"  # type: ignore[assignment]  # hides a method of tuples

    @property
    def sum(self) -> int:
        """Both."""
        return self.x + self.y


class Theirs(typing.NamedTuple):
    """A place."""

    x: int
    y: int = 2
    count: str = "c"  # type: ignore[assignment]  # hides a method of tuples

    @property
    def sum(self) -> int:
        """Both."""
        return self.x + self.y


USES: dict[str, Callable[[Any], Any]] = {
    "positions": lambda kind: tuple(kind(1, 5, "d")),
    "names": lambda kind: tuple(kind(y=4, x=3)),
    "defaults": lambda kind: tuple(kind(7)),
    "fields": lambda kind: (kind(1).x, kind(1).y, kind(1).count, kind(1).sum, kind._fields),
    "equality": lambda kind: kind(1) == (1, 2, "c") and hash(kind(1)) == hash((1, 2, "c")),
    "make": lambda kind: tuple(kind._make([4, 5, "e"])),
    "replace": lambda kind: kind(1)._replace(y=9).sum,
    "as a dict": lambda kind: kind(1)._asdict(),
    "defaults by name": lambda kind: kind._field_defaults,
    "order of arguments to match": lambda kind: kind.__match_args__,
    "copies": lambda kind: copy.deepcopy(kind(1)) == kind(1),
    "pickles": lambda kind: type(pickle.loads(pickle.dumps(kind(1)))) is kind,
    "words": lambda kind: repr(kind(1)).replace(kind.__name__, ""),
    "no dictionary": lambda kind: hasattr(kind(1), "__dict__"),
    "help": lambda kind: kind.__doc__,
    "signature": lambda kind: [
        (one.name, one.default) for one in inspect.signature(kind).parameters.values()
    ],
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_named_tuple_is_used_as_that_of_typing(use: Callable[[Any], Any]) -> None:
    assert use(Ours) == use(Theirs)


WRONG_USES: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "too few": (lambda kind: kind(), TypeError),
    "too many": (lambda kind: kind(1, 2, 3, 4), TypeError),
    "unknown name": (lambda kind: kind(1, z=2), TypeError),
    "unknown name to replace": (lambda kind: kind(1)._replace(z=2), ValueError),
    "too few to make": (lambda kind: kind._make([1]), TypeError),
    "a field set": (lambda kind: setattr(kind(1), "x", 2), AttributeError),
    "an attribute added": (lambda kind: setattr(kind(1), "z", 2), AttributeError),
}


@pytest.mark.parametrize(("use", "error"), WRONG_USES.values(), ids=WRONG_USES)
@pytest.mark.parametrize("kind", [Ours, Theirs])
def test_what_typing_refuses_is_refused(
    kind: Any, use: Callable[[Any], Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        use(kind)


def test_a_default_before_a_field_without_one_is_refused() -> None:
    with pytest.raises(TypeError, match="without a default"):

        class _Wrong(tuples.NamedTuple):
            x: int = 1
            y: int  # type: ignore[misc]
