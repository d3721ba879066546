"""Frozen records: `dataclass(frozen=True, kw_only=True)` without generated code,

which saves 10 ms of every command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, dataclass_transform

N = TypeVar("N", int, float)
_AMOUNT = "Amount["


class Amount(Generic[N]):
    """A number in its name's unit, which may be given as text.

    `latency_ns: Amount[float]` reads as a float and takes `500.0` or `"500 ns"`.
    """

    if TYPE_CHECKING:

        def __get__(self, record: object, owner: object = None) -> N: ...

        def __set__(self, record: object, value: N | str) -> None: ...


def amount(default: float) -> Any:
    return default


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record:
    """Base of frozen records: annotations are fields, class attributes defaults.

    Equal class and fields are equal. `__post_init__` may check; fields are not inherited.
    """

    field_names: ClassVar[tuple[str, ...]]
    _amounts: ClassVar[tuple[str, ...]] = ()
    _needed: ClassVar[frozenset[str]] = frozenset()
    _before: ClassVar[dict[str, object]] = {}  # an annotation that needs no import to be read
    """The fields in their order, with their defaults."""

    def __init_subclass__(cls) -> None:
        kinds = cls.__annotations__
        cls.field_names = tuple(kinds)
        cls._amounts = tuple(name for name in kinds if str(kinds[name]).startswith(_AMOUNT))
        cls._needed = frozenset(name for name in kinds if not hasattr(cls, name))
        cls._before = {name: getattr(cls, name, None) for name in kinds}

    def __init__(self, **values: Any) -> None:
        state = self.__dict__
        state.update(self._before)
        state.update(values)
        if len(state) > len(self._before) or not self._needed <= values.keys():
            raise self._misnamed(values)
        for name in self._amounts:
            if type(state[name]) is str:
                state[name] = self._number(name, state[name])
        self.__post_init__()

    def _misnamed(self, values: dict[str, Any]) -> TypeError:
        kind = type(self).__name__
        for name in values:
            if name not in self.field_names:
                from yantra.base.errors import hint

                return TypeError(f"{kind} has no field '{name}'{hint(name, self.field_names)}")
        missing = next(name for name in self.field_names if name in self._needed - values.keys())
        return TypeError(f"{kind} needs the field '{missing}'")

    def _number(self, name: str, text: str) -> float:
        from yantra.base import units

        kind, unit = units.of_name(name)
        value = units.parse(text, kind, unit, f"{type(self).__name__}.{name}")
        return int(value) if value.is_integer() and "int" in self.__annotations__[name] else value

    def __post_init__(self) -> None: ...

    def replace(self, **changes: Any) -> Self:
        return type(self)(**(self.__dict__ | changes))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        kind = type(self)
        differ = (
            (name, value)
            for name, value in self.__dict__.items()
            if not hasattr(kind, name) or value != getattr(kind, name)
        )
        fields = ", ".join(f"{name}={value!r}" for name, value in differ)
        return f"{type(self).__name__}({fields})"
