"""`manifest.json` of a workload file, read strictly and written from its parts.

Unknown keys are skipped with a note: a newer Yantra raises `version` if they change others'
meanings.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from yantra.base.documents import note_unknown, parse_json
from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.workloads.templates.grid import Grid, Group
from yantra.workloads.templates.parts import RankClass

FORMAT = "yantra-workload"
VERSION = 1
ORDERINGS = ("serial", "streams")
SECTIONS = ("about", "ordering", "totals", "memory", "schedule", "notes", "steady")
_KEYS = ("format", "version", "about", "ranks", "grids", "groups", "classes", *SECTIONS[1:])
_NEEDED = ("format", "version", "ranks", "grids", "classes")


class Manifest(NamedTuple):
    ranks: int
    grids: tuple[Grid, ...]
    groups: dict[str, Group]
    classes: tuple[RankClass, ...]
    sections: dict[str, Any]


def parse(text: str, name: str) -> Manifest:
    tree, warnings = parse_json(text, name, exact_integers=True)  # FLOPs may have 80 bits
    if warnings:
        problem = warnings[0].removeprefix(f"{name}: ").partition(";")[0]
        raise ConfigError(name, problem)
    unknown: list[str] = []
    try:
        made = _read(tree, unknown)
    except ConfigError as error:
        raise ConfigError(
            f"{name}: {error.where}" if error.where else name, error.problem
        ) from None
    note_unknown(unknown, name)
    return made


def write(manifest: Manifest) -> str:
    tree = {
        "format": FORMAT,
        "version": VERSION,
        **{key: manifest.sections[key] for key in SECTIONS[:1] if key in manifest.sections},
        "ranks": manifest.ranks,
        "grids": [_grid_tree(grid) for grid in manifest.grids],
        "groups": {name: _group_tree(group) for name, group in manifest.groups.items()},
        "classes": [_class_tree(one) for one in manifest.classes],
        **{key: manifest.sections[key] for key in SECTIONS[1:] if key in manifest.sections},
    }
    try:
        return json.dumps(tree, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    except (TypeError, ValueError) as error:
        raise ConfigError("manifest", f"a section is not JSON: {error}") from None


def _read(tree: Any, unknown: list[str]) -> Manifest:
    if not isinstance(tree, dict):
        raise ConfigError("", expected_got("a mapping", tree))
    if tree.get("format") != FORMAT:
        raise ConfigError("format", expected_got(f'"{FORMAT}"', tree.get("format")))
    version = tree.get("version")
    if type(version) is not int or version != VERSION:
        newer = "; a newer Yantra wrote the file: update Yantra" if _is_above(version) else ""
        raise ConfigError("version", expected_got(str(VERSION), version) + newer)
    _known(tree, "", _KEYS, _NEEDED, unknown)
    grids = tuple(
        _grid(item, f"grids[{at}]", unknown) for at, item in enumerate(_list(tree, "", "grids"))
    )
    groups = {
        name: _group(item, f"groups.{name}", unknown)
        for name, item in _mapping(tree.get("groups", {}), "groups").items()
    }
    classes = tuple(
        _class(item, f"classes[{at}]", unknown)
        for at, item in enumerate(_list(tree, "", "classes"))
    )
    ranks = _whole(tree["ranks"], "ranks", 1)
    held = sum(grid.size for grid in grids)
    if held != ranks:
        raise ConfigError("ranks", f"{ranks}, but the grids hold {held}")
    if tree.get("ordering", ORDERINGS[0]) not in ORDERINGS:
        raise ConfigError(
            "ordering", expected_got(f"one of {', '.join(ORDERINGS)}", tree["ordering"])
        )
    if "steady" in tree:
        _known(tree["steady"], "steady", ("iterations",), ("iterations",), unknown)
        _whole(tree["steady"]["iterations"], "steady.iterations", 1)
    sections = {key: tree[key] for key in SECTIONS if key in tree}
    return Manifest(ranks, grids, groups, classes, sections)


def _is_above(version: object) -> bool:
    return isinstance(version, int) and version > VERSION


def _grid(tree: Any, where: str, unknown: list[str]) -> Grid:
    _known(tree, where, ("name", "first_rank", "views"), None, unknown)
    views = {}
    for view, axes in _mapping(tree["views"], f"{where}.views").items():
        place = f"{where}.views.{view}"
        if not isinstance(axes, list) or not all(_is_axis(axis) for axis in axes):
            raise ConfigError(place, expected_got('pairs such as ["tp", 8]', axes))
        views[view] = tuple((axis, size) for axis, size in axes)
    name = _text(tree["name"], f"{where}.name")
    return Grid(name, _whole(tree["first_rank"], f"{where}.first_rank", 0), views)


def _is_axis(axis: object) -> bool:
    return isinstance(axis, list) and len(axis) == 2 and isinstance(axis[0], str)


def _group(tree: Any, where: str, unknown: list[str]) -> Group:
    _known(tree, where, ("grid", "view", "axes", "where"), ("grid", "view", "axes"), unknown)
    axes = _list(tree, where, "axes")
    cuts = _mapping(tree.get("where", {}), f"{where}.where")
    for axis, parts in cuts.items():
        inner = parts if isinstance(parts, list) else [None]
        flat = [at for part in inner for at in (part if isinstance(part, list) else [part])]
        if any(type(at) is not int for at in flat):
            raise ConfigError(f"{where}.where.{axis}", expected_got("coordinates", parts))
    return Group(
        _text(tree["view"], f"{where}.view"),
        [_text(axis, f"{where}.axes") for axis in axes],
        cuts,
        _text(tree["grid"], f"{where}.grid"),
    )


def _class(tree: Any, where: str, unknown: list[str]) -> RankClass:
    _known(tree, where, ("grid", "select", "template"), None, unknown)
    select: dict[str, int | list[int]] = {}
    for axis, places in _mapping(tree["select"], f"{where}.select").items():
        flat = places if isinstance(places, list) else [places]
        if not flat or any(type(at) is not int for at in flat):
            raise ConfigError(f"{where}.select.{axis}", expected_got("coordinates", places))
        select[axis] = places
    grid, template = (_text(tree[key], f"{where}.{key}") for key in ("grid", "template"))
    return RankClass(grid, select, template)


def _grid_tree(grid: Grid) -> dict[str, Any]:
    views = {name: [list(axis) for axis in axes] for name, axes in grid.views}
    return {"name": grid.name, "first_rank": grid.first_rank, "views": views}


def _group_tree(group: Group) -> dict[str, Any]:
    tree: dict[str, Any] = {"grid": group.grid, "view": group.view, "axes": list(group.axes)}
    if group.where:
        tree["where"] = {
            axis: list(parts[0]) if len(parts) == 1 else [list(part) for part in parts]
            for axis, parts in group.where
        }
    return tree


def _class_tree(one: RankClass) -> dict[str, Any]:
    select = {axis: at[0] if len(at) == 1 else list(at) for axis, at in one.select}
    return {"grid": one.grid, "select": select, "template": one.template}


def _known(
    tree: Any,
    where: str,
    known: Sequence[str],
    needed: Sequence[str] | None,
    unknown: list[str],
) -> None:
    for key in _mapping(tree, where):
        if key not in known:
            unknown.append(f"{where}.{key}".lstrip(".") + did_you_mean(key, known))
    for key in known if needed is None else needed:
        if key not in tree:
            raise ConfigError(f"{where}.{key}".lstrip("."), "missing")


def _mapping(tree: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(tree, dict):
        raise ConfigError(where, expected_got("a mapping", tree))
    return tree


def _list(tree: Mapping[str, Any], where: str, key: str) -> list[Any]:
    if not isinstance(tree[key], list):
        raise ConfigError(f"{where}.{key}".lstrip("."), expected_got("a list", tree[key]))
    items: list[Any] = tree[key]
    return items


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(where, expected_got("a text", value))
    return value


def _whole(value: Any, where: str, low: int) -> int:
    if type(value) is not int or value < low:
        raise ConfigError(where, expected_got(f"a whole number from {low}", value))
    return value
