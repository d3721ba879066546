"""Typed access to a JSON object with the conversions of nlohmann::json 3.10 to C++ types.

An `int` or `float` takes any number or truth value (fractions are cut off), a `double` or unsigned
64-bit integer numbers only. What C++ leaves undefined, such as overflow, is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.documents import Path, parse_json, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Keys:
    """The keys of one JSON file; collects warnings about what is converted or ignored."""

    def __init__(self, tree: Any, name: str, warnings: list[str]) -> None:
        if not isinstance(tree, dict):
            raise ConfigError(name, expected_got("a JSON object", tree))
        self.tree: dict[str, Any] = tree
        self.name = name
        self.warnings = warnings

    @classmethod
    def read(cls, path: Path) -> Keys:
        name = str(path)
        tree, warnings = parse_json(read_text(path), name)
        return cls(tree, name, warnings)

    def __contains__(self, key: str) -> bool:
        return key in self.tree

    def error(self, key: str, problem: str) -> ConfigError:
        return ConfigError(self.place(key), problem)

    def place(self, key: str) -> str:
        return f"{self.name}: {show(key)}"

    def warn(self, key: str, problem: str) -> None:
        self.warnings.append(str(self.error(key, problem)))

    def warn_unknown(self, known: Sequence[str], silent: Sequence[str] = ()) -> None:
        """Warn of each key that ASTRA-sim does not read, but for the `silent` ones."""
        for key in self.tree:
            if key not in known and key not in silent:
                hint = did_you_mean(key, known)
                self.warn(key, f"unknown key, ignored as ASTRA-sim does{hint}")

    def text(self, key: str) -> str:
        value = self._required(key, "a text")
        if not isinstance(value, str):
            raise self.error(key, expected_got("a text", value))
        return value

    def choice(self, key: str, names: Iterable[str]) -> str:
        """A required text that is one of `names`."""
        names = list(names)
        value = self.tree.get(key)
        if isinstance(value, str) and value in names:
            return value
        expected = _one_of(names)
        value = self._required(key, expected)
        if not isinstance(value, str):
            raise self.error(key, expected_got(expected, value))
        hint = did_you_mean(value, names)
        raise self.error(key, f"unknown name; {expected_got(expected, value)}{hint}")

    def texts(self, key: str) -> list[str]:
        values = self.tree.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.error(key, expected_got('a list of texts such as ["ring"]', values))
        return values

    def int32(self, key: str, default: int, at_least: int | None = None) -> int:
        """A C++ `int`: a fraction is cut off, a truth value is 0 or 1."""
        value = self._number(key, default, or_bool=True)
        return self._whole(key, value, at_least, 2**31)

    def uint64(self, key: str, default: int) -> int:
        """An unsigned 64-bit integer: a fraction is cut off."""
        return self._whole(key, self._number(key, default, or_bool=False), 0, 2**64)

    def double(self, key: str, default: float) -> float:
        """A C++ `double` that is not negative."""
        return self._not_negative(key, float(self._number(key, default, or_bool=False)))

    def float32(self, key: str, default: float) -> float:
        """A C++ `float` that is not negative, as the double of equal value."""
        value = self._not_negative(key, float(self._number(key, default, or_bool=True)))
        try:
            return _single(value)
        except OverflowError:
            raise self.error(key, expected_got("a 32-bit float", value)) from None

    def not_zero(self, key: str) -> bool:
        """Whether a switch is on: anything but the number 0, even `false`."""
        value = self.tree.get(key, 0)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number and value is not True:
            self.warn(key, f"{show(value)} counts as on, as in ASTRA-sim; write 0 or 1")
        return not is_number or value != 0

    def _required(self, key: str, expected: str) -> Any:
        if key not in self.tree:
            raise self.error(key, f"missing; expected {expected}")
        return self.tree[key]

    def _number(self, key: str, default: float, or_bool: bool) -> int | float:
        value = self.tree.get(key, default)
        if isinstance(value, bool) and or_bool:
            self.warn(key, f"{show(value)} counts as {int(value)}, as in ASTRA-sim")
            return int(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, expected_got("a number", value))
        return value

    def _whole(self, key: str, value: int | float, at_least: int | None, beyond: int) -> int:
        whole = int(value)
        if whole != value:
            self.warn(key, f"{show(value)} is cut to {whole}, as in ASTRA-sim")
        if at_least is not None and whole < at_least:
            raise self.error(key, f"must be at least {at_least}; got {show(value)}")
        if not -beyond <= whole < beyond:
            raise self.error(key, f"does not fit an integer of ASTRA-sim; got {show(value)}")
        return whole

    def _not_negative(self, key: str, value: float) -> float:
        if value < 0:
            raise self.error(key, f"must be at least 0; got {show(value)}")
        return value


def _single(value: float) -> float:
    if value == 0:
        return value
    from struct import pack, unpack

    single: float = unpack("<f", pack("<f", value))[0]
    return single


def _one_of(names: list[str]) -> str:
    *first, last = [show(name) for name in names]
    return f"{', '.join(first)} or {last}" if first else last
