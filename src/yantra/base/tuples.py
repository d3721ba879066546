"""Named tuples that cost little until the first of a class is made.

`typing.NamedTuple` compiles the text of every annotation and a constructor when a class is defined.
A small run imports three dozen such classes and makes a few objects of some, so that took as long
as all its work. Here a class gets a constructor of its own when it has been called some times; to
type checkers and callers nothing differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    __all__ = ["NamedTuple"]
else:
    from _collections import _tuplegetter  # the one of collections.namedtuple

    class _Kind(type):
        """Makes fields of the annotations of a class that names `NamedTuple` as its base."""

        def __new__(kind, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if tuple in bases or not any(base.__base__ is tuple for base in bases):
                return super().__new__(kind, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body.pop(field) for field in fields if field in body}
            if fields[len(fields) - len(defaults) :] != tuple(defaults):
                raise TypeError(f"{name}: a field without a default follows one with a default")
            body |= {field: _tuplegetter(at, field) for at, field in enumerate(fields)}
            body |= {"__slots__": (), "__match_args__": fields}
            body |= {"_fields": fields, "_field_defaults": defaults}
            return super().__new__(kind, name, bases, body)

        @property
        def __signature__(cls) -> Any:
            """What `inspect` and `help` show of the constructor, before it is made, too."""
            if "_fields" not in cls.__dict__:
                raise AttributeError("__signature__")
            from inspect import Parameter, Signature

            kind, default = Parameter.POSITIONAL_OR_KEYWORD, cls._field_defaults
            return Signature(
                Parameter(
                    name,
                    kind,
                    default=default.get(name, Parameter.empty),
                    annotation=cls.__annotations__[name],
                )
                for name in cls._fields
            )

    _FIRST_CALLS = 50  # to compile a constructor takes as long as so many calls without it
    _calls: dict[type, int] = {}

    class NamedTuple(tuple, metaclass=_Kind):
        """See `typing.NamedTuple`."""

        __slots__ = ()

        def __new__(cls, *values: Any, **named: Any) -> Self:
            calls = _calls[cls] = _calls.get(cls, 0) + 1
            if calls > _FIRST_CALLS:
                return cls._with_constructor()(cls, *values, **named)
            if len(values) == len(cls._fields) and not named:
                return tuple.__new__(cls, values)
            left = cls._fields[len(values) :]
            known = {**cls._field_defaults, **named}
            fits = len(values) + len(left) == len(cls._fields) and named.keys() <= set(left)
            if fits and known.keys() >= set(left):
                return tuple.__new__(cls, (*values, *[known[field] for field in left]))
            return cls._with_constructor()(cls, *values, **named)

        @classmethod
        def _with_constructor(cls) -> Any:
            """Give the class its constructor, which also says what is wrong with a call."""
            names = ", ".join(cls._fields)
            text = f"lambda _cls, {names}: _new(_cls, ({names},))"
            make = eval(text, {"_new": tuple.__new__})
            make.__defaults__ = tuple(cls._field_defaults.values())
            make.__name__, make.__qualname__ = "__new__", f"{cls.__qualname__}.__new__"
            cls.__new__ = staticmethod(make)
            return make

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Self:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, **changes: Any) -> Self:
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            pairs = zip(self._fields, self, strict=True)
            return f"{type(self).__name__}({', '.join(f'{name}={one!r}' for name, one in pairs)})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)
