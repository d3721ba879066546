"""Recipes by families: a file has axes that multiply, a name is the file's and one label an axis.

Trade-off: every combination is made; one that is impossible belongs into a family of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from os import path as paths
from typing import Any, NamedTuple

from yantra.base.documents import parse_yaml, read_text
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.base.fields import Choice, Field, Many, Schema, Section, Text
from yantra.base.named_files import ENDING, NamedFiles
from yantra.base.records import Record

MAKES = ("train", "infer", "stg", "record")
FILES = NamedFiles("family of recipes", paths.join(paths.dirname(__file__), "recipes"))
_ALL = "*?["


class Recipe(NamedTuple):
    """What makes one trace: `settings` are those of `makes`."""

    name: str
    makes: str
    about: str
    source: str
    tags: tuple[str, ...]
    settings: Mapping[str, Any]
    file: str

    @property
    def family(self) -> str:
        """The file's name."""
        return self.name.partition(".")[0]


class _Tree(Field):
    """A mapping that its maker checks."""

    expected = "a mapping of settings"

    def read(self, tree: Any, where: str, folder: str) -> Any:
        self.check(tree, where)
        return tree

    def check(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise ConfigError(where, expected_got(self.expected, value))

    def write(self, value: Any, folder: str) -> Any:
        return value

    def schema(self) -> Schema:
        return {"type": "object"}


class _Axis(_Tree):
    """Settings by label."""

    expected = "labels, each with a mapping of settings"

    def check(self, value: Any, where: str) -> None:
        super().check(value, where)
        for label, settings in value.items():
            if not isinstance(settings, dict) or not _is_label(str(label)):
                problem = "a label of letters, digits and '-' with a mapping of settings"
                raise ConfigError(f"{where}.{label}", expected_got(problem, settings))


def _is_label(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum()


class _Family(Record):
    makes: str
    about: str
    source: str
    axes: tuple[dict[str, Any], ...]
    base: dict[str, Any] = {}  # noqa: RUF012 - a default that nothing changes
    tags: tuple[str, ...] = ()


_FORM = Section(
    _Family,
    {
        "makes": ("makes", Choice(MAKES), "what makes the traces"),
        "about": ("about", Text(), "what they are, in a line"),
        "source": ("source", Text(), "where the sizes are from"),
        "tags": ("tags", Many(Text()), "words that find them"),
        "base": ("base", _Tree(), "settings of all"),
        "axes": ("axes", Many(_Axis()), "settings by label; axes multiply"),
    },
)


def family(path: str) -> tuple[Recipe, ...]:
    """The recipes of a file. Raises ConfigError."""
    read: _Family = _FORM.read(parse_yaml(read_text(path), path), path, "")
    stem = paths.basename(path).removesuffix(ENDING)
    if not _is_label(stem):
        raise ConfigError(path, "expected a file name of letters, digits and '-'")
    found = []
    for chosen in product(*(axis.items() for axis in read.axes)):
        settings: dict[str, Any] = {}
        for part in (read.base, *(settings for _, settings in chosen)):
            settings = _merged(settings, part)
        tags = settings.pop("tags", [])
        name = ".".join((stem, *(str(label) for label, _ in chosen)))
        where = f"{path}: {name}"
        if not isinstance(tags, list):
            raise ConfigError(f"{where}: tags", expected_got("a list of words", tags))
        known = (*read.tags, *map(str, tags))
        found.append(Recipe(name, read.makes, read.about, read.source, known, settings, path))
    return tuple(found)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = _merged(old, value) if both else value  # type: ignore[arg-type]
    return merged


@cache
def recipes() -> dict[str, Recipe]:
    """The library's recipes by name, family by family."""
    every = (one for name in FILES.names() for one in family(FILES.path(name)))
    return {recipe.name: recipe for recipe in every}


def chosen(names: Sequence[str]) -> list[Recipe]:
    """Recipes by name, by pattern (`dense.*`), or of a file of your own (`mine.yaml`).

    Raises ConfigError for what names none.
    """
    found: dict[str, Recipe] = {}
    for name in names:
        if name.endswith((ENDING, ".yml")):
            some = family(name)
        elif any(one in name for one in _ALL):
            some = tuple(one for key, one in recipes().items() if fnmatchcase(key, name))
        else:
            some = (recipes()[name],) if name in recipes() else ()
        if not some:
            hint = did_you_mean(name, recipes())
            raise ConfigError(name, f"no recipe has this name{hint or _SEE}")
        found |= {one.name: one for one in some}
    return list(found.values())


_SEE = "; yantra library list has all"
