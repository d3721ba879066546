"""A framework's file as a tree of keys, of which what is asked for is marked."""

from __future__ import annotations

import re
from os import path as paths
from typing import TYPE_CHECKING, Any

from yantra.base.documents import parse_yaml, read_text
from yantra.base.errors import ConfigError, expected_got

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORD = re.compile(r"(?:^|\s)\+{0,2}([a-z_][\w.]*\.[\w.]+)=((?:'[^']*'|\"[^\"]*\"|\S)*)")
_REFERENCE = re.compile(r"\$\{([\w.]+)\}")
_PRODUCT = re.compile(r"\$\{mul:\s*(.+?),\s*(.+?)\}\s*$", re.DOTALL)
_DEEP = 8
_DEFAULT = re.compile(r':\s*"\$\{(\w+):=([^}]*)\}"|^(?:export\s+)?(\w+)=(\S+)\s*$', re.MULTILINE)


class Tree:
    """Keys with dots, such as `policy.model_name`; `take` marks one as understood."""

    def __init__(self, flat: dict[str, Any], where: str) -> None:
        self._flat, self.where = flat, where
        self._taken: set[str] = set()
        self.assumed: dict[str, str] = {}
        """What a file does not state, and why it is taken to be so."""

    def __contains__(self, prefix: str) -> bool:
        return any(key == prefix or key.startswith(f"{prefix}.") for key in self._flat)

    def take(self, key: str, fallback: Any = None) -> Any:
        """Return a key's value, with what it refers to put in."""
        self._taken.add(key)
        value = self._flat.get(key)
        return fallback if value is None else self._value(value, 0)

    def whole(self, key: str, fallback: int | None = None) -> int | None:
        """Return a whole number of at least 1, or the fallback. Raises ConfigError."""
        value = self.take(key, fallback)
        if value is None:
            return None
        if isinstance(value, str) and "$" in value:  # a shell would say what it is
            self._taken.discard(key)
            return fallback
        try:
            number = int(value)
        except (TypeError, ValueError):
            number = 0
        if number < 1 or number != float(value):
            expected = expected_got("a whole number of at least 1", value)
            raise ConfigError(f"{self.where}: {key}", expected)
        return number

    def flag(self, key: str, fallback: bool = False) -> bool:
        """Return whether a key is on."""
        return str(self.take(key, fallback)).lower() in ("true", "1", "yes")

    def assume(self, name: str, value: float, why: str) -> None:
        """Note that a file does not state a setting."""
        self.assumed[name] = f"{name}={value:.3g}, as if {why}"

    def skip(self, prefix: str) -> None:
        """Mark what begins so as understood, as it is off."""
        self._taken |= {key for key in self._flat if key.startswith(f"{prefix}.")}

    def usual(self, values: Mapping[str, Any]) -> None:
        """Mark keys as understood that have these values, which change nothing."""
        for key, value in values.items():
            if str(self._flat.get(key)).lower() == str(value).lower():
                self._taken.add(key)

    def left(self, ignored: tuple[str, ...]) -> list[str]:
        """Return the keys that nobody took, those that begin as `ignored` do left out."""
        return sorted(
            key for key in self._flat if key not in self._taken and not key.startswith(ignored)
        )

    def _value(self, value: Any, depth: int) -> Any:
        if not isinstance(value, str) or "${" not in value or depth > _DEEP:
            return value
        if found := _PRODUCT.fullmatch(value.strip()):
            factors = [self._value(part.strip(), depth + 1) for part in found.groups()]
            try:
                return int(factors[0]) * int(factors[1])
            except (TypeError, ValueError):
                return None
        if found := _REFERENCE.fullmatch(value.strip()):
            return self._value(self._flat.get(found[1]), depth + 1)
        return value


def tree_of(path: str) -> Tree:
    """Read a file: YAML with the files that it begins from, or a script's words.

    Raises ConfigError for what cannot be read.
    """
    text = read_text(path)
    if path.endswith((".yaml", ".yml")):
        return Tree(_flat(_with_defaults(path, text, 0)), path)
    values = {(one or other): (value or said) for one, value, other, said in _DEFAULT.findall(text)}
    found = {}
    for key, value in _WORD.findall(text.replace("\\\n", " ")):
        plain = value.strip("'\"")
        if (name := plain.strip("${}")) in values and plain.startswith("$"):
            plain = values[name]
        found[key] = parse_yaml(plain, path) if plain else None
    if not found:
        expected = "YAML, or a script with words such as trainer.train_batch_size=256"
        raise ConfigError(path, f"has no keys; expected {expected}")
    return Tree(found, path)


def _with_defaults(path: str, text: str, depth: int) -> dict[str, Any]:
    tree = parse_yaml(text, path)
    if not isinstance(tree, dict):
        raise ConfigError(path, expected_got("a mapping of keys", tree))
    begins = tree.pop("defaults", [])
    names = [begins] if isinstance(begins, str) else begins
    whole: dict[str, Any] = {}
    for name in names if isinstance(names, list) else []:
        if not isinstance(name, str) or not name.endswith((".yaml", ".yml")):
            continue
        beside = paths.join(paths.dirname(path), name)
        if depth >= _DEEP:
            raise ConfigError(path, f"begins from {name} more than {_DEEP} files deep")
        if not paths.exists(beside):
            raise ConfigError(path, f"begins from {name}, which is not there; put it beside")
        whole = _merged(whole, _with_defaults(beside, read_text(beside), depth + 1))
    return _merged(whole, tree)


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    made = dict(below)
    for key, value in above.items():
        old = made.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        made[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return made


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            found |= _flat(value, f"{name}.")
        else:
            found[name] = value
    return found
