"""The light pieces of base/light.py do what the originals do, as far as they are used."""

from __future__ import annotations

import copy
import enum
import functools
import pickle
import typing
from collections.abc import Callable
from typing import Any

import pytest

from yantra.base import light


class Ours(light.StrEnum):
    """Colours."""

    RED = "red"
    DARK_BLUE = "dark blue"

    @property
    def length(self) -> int:
        """The number of letters."""
        return len(self)


class Theirs(enum.StrEnum):
    """Colours."""

    RED = "red"
    DARK_BLUE = "dark blue"

    @property
    def length(self) -> int:
        """The number of letters."""
        return len(self)


USES: dict[str, Callable[[Any], Any]] = {
    "order": lambda kind: [one.value for one in kind],
    "number": len,
    "by value": lambda kind: kind("red") is kind.RED,
    "by name": lambda kind: kind["DARK_BLUE"] is kind.DARK_BLUE,
    "names": lambda kind: [(one.name, one.value) for one in kind],
    "members": lambda kind: list(kind.__members__),
    "texts": lambda kind: (str(kind.RED), f"{kind.RED}", kind.RED.upper(), "a " + kind.DARK_BLUE),
    "exact texts": lambda kind: (type(str(kind.RED)), type(kind.RED.value)),
    "equal to its text": lambda kind: kind.RED == "red" and hash(kind.RED) == hash("red"),
    "in a set of texts": lambda kind: kind.RED in {"red"} and "red" in frozenset(kind),
    "object of its class": lambda kind: isinstance(kind.RED, kind) and isinstance(kind.RED, str),
    "words": lambda kind: repr(kind.RED).replace(kind.__name__, ""),
    "property": lambda kind: kind.DARK_BLUE.length,
    "copies": lambda kind: copy.deepcopy(kind.RED) is copy.copy(kind.RED) is kind.RED,
    "pickles": lambda kind: pickle.loads(pickle.dumps(kind.RED)) is kind.RED,
    "help": lambda kind: kind.__doc__,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_an_enumeration_of_texts_is_used_as_that_of_enum(use: Callable[[Any], Any]) -> None:
    assert use(Ours) == use(Theirs)


@pytest.mark.parametrize("kind", [Ours, Theirs])
def test_what_an_enumeration_refuses_is_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"'green' is not a valid (Ours|Theirs)"):
        kind("green")
    with pytest.raises(KeyError):
        kind["GREEN"]
    with pytest.raises(AttributeError):
        kind.RED.value = "green"


def test_names_of_a_literal_are_its_arguments() -> None:
    names = light.Literal["a", "b/c"]
    assert light.get_args(names) == typing.get_args(names) == ("a", "b/c")
    assert light.get_args(light.Literal["a"]) == ("a",)


@pytest.mark.parametrize("cached_property", [light.cached_property, functools.cached_property])
def test_a_cached_property_is_found_once(cached_property: Any) -> None:
    found: list[int] = []

    class Thing:
        @cached_property
        def number(self) -> int:
            """A number."""
            found.append(1)
            return len(found)

    thing = Thing()
    assert (thing.number, thing.number, Thing().number) == (1, 1, 2)
    assert Thing.number.__doc__ == "A number."
    assert thing.__dict__ == {"number": 1}


@pytest.mark.parametrize("cache", [light.cache, functools.cache])
def test_a_cache_asks_once_for_each_set_of_arguments(cache: Any) -> None:
    asked: list[tuple[int, ...]] = []

    @cache
    def total(*numbers: int) -> int:
        """Add."""
        asked.append(numbers)
        return sum(numbers)

    assert [total(1, 2), total(1, 2), total(3), total(1, 2)] == [3, 3, 3, 3]
    assert asked == [(1, 2), (3,)]
    total.cache_clear()
    assert total(3) == 3
    assert asked == [(1, 2), (3,), (3,)]
    assert (total.__name__, total.__doc__) == ("total", "Add.")


def test_a_class_takes_type_variables_and_ignores_them() -> None:
    kind: Any = light.TypeVar("kind")

    class Box(light.Generic[kind]):
        """Holds something."""

    assert isinstance(Box[int](), Box)  # type: ignore[misc]


def test_a_module_is_imported_by_its_whole_name() -> None:
    assert light.import_module("yantra.base.light") is light
