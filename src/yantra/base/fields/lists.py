"""Fields of several values of a kind: lists, sets of names, tables by number or rate."""

from __future__ import annotations

from typing import Any

from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields.scalars import Field, Quantity, Schema, Text, Whole


class Many(Field):
    """A list, held as a tuple."""

    expected = "a list"

    def __init__(self, item: Field) -> None:
        self.item = item

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if not isinstance(tree, list):
            raise ConfigError(where, expected_got(self.expected, tree))
        return tuple(self.item.read(item, f"{where}[{at}]", folder) for at, item in enumerate(tree))

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple):
            raise ConfigError(where, expected_got("a tuple", value))
        for at, item in enumerate(value):
            self.item.check(item, f"{where}[{at}]")

    def write(self, value: Any, folder: str) -> Any:
        return [self.item.write(item, folder) for item in value]

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if not path:
            return value
        items = tree if isinstance(tree, list) else []
        if not (path[0].isascii() and path[0].isdigit()) or int(path[0][:9]) >= len(items):
            numbers = f"a number from 0 to {len(items) - 1}" if items else "nothing, as it is empty"
            raise ConfigError(f"{where}[{path[0]}]", f"no such item; expected {numbers}")
        at = int(path[0])
        new = self.item.put(items[at], path[1:], value, f"{where}[{at}]", folder)
        return [*items[:at], new, *items[at + 1 :]]

    def schema(self) -> Schema:
        return {"type": "array", "items": self.item.schema()}


class OneOrMany(Many):
    """A list, or one value, held as a tuple."""

    expected = "a value or a list"

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if isinstance(tree, list):
            return super().read(tree, where, folder)
        return (self.item.read(tree, where, folder),)

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        whole = tree if isinstance(tree, list) else [tree]
        return super().put(whole, path, value, where, folder)

    def schema(self) -> Schema:
        return {"anyOf": [self.item.schema(), super().schema()]}


class NameSet(Many):
    """A list of unordered names, held as a frozen set."""

    def __init__(self) -> None:
        super().__init__(Text())

    def read(self, tree: Any, where: str, folder: str) -> frozenset[str]:
        return frozenset(super().read(tree, where, folder))

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, frozenset):
            raise ConfigError(where, expected_got("a frozenset of names", value))
        for name in value:
            self.item.check(name, where)

    def write(self, value: frozenset[str], folder: str) -> list[str]:
        return sorted(value)


class Numbered(Field):
    """A mapping from integers to a kind of value, held as sorted pairs."""

    expected = "a mapping with whole numbers as keys"

    def __init__(self, item: Field, at_least: int = 0, at_most: int | None = None) -> None:
        self.item = item
        self._number = Whole(at_least=at_least, at_most=at_most)
        most = 20 if at_most is None else len(str(at_most))
        self._pattern = (
            f"^[0-9]{{1,{most}}}$" if at_least == 0 else f"^0*[1-9][0-9]{{0,{most - 1}}}$"
        )

    def read(self, tree: Any, where: str, folder: str) -> tuple[tuple[int, Any], ...]:
        if not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        pairs: dict[int, Any] = {}
        for key, item in tree.items():
            if not (key.isascii() and key.isdigit() and len(key) <= 20):
                raise ConfigError(where, expected_got("a whole number as key", key))
            number = int(key)
            self._number.check(number, where)
            if number in pairs:
                raise ConfigError(where, f"the key {number} is given twice")
            pairs[number] = self.item.read(item, f"{where}.{number}", folder)
        return tuple(sorted(pairs.items()))

    def check(self, value: Any, where: str) -> None:
        self._check_numbers(value, where)
        for number, item in value:
            self.item.check(item, f"{where}.{number}")

    def _check_numbers(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple):
            raise ConfigError(where, expected_got("a tuple of pairs", value))
        for pair in value:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ConfigError(where, expected_got("a pair", pair))
            self._number.check(pair[0], where)

    def write(self, value: tuple[tuple[int, Any], ...], folder: str) -> dict[int, Any]:
        return {key: self.item.write(item, folder) for key, item in value}

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if not path:
            return value
        if tree is not None and not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        items, key = tree or {}, path[0]
        new = self.item.put(items.get(key), path[1:], value, f"{where}.{key}", folder)
        return items | {key: new}

    def schema(self) -> Schema:
        return {
            "type": "object",
            "propertyNames": {"pattern": self._pattern},
            "additionalProperties": self.item.schema(),
        }


_RATE = Quantity("bandwidth", "Gb/s", above=0)


class ByRate(Field):
    """A value for all link rates, or a mapping from bandwidths to values.

    Held as (Gb/s, value) pairs, ascending; rate 0 is all.
    """

    def __init__(self, item: Field) -> None:
        self._item = item
        self.expected = f"{item.expected}, or a mapping of rates to such"

    def read(self, tree: Any, where: str, folder: str) -> tuple[tuple[float, Any], ...]:
        if not isinstance(tree, dict):
            return ((0.0, self._item.read(tree, where, folder)),)
        if not tree:
            raise ConfigError(where, expected_got(self.expected, tree))
        pairs = []
        for key, value in tree.items():
            at = f"{where}.{key}"
            pairs.append((_RATE.read(key, at, folder), self._item.read(value, at, folder)))
        rates = [rate for rate, _ in pairs]
        for rate in rates:
            if rates.count(rate) > 1:
                raise ConfigError(where, f"has the rate {rate:g} Gb/s twice")
        return tuple(sorted(pairs))

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple) or not value:
            raise ConfigError(where, expected_got("pairs of a rate in Gb/s and a value", value))
        for pair in value:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise ConfigError(where, expected_got("a pair of a rate and a value", pair))
            if pair[0] != 0 or len(value) > 1:
                _RATE.check(pair[0], where)
            self._item.check(pair[1], where)

    def write(self, value: Any, folder: str) -> Any:
        if value[0][0] == 0:
            return self._item.write(value[0][1], folder)
        return {_RATE.write(rate, folder): self._item.write(of, folder) for rate, of in value}

    def schema(self) -> Schema:
        item = self._item.schema()
        return {"anyOf": [item, {"type": "object", "additionalProperties": item}]}

    def describe(self) -> str:
        return f"{self._item.describe()}, or a mapping of rates to such"
