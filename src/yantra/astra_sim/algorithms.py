"""The collective implementations of a system file."""

from __future__ import annotations

from os import path as paths

from yantra.astra_sim.keys import Keys
from yantra.astra_sim.numbers import read_integer
from yantra.base.documents import parse_lenient_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.base.fields.plugin_names import read_name
from yantra.base.records import Record
from yantra.scenario.types import COLLECTIVE_TYPES, Algorithms, Custom

_PLAIN = ("ring", "oneRing", "doubleBinaryTree", "halvingDoubling", "oneHalvingDoubling")
_WINDOWED = ("direct", "oneDirect")
_WINDOW_DIGITS = 5
_WINDOW = r"\s*([+-]?[0-9]+)"


class AlgorithmTable(Record):
    """The algorithms of each collective type, and the trace prefixes of single nodes."""

    by_type: dict[str, Algorithms]
    per_node: tuple[tuple[int, str], ...]

    def any(self) -> bool:
        return bool(self.per_node) or any(self.by_type.values())

    def any_custom(self) -> bool:
        return bool(self.per_node) or any(isinstance(a, Custom) for a in self.by_type.values())


def read_algorithms(keys: Keys, dimensions: int, directory: str) -> AlgorithmTable:
    by_type: dict[str, Algorithms] = {}
    for collective in COLLECTIVE_TYPES:
        key = f"{collective.replace('_', '-')}-implementation"
        native = _native(keys, key, dimensions, directory)
        by_type[collective] = _custom(keys, f"{key}-custom", directory, native) or native or None
    return AlgorithmTable(by_type=by_type, per_node=_per_node(keys, directory))


def _native(keys: Keys, key: str, dimensions: int, directory: str) -> tuple[str, ...]:
    where = f'{keys.name}: "{key}"'
    given = [read_name(name, directory, where) for name in keys.texts(key)]
    added = [name not in _PLAIN and _is_added(name) for name in given]
    names = tuple(
        name if is_added else _algorithm(keys, key, name)
        for name, is_added in zip(given, added, strict=True)
    )
    if len(names) > dimensions:
        raise keys.error(
            key,
            f"names {len(names)} algorithms; expected at most one per dimension of the network, "
            f"which has {dimensions}",
        )
    if f"{key}-custom" in keys:
        return names  # these do not run
    over_all = [
        name.startswith("one") and not is_added for name, is_added in zip(names, added, strict=True)
    ]
    all_ranks = over_all.index(True) if any(over_all) else None
    if all_ranks is not None:
        if all_ranks + 1 < len(names):
            problem = "covers all ranks, so the names after it are ignored, as in ASTRA-sim"
            keys.warn(key, f"'{names[all_ranks]}' {problem}")
        return names
    if names and len(names) < dimensions:
        keys.warn(
            key,
            f"names {len(names)} of {dimensions} dimensions; the collective covers only those, "
            "as in ASTRA-sim",
        )
    return names


def _is_added(name: str) -> bool:
    from yantra.collectives.algorithms import algorithms

    return algorithms.file_of(name) is not None


def _algorithm(keys: Keys, key: str, name: str) -> str:
    if name in _PLAIN or name in _WINDOWED:
        return name
    family = next((family for family in _WINDOWED if name.startswith(family)), None)
    if family is None:
        expected = expected_got(
            "ring, direct[window], halvingDoubling, doubleBinaryTree, "
            "oneRing, oneDirect[window] or oneHalvingDoubling",
            name,
        )
        hint = did_you_mean(name, _PLAIN + _WINDOWED)
        raise keys.error(key, f"unknown algorithm; {expected}{hint}")
    import re

    match = re.match(_WINDOW, name[len(family) :][:_WINDOW_DIGITS])
    if match is None:
        raise keys.error(key, expected_got(f"{family} and a window, such as {family}4", name))
    window = int(match[1])
    if window == -1:
        plain = family
    elif window < 1:
        raise keys.error(
            key, f"a window of {window} sends nothing; {expected_got(f'{family}1 or more', name)}"
        )
    else:
        plain = f"{family}{window}"
    if plain != name:
        keys.warn(key, f"'{name}' is read as '{plain}', as in ASTRA-sim")
    return plain


def _custom(keys: Keys, key: str, directory: str, instead_of: tuple[str, ...]) -> Custom | None:
    if key not in keys:
        return None
    prefixes = keys.texts(key)
    if len(prefixes) != 1:
        raise keys.error(key, expected_got("a list of exactly one trace prefix", prefixes))
    return Custom(prefix=paths.join(directory, prefixes[0]), instead_of=instead_of)


def _per_node(keys: Keys, directory: str) -> tuple[tuple[int, str], ...]:
    key = "per-node-custom-implementation"
    if key not in keys:
        return ()
    file = paths.join(directory, keys.text(key))
    tree, warnings = parse_lenient_yaml(read_text(file), file, last_counts=True)
    keys.warnings += warnings
    if not isinstance(tree, dict):
        raise ConfigError(file, expected_got("a mapping of node id to trace prefix", tree))
    prefixes: dict[int, str] = {}
    for node, prefix in tree.items():
        where = f"{file}: {show(node)}"
        if not isinstance(prefix, str):
            raise ConfigError(where, expected_got("a trace prefix", prefix))
        prefixes[read_integer(node, where, octal=True)] = paths.join(directory, prefix)
    return tuple(sorted(prefixes.items()))
