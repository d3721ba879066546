"""Pieces of typing, functools and enum for what is imported before every run, without their import.

`typing`, `functools`, `enum` and the `re` behind them take as long to import as a small run takes
to read, run and write. Type checkers see the originals; at run time each piece does what is needed
of it. Trade-off: a second, smaller form of each. `tests/unit/test_light.py` holds it to the
original.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import StrEnum
    from functools import cache, cached_property
    from importlib import import_module
    from typing import (
        Any,
        Generic,
        Literal,
        Protocol,
        TypeVar,
        cast,
        dataclass_transform,
        get_args,
    )

    __all__ = [
        "Any",
        "Generic",
        "Literal",
        "Protocol",
        "StrEnum",
        "TypeVar",
        "cache",
        "cached_property",
        "cast",
        "dataclass_transform",
        "get_args",
        "import_module",
    ]
else:
    _Alias = type(list[int])

    class Any:
        """Stands for any type."""

    class Literal:
        """`Literal["a", "b"]` keeps the names for `get_args`."""

        def __class_getitem__(cls, names):
            return _Alias(cls, names)

    class Generic:
        """A base that takes type variables and ignores them."""

        def __class_getitem__(cls, kinds):
            return cls

    class Protocol(Generic):
        """A base of classes that only type checkers look at."""

    def TypeVar(name, *kinds, bound=None):  # noqa: N802
        """Return what stands for a type."""
        return name

    def get_args(kind):
        """Return the names of a Literal."""
        return kind.__args__

    def cast(kind, value):
        """Return the value."""
        return value

    def dataclass_transform(**about):
        """Leave a class as it is."""
        return lambda kind: kind

    def import_module(name):
        """Import a module by its whole name."""
        __import__(name)
        return sys.modules[name]

    def cache(function):
        """Keep what a function returns, by its arguments in order."""
        known = {}

        def kept(*given):
            if given not in known:
                known[given] = function(*given)
            return known[given]

        kept.__name__, kept.__doc__ = function.__name__, function.__doc__
        kept.__module__, kept.__wrapped__ = function.__module__, function
        kept.cache_clear = known.clear
        return kept

    class cached_property:  # noqa: N801
        """A property that is found once for each object, and kept in its `__dict__`."""

        def __init__(self, find):
            self.func = find
            self.__doc__ = find.__doc__

        def __set_name__(self, owner, name):
            self._name = name

        def __get__(self, one, owner=None):
            if one is None:
                return self
            found = one.__dict__[self._name] = self.func(one)
            return found

    class _Names(type):
        """Makes each text of a class body an object of the class."""

        def __new__(kind, name, bases, body):
            texts = {
                key: text
                for key, text in body.items()
                if type(text) is str and not key.startswith("_")
            }
            left = {key: value for key, value in body.items() if key not in texts}
            made = super().__new__(kind, name, bases, left)
            made.__members__ = {}
            for key, text in texts.items():
                one = str.__new__(made, text)
                one.__dict__.update(name=key, value=text)
                type.__setattr__(made, key, one)
                made.__members__[key] = one
            made._by_value_ = {one.value: one for one in made.__members__.values()}
            return made

        def __call__(cls, value):
            try:
                return cls._by_value_[value]
            except (KeyError, TypeError):
                raise ValueError(f"{value!r} is not a valid {cls.__qualname__}") from None

        def __iter__(cls) -> Iterator[Any]:
            return iter(cls.__members__.values())

        def __len__(cls):
            return len(cls.__members__)

        def __contains__(cls, value):
            return isinstance(value, str) and value in cls._by_value_

        def __getitem__(cls, name):
            return cls.__members__[name]

    class StrEnum(str, metaclass=_Names):
        """Names that are texts: iterated in their order, found by value or by name."""

        __hash__ = str.__hash__
        __str__ = str.__str__

        def __repr__(self):
            return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__}.{self.name} cannot be changed")

        def __reduce__(self):
            return type(self), (self.value,)

        def __reduce_ex__(self, protocol):
            return self.__reduce__()

        def __copy__(self):
            return self

        def __deepcopy__(self, known):
            return self
