"""Typed access to ASTRA-sim's JSON files, with nlohmann::json 3.10's conversions to C++ types.

An `int` or `float` takes any number or truth value (fractions are cut off), a `double` or unsigned
64-bit integer numbers only. What C++ leaves undefined, such as overflow, is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.documents import Path, parse_json, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.scenario.astra_sim_keys import Key


class Keys:
    def __init__(self, path: Path, known: Sequence[Key]) -> None:
        self.name = str(path)
        tree, self.warnings = parse_json(read_text(path), self.name)
        if not isinstance(tree, dict):
            raise ConfigError(self.name, expected_got("a JSON object", tree))
        self.tree: dict[str, Any] = tree
        self.known = {key.name: key for key in known}
        for key in tree:
            if key not in self.known:
                self.warn(key, unknown(key, known))

    def __contains__(self, key: str) -> bool:
        return key in self.tree

    def error(self, key: str, problem: str) -> ConfigError:
        return ConfigError(self.place(key), problem)

    def place(self, key: str) -> str:
        return f"{self.name}: {show(key)}"

    def warn(self, key: str, problem: str) -> None:
        self.warnings.append(str(self.error(key, problem)))

    def text(self, key: str) -> str:
        value = self._required(key, "a text")
        if not isinstance(value, str):
            raise self.error(key, expected_got("a text", value))
        return value

    def choice(self, key: str) -> str:
        names = list(self.known[key].names)
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

    def whole(self, key: str, at_least: int | None = None) -> int:
        """An integer: a fraction is cut off. A C++ `int` takes a truth value as 0 or 1."""
        of = self.known[key]
        is_int = of.reads == "int"
        value = self._number(of, or_bool=is_int)
        if not is_int:
            return self._whole(key, value, 0, 2**64)
        return self._whole(key, value, of.at_least if at_least is None else at_least, 2**31)

    def number(self, key: str) -> float:
        """A number that is not negative; a C++ `float` as the double of equal value."""
        of = self.known[key]
        is_single = of.reads == "float"
        value = self._not_negative(key, float(self._number(of, or_bool=is_single)))
        try:
            return _single(value) if is_single else value
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

    def _number(self, of: Key, or_bool: bool) -> int | float:
        key = of.name
        value = self.tree.get(key, of.default)
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


def unknown(key: str, known: Sequence[Key]) -> str:
    hint = did_you_mean(key, [of.name for of in known if not of.is_of_1_0])
    return f"unknown key, ignored as ASTRA-sim does{hint}"


def _single(value: float) -> float:
    if value == 0:
        return value
    from struct import pack, unpack

    single: float = unpack("<f", pack("<f", value))[0]
    return single


def _one_of(names: list[str]) -> str:
    *first, last = [show(name) for name in names]
    return f"{', '.join(first)} or {last}" if first else last
