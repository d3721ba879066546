"""Fields that only scenarios have: topologies, algorithms, groups of ranks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from os import path as paths
from typing import Any

from yantra.base.documents import parse_json, parse_yaml, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.base.fields import Field, File, Many, Numbered, Schema, Section, Text, Whole
from yantra.base.fields.plugin_names import read_name, write_name
from yantra.base.plugin_files import Named
from yantra.base.registry import Registry
from yantra.scenario.types import Algorithms, Custom, Topology

_SPANS = "[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*"
_MOST_RANKS = 10_000_000
_LAST_GROUP = 2**42  # group stream numbers are 64 bits, a million each


def check_ranks(ranks: Iterable[int], count: int, where: str) -> None:
    for rank in ranks:
        if rank >= count:
            raise ConfigError(where, f"expected ranks from 0 to {count - 1}, got {rank}")


def check_repeats(every_ns: float | None, times: int, where: str) -> None:
    if (every_ns is None) != (times == 1):
        raise ConfigError(where, "expected every and times together, or neither")


class PluginName(Text):
    """A plug-in's name or file or, in Python, class."""

    @property
    def registry(self) -> Registry[Any]:
        raise NotImplementedError

    def read(self, tree: Any, where: str, folder: str) -> str:
        return read_name(super().read(tree, where, folder), folder, where)

    def check(self, value: Any, where: str) -> None:
        if isinstance(value, type):
            self.registry.get(value, where)
        else:
            super().check(value, where)

    def write(self, value: Named, folder: str) -> Any:
        return write_name(self.registry, value, folder)


class TopologyName(PluginName):
    """A topology's name or file; `check.py` looks it up."""

    expected = "the name of a topology"

    @property
    def registry(self) -> Registry[Any]:
        from yantra.fabric.topologies import topologies

        return topologies

    def schema(self) -> Schema:
        from yantra.fabric.topologies import topologies

        names = topologies.names()
        numbered = [name for name in names if topologies.get(name).number_means]
        return {
            "anyOf": [
                {"enum": list(names)},
                {"type": "string", "pattern": f"^({'|'.join(numbered)})[1-9][0-9]{{0,4}}$"},
                {"type": "string", "pattern": r"\.py(:[1-9][0-9]{0,4})?$"},
            ]
        }


class AlgorithmName(PluginName):
    """An algorithm's name or file; `compile` looks it up."""

    @property
    def registry(self) -> Registry[Any]:
        from yantra.collectives.algorithms import algorithms

        return algorithms


def _is_spans(text: str) -> bool:
    import re

    return re.fullmatch(_SPANS, text) is not None


class Ranks(Field):
    """Ranks as text such as `0-7,12`, or a list; held in order."""

    expected = "ranks such as 0-7,12, or a list of ranks"

    def read(self, tree: Any, where: str, folder: str) -> tuple[int, ...]:
        if isinstance(tree, str) and _is_spans(tree):
            ends = [[int(end) for end in span.split("-")] for span in tree.split(",")]
            if any(span[-1] - span[0] > _MOST_RANKS for span in ends):
                raise ConfigError(where, expected_got(self.expected, tree))
            tree = [rank for span in ends for rank in range(span[0], span[-1] + 1)]
        elif isinstance(tree, int) and not isinstance(tree, bool):
            tree = [tree]
        if not isinstance(tree, list) or set(map(type, tree)) - {int}:
            raise ConfigError(where, expected_got(self.expected, tree))
        ranks = tuple(sorted(tree))
        self.check(ranks, where)
        return ranks

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, tuple) or not value or set(map(type, value)) - {int}:
            raise ConfigError(where, expected_got("a tuple of ranks", value))
        for before, rank in pairwise((-1, *value)):
            if rank <= before:
                problem = f"expected each rank once, in ascending order; got {rank} after {before}"
                raise ConfigError(where, problem)

    def write(self, value: tuple[int, ...], folder: str) -> str:
        spans: list[list[int]] = []
        for rank in value:
            if spans and spans[-1][-1] == rank - 1:
                spans[-1][1:] = [rank]
            else:
                spans.append([rank])
        return ",".join("-".join(map(str, span)) for span in spans)

    def schema(self) -> Schema:
        one = {"type": "integer", "minimum": 0}
        text = {"type": "string", "pattern": f"^{_SPANS}$"}
        return {"anyOf": [one, text, {"type": "array", "items": one, "minItems": 1}]}


class Dimensions(Many):
    """A topology's dimensions, innermost first."""

    expected = "a list with one mapping per dimension"

    def read(self, tree: Any, where: str, folder: str) -> Topology:
        dimensions = super().read(tree, where, folder)
        self._some(dimensions, where)
        return Topology(dimensions=dimensions)

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, Topology):
            raise ConfigError(where, expected_got("a Topology", value))
        if not isinstance(value.dimensions, tuple):
            raise ConfigError(where, expected_got("a tuple of dimensions", value.dimensions))
        self._some(value.dimensions, where)
        super().check(value.dimensions, where)

    def _some(self, dimensions: tuple[Any, ...], where: str) -> None:
        if not dimensions:
            raise ConfigError(where, "expected at least one dimension, got none")

    def write(self, value: Topology, folder: str) -> Any:
        return super().write(value.dimensions, folder)

    def schema(self) -> Schema:
        return super().schema() | {"minItems": 1}


class AlgorithmList(Many):
    """An algorithm per dimension, or `{custom: prefix}` for traces."""

    expected = "a list of algorithm names, one per dimension, or {custom: ...}"

    def __init__(self) -> None:
        super().__init__(AlgorithmName())
        prefix = (File(ending=".{position}.et"), "trace files, one per position of the group")
        unused = (Many(AlgorithmName()), "algorithms that do not run, for ASTRA-sim's log")
        entries = {"custom": ("prefix", *prefix), "instead_of": ("instead_of", *unused)}
        self._custom = Section(Custom, entries)

    def read(self, tree: Any, where: str, folder: str) -> Algorithms:
        read = self._custom.read if isinstance(tree, dict) else super().read
        algorithms: Algorithms = read(tree, where, folder)
        return algorithms

    def check(self, value: Any, where: str) -> None:
        if isinstance(value, Custom):
            self._custom.check(value, where)
            return
        if not isinstance(value, tuple):
            expected = "a tuple of algorithm names, a Custom or None"
            raise ConfigError(where, expected_got(expected, value))
        for name in value:
            self.item.check(name, where)

    def write(self, value: Algorithms, folder: str) -> Any:
        if isinstance(value, Custom):
            return self._custom.write(value, folder)
        return super().write(value, folder)

    def schema(self) -> Schema:
        return {"anyOf": [super().schema() | {"minItems": 1}, self._custom.schema()]}


class GroupTable(Numbered):
    """Communicator groups, in place or in a JSON or YAML file.

    `check.py` checks the members.
    """

    expected = "a mapping of group id to ranks, or the path of a file with one"

    def __init__(self) -> None:
        super().__init__(Many(Whole()), at_least=1, at_most=_LAST_GROUP)

    def read(self, tree: Any, where: str, folder: str) -> tuple[tuple[int, Any], ...]:
        if not isinstance(tree, str):
            return super().read(tree, where, folder)
        file = paths.join(folder, tree)
        text = read_text(file)
        is_json = file.endswith(".json")
        return super().read(
            parse_json(text, file)[0] if is_json else parse_yaml(text, file), file, folder
        )

    def check(self, value: Any, where: str) -> None:
        self._check_numbers(value, where)
        last = 0
        for group, _ in value:
            if group <= last:
                problem = f"expected groups by ascending id; got it after {last}"
                raise ConfigError(f"{where}.{group}", problem)
            last = group

    def schema(self) -> Schema:
        return {"anyOf": [super().schema(), Text().schema()]}
