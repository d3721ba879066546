"""The kinds of values in a scenario file: how each is read, written and described.

One object per kind knows all three, so that the reader, the writer and the JSON Schema cannot
disagree. `read` turns a plain tree into a value and refuses a wrong type, `write` turns a value
into a tree that reads back as an equal value, `schema` describes the tree. Relative paths start
from `folder`. Ranges are the business of `check.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import path as paths
from typing import Any, ClassVar, get_args

from yantra import units
from yantra.documents import parse_json, parse_yaml, read_text
from yantra.errors import ConfigError, did_you_mean, expected_got, show
from yantra.records import Record
from yantra.scenario.types import Algorithms, Custom, Topology

Schema = dict[str, Any]


class Field:
    """A kind of value; `expected` is what errors call it."""

    expected: str

    def read(self, tree: Any, where: str, folder: str) -> Any:
        """Return the value of a tree, or raise ConfigError naming `where`."""
        raise NotImplementedError

    def write(self, value: Any, folder: str) -> Any:
        """Return the tree of a value."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """Return the JSON Schema of the tree."""
        raise NotImplementedError


class _Scalar(Field):
    """A value that the tree holds as it is."""

    kind: ClassVar[type]
    json_type: ClassVar[str]

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if type(tree) is not self.kind:
            raise ConfigError(where, expected_got(self.expected, tree))
        return tree

    def write(self, value: Any, folder: str) -> Any:
        return value

    def schema(self) -> Schema:
        return {"type": self.json_type}


class Whole(_Scalar):
    """A whole number without a dimension."""

    kind, json_type, expected = int, "integer", "a whole number"


class Flag(_Scalar):
    """True or false."""

    kind, json_type, expected = bool, "boolean", "true or false"


class Text(_Scalar):
    """A text."""

    kind, json_type, expected = str, "string", "a text"


class Choice(Text):
    """One name of a closed set, given as a Literal type."""

    def __init__(self, names: Any) -> None:
        self._names: tuple[str, ...] = get_args(names)
        self.expected = f"one of {', '.join(self._names)}"

    def read(self, tree: Any, where: str, folder: str) -> str:
        name: str = super().read(tree, where, folder)
        if name not in self._names:
            hint = did_you_mean(name, self._names)
            raise ConfigError(where, expected_got(self.expected, name) + hint)
        return name

    def schema(self) -> Schema:
        return {"enum": list(self._names)}


class TopologyName(Text):
    """The name of a topology; which there are is open, so `check.py` looks it up."""

    expected = "the name of a topology"

    def schema(self) -> Schema:
        from yantra.topologies import topologies

        names = topologies.names()
        numbered = [name for name in names if topologies.get(name).number_means]
        return {
            "anyOf": [
                {"enum": list(names)},
                {"type": "string", "pattern": f"^({'|'.join(numbered)})[1-9][0-9]{{0,4}}$"},
            ]
        }


class File(Text):
    """A path, or the common part of several; `ending` is what the file adds to it."""

    def __init__(self, ending: str = "") -> None:
        self._ending = ending
        self.expected = f'a path that ends in "{ending}"' if ending else "a path"

    def read(self, tree: Any, where: str, folder: str) -> str:
        text: str = super().read(tree, where, folder)
        if not text.endswith(self._ending) or len(text) == len(self._ending):
            raise ConfigError(where, expected_got(self.expected, text))
        path = text.removesuffix(self._ending)
        return paths.normpath(paths.join(folder, path)) if folder else path

    def write(self, value: str, folder: str) -> str:
        relative = folder and not paths.isabs(value)
        return (paths.relpath(value, folder) if relative else value) + self._ending


class Quantity(Field):
    """A number with a unit, held as a number of `unit`, and whole if `whole`."""

    def __init__(self, kind: units.Kind, unit: str, whole: bool = False) -> None:
        self._kind: units.Kind = kind
        self._unit = unit
        self._whole = whole
        self.expected = units.expected(kind)

    def read(self, tree: Any, where: str, folder: str) -> float:
        value = units.parse(tree, self._kind, self._unit, where)
        if not self._whole:
            return value
        if not value.is_integer():
            raise ConfigError(where, expected_got(f"a whole number of {self._unit}", tree))
        return int(value)

    def write(self, value: float, folder: str) -> str:
        return units.exact(value, self._unit)

    def schema(self) -> Schema:
        return {"type": "string", "pattern": units.pattern(self._kind)}


class Many(Field):
    """A list of one kind of value, held as a tuple."""

    expected = "a list"

    def __init__(self, item: Field) -> None:
        self._item = item

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if not isinstance(tree, list):
            raise ConfigError(where, expected_got(self.expected, tree))
        return tuple(
            self._item.read(item, f"{where}[{at}]", folder) for at, item in enumerate(tree)
        )

    def write(self, value: Any, folder: str) -> Any:
        return [self._item.write(item, folder) for item in value]

    def schema(self) -> Schema:
        return {"type": "array", "items": self._item.schema()}


class NameSet(Many):
    """A list of names without order, held as a frozen set."""

    def __init__(self) -> None:
        super().__init__(Text())

    def read(self, tree: Any, where: str, folder: str) -> frozenset[str]:
        return frozenset(super().read(tree, where, folder))

    def write(self, value: frozenset[str], folder: str) -> list[str]:
        return sorted(value)


class Dimensions(Many):
    """The list of the dimensions of a topology, innermost first."""

    expected = "a list with one mapping per dimension"

    def read(self, tree: Any, where: str, folder: str) -> Topology:
        return Topology(dimensions=super().read(tree, where, folder))

    def write(self, value: Topology, folder: str) -> Any:
        return super().write(value.dimensions, folder)


class AlgorithmList(Many):
    """One algorithm name per dimension, or `{custom: prefix}` for a collective given by traces."""

    expected = "a list of algorithm names, one per dimension, or {custom: ...}"

    def __init__(self) -> None:
        super().__init__(Text())
        prefix = (File(ending=".{position}.et"), "trace files, one per position of the group")
        self._custom = Section(Custom, {"custom": ("prefix", *prefix)})

    def read(self, tree: Any, where: str, folder: str) -> Algorithms:
        read = self._custom.read if isinstance(tree, dict) else super().read
        algorithms: Algorithms = read(tree, where, folder)
        return algorithms

    def write(self, value: Algorithms, folder: str) -> Any:
        if isinstance(value, Custom):
            return self._custom.write(value, folder)
        return super().write(value, folder)

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), self._custom.schema()]}


class Numbered(Field):
    """A mapping from whole numbers to one kind of value, held as sorted pairs."""

    expected = "a mapping with whole numbers as keys"

    def __init__(self, item: Field) -> None:
        self._item = item

    def read(self, tree: Any, where: str, folder: str) -> tuple[tuple[int, Any], ...]:
        if not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        pairs: dict[int, Any] = {}
        for key, item in tree.items():
            if not (key.isascii() and key.isdigit() and len(key) <= 20):
                raise ConfigError(where, expected_got("a whole number as key", key))
            if int(key) in pairs:
                raise ConfigError(where, f"the key {int(key)} is given twice")
            pairs[int(key)] = self._item.read(item, f"{where}.{int(key)}", folder)
        return tuple(sorted(pairs.items()))

    def write(self, value: tuple[tuple[int, Any], ...], folder: str) -> dict[int, Any]:
        return {key: self._item.write(item, folder) for key, item in value}

    def schema(self) -> Schema:
        return {
            "type": "object",
            "propertyNames": {"pattern": "^[0-9]+$"},
            "additionalProperties": self._item.schema(),
        }


class GroupTable(Numbered):
    """Communicator groups, in place or in a JSON or YAML file of their own."""

    expected = "a mapping of group id to ranks, or the path of a file with one"

    def __init__(self) -> None:
        super().__init__(Many(Whole()))

    def read(self, tree: Any, where: str, folder: str) -> tuple[tuple[int, Any], ...]:
        if not isinstance(tree, str):
            return super().read(tree, where, folder)
        file = paths.join(folder, tree)
        text = read_text(file)
        is_json = file.endswith(".json")
        return super().read(
            parse_json(text, file)[0] if is_json else parse_yaml(text, file), file, folder
        )

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), {"type": "string"}]}


class Section(Field):
    """A mapping with known keys, held as a record.

    An entry is key -> (name of the record's field, kind, one line of help). A key may be left out
    if the record has a default, and `write` leaves it out where the value is the default.
    """

    expected = "a mapping"

    def __init__(self, record: type[Record], entries: Mapping[str, tuple[str, Field, str]]) -> None:
        self._record = record
        self._entries = entries

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if not isinstance(tree, dict):
            raise ConfigError(where or "scenario", expected_got(self.expected, tree))
        for key in tree:
            if key not in self._entries:
                known = f"; expected one of {', '.join(self._entries)}"
                hint = did_you_mean(key, self._entries) or known
                name = key if key.isprintable() else show(key)
                raise ConfigError(_join(where, name), f"unknown key{hint}")
        values: dict[str, Any] = {}
        for key, (name, field, _) in self._entries.items():
            if key in tree:
                values[name] = field.read(tree[key], _join(where, key), folder)
            elif not hasattr(self._record, name):
                raise ConfigError(_join(where, key), f"missing; expected {field.expected}")
        return self._record(**values)

    def write(self, value: Record, folder: str) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for key, (name, field, _) in self._entries.items():
            part = getattr(value, name)
            if not hasattr(self._record, name) or part != getattr(self._record, name):
                tree[key] = field.write(part, folder)
        return tree

    def schema(self) -> Schema:
        required = [
            key for key, (name, _, _) in self._entries.items() if not hasattr(self._record, name)
        ]
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                key: {"description": help_line} | field.schema()
                for key, (_, field, help_line) in self._entries.items()
            },
        } | ({"required": required} if required else {})


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key
