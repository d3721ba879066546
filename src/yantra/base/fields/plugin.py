"""The choice of a plug-in: name, path, class, or one of them with options.

    network: ideal
    network: {kind: ideal, options: {speedup: 2}}

A plug-in's `Section` describes its options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from yantra.base.errors import ConfigError, YantraError, did_you_mean, expected_got
from yantra.base.fields.plugin_names import read_name, write_name
from yantra.base.fields.scalars import Field, Schema
from yantra.base.fields.section import Section, read_options
from yantra.base.plugin_files import Named, what_was_raised
from yantra.base.records import Record
from yantra.base.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")


class Plugin(Record):
    """A plug-in and its given options, as (name, value) pairs in its order."""

    kind: Named
    options: tuple[tuple[str, Any], ...] = ()


PluginChoice = Named | Plugin
"""How a scenario chooses a plug-in."""


class _Described(Protocol):
    @property
    def options(self) -> Section | None: ...


class PluginField(Field):
    """One plug-in of a registry.

    A set beyond its registry gives `names`, and `find`, which returns the object with `options` or
    raises ConfigError. `also` are further names of some. Without `takes_files` only registered ones
    can be named.
    """

    def __init__(
        self,
        registry: Registry[Any],
        names: Callable[[], Iterable[str]] | None = None,
        find: Callable[[Named, str], _Described] | None = None,
        also: Iterable[str] = (),
        *,
        takes_files: bool = True,
    ) -> None:
        self.expected = f"the name of a {registry.kind}, or {{kind, options}}"
        self._registry = registry
        self._known = names or registry.names
        self._find = find or registry.get
        self._also = tuple(also)
        self._takes_files = takes_files

    def _names(self) -> tuple[str, ...]:
        return (*self._known(), *self._also)

    def read(self, tree: Any, where: str, folder: str) -> PluginChoice:
        if isinstance(tree, str):
            kind = self._kind(tree, where, folder)
            read_options(self._find(kind, where).options, None, where, folder)
            return kind
        if not isinstance(tree, dict):
            raise ConfigError(where, expected_got(self.expected, tree))
        for key in tree:
            if key not in ("kind", "options"):
                raise ConfigError(f"{where}.{key}", "unknown key; expected one of kind, options")
        if "kind" not in tree:
            raise ConfigError(f"{where}.kind", "missing; expected a name")
        kind = self._kind(tree["kind"], f"{where}.kind", folder)
        section = self._find(kind, f"{where}.kind").options
        given = tree.get("options")
        record = read_options(section, given, where, folder)
        if section is None or not given:
            return kind
        names = (section.entries[key][0] for key in section.entries if key in given)
        return Plugin(kind=kind, options=tuple((name, getattr(record, name)) for name in names))

    def _kind(self, tree: Any, where: str, folder: str) -> str:
        if not isinstance(tree, str) or not tree:
            raise ConfigError(where, expected_got(self.expected, tree))
        return read_name(tree, folder, where) if self._takes_files else tree

    def check(self, value: Any, where: str) -> None:
        kind = kind_of(value)
        if not isinstance(kind, str | type) or not kind:
            raise ConfigError(where, expected_got(self.expected, value))
        options_of(value, self._find(kind, where).options, where)

    def write(self, value: PluginChoice, folder: str) -> Any:
        kind = write_name(self._registry, kind_of(value), folder)
        if not isinstance(value, Plugin) or not value.options:
            return kind
        section = self._find(value.kind, "options").options
        entries = section.entries if section is not None else {}
        given = dict(value.options)
        return {
            "kind": kind,
            "options": {
                key: field.write(given[name], folder)
                for key, (name, field, _) in entries.items()
                if name in given
            },
        }

    def _option_names(self, whole: dict[str, Any], where: str, folder: str) -> Iterable[str]:
        if "kind" not in whole:
            return ()
        kind = self._kind(whole["kind"], f"{where}.kind", folder)
        section = self._find(kind, f"{where}.kind").options
        return () if section is None else section.entries

    def put(self, tree: Any, path: tuple[str, ...], value: Any, where: str, folder: str) -> Any:
        if not path:
            return value
        whole = tree if isinstance(tree, dict) else {} if tree is None else {"kind": tree}
        if path[0] not in ("kind", "options"):
            if path[0] not in (names := self._option_names(whole, where, folder)):
                meant = did_you_mean(path[0], names)
                problem = f"unknown key{meant or '; expected one of kind, options'}"
                raise ConfigError(f"{where}.{path[0]}", problem)
            path = ("options", *path)  # where one is set, its name is enough
        if path == ("options",) or path[0] == "kind":
            new = Field.put(self, None, path[1:], value, f"{where}.{path[0]}", folder)
            return whole | {path[0]: new}
        kind = self._kind(whole.get("kind"), f"{where}.kind", folder)
        section = self._find(kind, f"{where}.kind").options
        if section is None:
            problem = f"unknown key; {kind} has no options"
            raise ConfigError(f"{where}.options.{path[1]}", problem)
        options = whole.get("options")
        return whole | {
            "options": section.put(options, path[1:], value, f"{where}.options", folder)
        }

    def schema(self) -> Schema:
        names = self._names()
        with_options = [
            {
                "type": "object",
                "additionalProperties": False,
                "required": ["kind"],
                "properties": {"kind": {"const": name}, "options": options.schema()},
            }
            for name in names
            if (options := self._find(name, "schema").options) is not None
        ]
        plain = {"type": "object", "additionalProperties": False, "required": ["kind"]}
        forms = [{"enum": list(names)}, plain | {"properties": {"kind": {"enum": list(names)}}}]
        if self._takes_files:
            path = {"type": "string", "pattern": r"\.py$"}
            whole = plain | {"properties": {"kind": path, "options": {"type": "object"}}}
            forms = [forms[0], path, forms[1], whole]
        return {"anyOf": [*forms, *with_options]}

    def describe(self) -> str:
        return f"one of {', '.join(self._names())}, or {{kind, options}}"


def kind_of(choice: PluginChoice) -> Named:
    return choice.kind if isinstance(choice, Plugin) else choice


def files_of(choice: PluginChoice, section: Section | None) -> tuple[str, ...]:
    given = dict(choice.options) if isinstance(choice, Plugin) else {}
    entries = section.entries.values() if section is not None else ()
    return tuple(
        file for name, field, _ in entries if name in given for file in field.files(given[name])
    )


def named(choice: PluginChoice) -> str:
    kind = kind_of(choice)
    return kind if isinstance(kind, str) else kind.__name__


def made(registry: Registry[type[T]], choice: PluginChoice, where: str | None = None) -> T:
    """Return the chosen plug-in, made with its options.

    Raises ConfigError, also if the plug-in raises.
    """
    plugin: Any = registry.get(kind_of(choice), where)
    place = where or registry.kind
    options = options_of(choice, plugin.options, place)
    try:
        instance: T = plugin(options)
    except YantraError:
        raise
    except Exception as error:
        raise ConfigError(place, f"{named(choice)} failed: {what_was_raised(error)}") from error
    return instance


def options_of(choice: PluginChoice, section: Section | None, where: str) -> Any:
    """Return a choice's options as the record of `section`, checked, or None.

    Raises ConfigError naming `<where>.options.<name>`.
    """
    given = dict(choice.options) if isinstance(choice, Plugin) else {}
    if section is None:
        for name in given:
            raise ConfigError(f"{where}.options.{name}", "unknown key; there are no options here")
        return None
    keys = {name: key for key, (name, _, _) in section.entries.items()}
    for name in given:
        if name not in keys:
            read_options(section, {name: None}, where, "")  # which says so
    for name, key in keys.items():
        if name not in given and not hasattr(section.record, name):
            raise ConfigError(f"{where}.options.{key}", "missing")
    record = section.record(**given)
    section.check(record, f"{where}.options")
    return record
