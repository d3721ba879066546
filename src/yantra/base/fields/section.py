"""A mapping with known keys, held as a record; and plug-ins' options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.base.errors import ConfigError, expected_got, hint, show
from yantra.base.fields.scalars import RELATIVE, Field, Ranged, Schema
from yantra.base.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

Entry = tuple[str, Field, str]
"""What a key holds: the name of the record's field, its kind, and one line of meaning."""

_REQUIRED: Any = object()
_MOST_KEYS = 5  # a file of another kind then has one line


class Section(Field):
    """A mapping with known keys, held as a record; `entries` describe each.

    Keys with defaults are optional, and not written at the default.
    """

    expected = "a mapping"

    def __init__(self, record: type[Record], entries: Mapping[str, Entry]) -> None:
        self.record = record
        self.entries = entries
        self._rows = tuple(
            (key, name, field, getattr(record, name, _REQUIRED))
            for key, (name, field, _) in entries.items()
        )

    def read(self, tree: Any, where: str, folder: str) -> Any:
        if not isinstance(tree, dict):
            raise ConfigError(where or "scenario", expected_got(self.expected, tree))
        if wrong := [key for key in tree if key not in self.entries]:
            problem = f"unknown key{_so_are(wrong[1:])}{self._known(wrong[0])}"
            raise ConfigError(_at(where, wrong[0]), problem)
        values: dict[str, Any] = {}
        for key, name, field, default in self._rows:
            if key in tree:
                values[name] = field.read(tree[key], _join(where, key), folder)
            elif default is _REQUIRED:
                raise ConfigError(_join(where, key), f"missing; expected {field.expected}")
        return self.record(**values)

    def _known(self, key: str) -> str:
        return hint(key, self.entries)

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, self.record):
            raise ConfigError(where, expected_got(f"a {self.record.__name__}", value))
        self.check_fields(value, where)

    def check_fields(self, value: Any, where: str) -> None:
        for key, name, field, default in self._rows:
            part = getattr(value, name)
            if part is not default:
                field.check(part, f"{where}.{key}" if where else key)

    def write(self, value: Record, folder: str) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for key, name, field, default in self._rows:
            part = getattr(value, name)
            if default is _REQUIRED or part != default:
                tree[key] = field.write(part, folder)
        return tree

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        """Return `tree` with a key, or a part of one, set; defaults count as present."""
        if not path:
            return value
        if tree is not None and not isinstance(tree, dict):
            raise ConfigError(where or "scenario", expected_got(self.expected, tree))
        present, key = tree or {}, path[0]
        if key not in self.entries:
            raise ConfigError(_at(where, key), f"unknown key{self._known(key)}")
        field = self.entries[key][1]
        now = present[key] if key in present else self._written_default(key)
        return present | {key: field.put(now, path[1:], value, _join(where, key), folder)}

    def _written_default(self, key: str) -> Any:
        name, field, _ = self.entries[key]
        default = getattr(self.record, name, None)
        return None if default is None else field.write(default, "")

    def schema(self) -> Schema:
        required = [key for key, _, _, default in self._rows if default is _REQUIRED]
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                key: {"description": _help(field, meaning)} | self._default(key) | field.schema()
                for key, (_, field, meaning) in self.entries.items()
            },
        } | ({"required": required} if required else {})

    def _default(self, key: str) -> Schema:
        name, field, _ = self.entries[key]
        default = getattr(self.record, name, None)
        if default is None or isinstance(field, Section):
            return {}
        written = field.write(default, "")
        if isinstance(written, dict):  # whose keys may be numbers, unlike JSON's
            written = {str(key): value for key, value in written.items()}
        return {"default": written}


class Changes(Section):
    """Some keys of a section over present values; numbers may be relative."""

    expected = "a mapping of keys that differ"

    def __init__(self, section: Section) -> None:
        super().__init__(section.record, section.entries)
        self._section = section

    def over(self, tree: Any, given: Any, where: str, folder: str) -> Any:
        if not isinstance(given, dict):
            raise ConfigError(where, expected_got(self.expected, given))
        for key, value in given.items():
            tree = self._section.put(tree, (key,), value, where, folder)
        return tree

    def schema(self) -> Schema:
        schema = self._section.schema()
        schema.pop("required", None)
        for key, (_, field, _) in self.entries.items():
            if isinstance(field, Ranged):
                known = schema["properties"][key]
                said = {
                    word: known.pop(word) for word in ("description", "default") if word in known
                }
                relative = {"type": "string", "pattern": f"^({RELATIVE})$"}
                schema["properties"][key] = said | {"anyOf": [known, relative]}
        return schema


def read_options(section: Section | None, tree: Any, where: str, folder: str) -> Any:
    """Return a plug-in's options at `<where>.options` as its record.

    `section` None, for no options, gives None. `tree` None needs a default for each. Raises
    ConfigError naming `<where>.options.<key>` for an unknown or missing key, a wrong type or range.
    """
    at = _join(where, "options")
    if section is not None:
        return section.read({} if tree is None else tree, at, folder)
    if tree is not None and not isinstance(tree, dict):
        raise ConfigError(at, expected_got(Section.expected, tree))
    for key in tree or ():
        raise ConfigError(_at(at, key), "unknown key; there are no options here")
    return None


def _help(field: Field, meaning: str) -> str:
    """Return an editor's help, with the range of a quantity, which JSON Schema cannot say."""
    return f"{meaning}: {field.describe()}" if isinstance(field, Ranged) else meaning


def _so_are(keys: list[Any]) -> str:
    if not keys:
        return ""
    more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
    shown = ", ".join(_at("", key) for key in keys[:_MOST_KEYS])
    return f" (so {'is' if len(keys) == 1 else 'are'} {shown}{more})"


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _at(where: str, key: str) -> str:
    return _join(where, key if key.isprintable() else show(key))
