"""Text of JSON and YAML files to plain trees, with the place of every syntax error.

YAML is read more strictly than usual where it guesses: a repeated key is an error, and a plain
scalar is a number or a truth value only in JSON's spelling (`no`, `1:30` and `010` are text).
PyYAML is loaded only when YAML is read, and with libyaml if it was built in.
"""

from __future__ import annotations

import re
from math import isinf
from os import PathLike
from typing import TYPE_CHECKING, Any

from yantra.errors import ConfigError, show

if TYPE_CHECKING:
    from collections.abc import Callable

Path = str | PathLike[str]

_JSON_NUMBER = r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"
_JSON_WORDS = {"true": True, "false": False, "null": None, "": None, "~": None}


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, without its byte-order mark."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read()
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), f"not UTF-8 text at byte {error.start}") from None


def parse_json(text: str, name: str) -> tuple[Any, list[str]]:
    """Return the first JSON value of a text, and warnings: repeated keys, text after the value.

    `name` is the file the errors name. Of a repeated key the last value counts, and what follows
    the value is not read: so does nlohmann::json 3.10 behind `stream >> json`.
    """
    import json

    warnings: list[str] = []

    def merge(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for key, value in pairs:
            if key in merged:
                warnings.append(f'{name}: "{key}": given twice; the last value counts')
            merged[key] = value
        return merged

    decoder = json.JSONDecoder(
        object_pairs_hook=merge,
        parse_float=lambda number: _number(number, name),
        parse_int=lambda number: _number(number, name),
        parse_constant=lambda word: _not_json(name, f"{word} is not a JSON value"),
    )
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        tree, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _at(name, error.lineno, error.colno, f"not JSON: {_lower(error.msg)}") from None
    except RecursionError:
        raise _not_json(name, "nested too deeply") from None
    rest = text[end:].strip()
    if rest:
        warnings.append(f"{name}: text after the JSON value is ignored: {show(rest)}")
    return tree, warnings


def parse_yaml(text: str, name: str, scalars_as_text: bool = False) -> Any:
    """Return the tree of the one YAML document in a text; None if there is none.

    With `scalars_as_text` every scalar stays as written, for readers with number rules of their
    own. Keys always stay text.
    """
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        node = yaml.compose(text, Loader=loader)
        return None if node is None else _Tree(name, scalars_as_text).build(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = f"not YAML: {error.problem or error.context}"
        raise (
            _at(name, mark.line + 1, mark.column + 1, problem)
            if mark
            else ConfigError(name, problem)
        ) from None
    except yaml.YAMLError as error:
        raise ConfigError(name, f"not YAML: {_lower(str(error).splitlines()[0])}") from None
    except RecursionError:
        raise ConfigError(name, "not YAML: nested too deeply") from None


class _Tree:
    """Builds one document; a shared anchor is built once, so the cost is that of the text."""

    def __init__(self, name: str, scalars_as_text: bool) -> None:
        self._name = name
        self._scalar: Callable[[str], Any] = str if scalars_as_text else _plain_scalar
        self._built: dict[int, Any] = {}
        self._open: set[int] = set()

    def build(self, node: Any) -> Any:
        key = id(node)
        if key in self._open:
            raise self._error(node, "an anchor contains itself")
        if key not in self._built:
            self._open.add(key)
            self._built[key] = self._value(node)
            self._open.remove(key)
        return self._built[key]

    def _value(self, node: Any) -> Any:
        if node.id == "mapping":
            return self._mapping(node)
        if node.id == "sequence":
            return [self.build(item) for item in node.value]
        return self._scalar(node.value) if node.style is None else node.value

    def _mapping(self, node: Any) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for key, value in node.value:
            if key.id != "scalar":
                raise self._error(key, "a key must be a scalar")
            if key.value in tree:
                raise self._error(key, f"the key '{key.value}' is given twice")
            tree[key.value] = self.build(value)
        return tree

    def _error(self, node: Any, problem: str) -> ConfigError:
        return _at(self._name, node.start_mark.line + 1, node.start_mark.column + 1, problem)


def _plain_scalar(text: str) -> Any:
    if text in _JSON_WORDS:
        return _JSON_WORDS[text]
    match = re.fullmatch(_JSON_NUMBER, text)
    if match is None:
        return text
    return float(text) if match[2] or match[3] or len(text) > 30 else int(text)


def _number(text: str, name: str) -> int | float:
    """Read a JSON number as 64-bit readers do: an integer beyond 64 bits becomes a float."""
    if text.lstrip("-").isdigit() and len(text) <= 20:
        whole = int(text)
        if -(2**63) <= whole < 2**64:
            return whole
    value = float(text)
    if isinf(value):
        raise _not_json(name, f"the number {show(text)} is out of range")
    return value


def _not_json(name: str, problem: str) -> ConfigError:
    return ConfigError(name, f"not JSON: {problem}")


def _at(name: str, line: int, column: int, problem: str) -> ConfigError:
    return ConfigError(f"{name}, line {line}, column {column}", problem)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
