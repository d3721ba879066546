"""Reads an assembly: a YAML or JSON file that says how your own sheets become a model.

    front: {embed: {sheet: embed, symbols: {Din: Dvocal}}}
    layer:
      parts: {dense: dense}
      links: [norm.y -> dense.x]
    tail: {loss: loss}
    links: [embed.y -> first.dense.x, previous.dense.y -> next.dense.x, last.dense.y -> loss.y]

Sheets are beside the file unless a folder is given. Unknown keys are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from yantra.base.documents import parse_json, parse_yaml, read_text
from yantra.base.errors import ConfigError, expected_got, hint
from yantra.workloads.importers.stg.assembly import Assembly, Block, Link, Part
from yantra.workloads.importers.stg.parse import parse

_ARROW = re.compile(r"\s*(\S+)\s*->\s*(\S+)\s*")
_BLOCK_KEYS = ("parts", "links", "sums")
_PART_KEYS = ("sheet", "symbols", "copies", *_BLOCK_KEYS)
_KEYS = ("symbols", "front", "layer", "tail", "links", "fuse_weights", "trains")


class OwnModel(NamedTuple):
    assembly: Assembly
    symbols: dict[str, int]
    """Symbols that are no flags."""


def read_assembly(path: str) -> OwnModel:
    text = read_text(path)
    if path.endswith(".json"):
        tree, warnings = parse_json(text, path)
        if warnings:
            raise ConfigError(*warnings[0].split(": ", 1))
    else:
        tree = parse_yaml(text, path)
    try:
        return _model(tree, os.path.basename(path))
    except ConfigError as error:
        raise ConfigError(
            f"{path}: {error.where}" if error.where else path, error.problem
        ) from None


def _model(tree: Any, name: str) -> OwnModel:
    _known(tree, "", _KEYS)
    if "layer" not in tree:
        raise ConfigError("layer", "missing")
    symbols = _mapping(tree.get("symbols", {}), "symbols")
    for symbol, value in symbols.items():
        if type(value) is not int:
            raise ConfigError(f"symbols.{symbol}", expected_got("a whole number", value))
    assembly = Assembly(
        front=_parts(tree.get("front", {}), "front"),
        layer=_block(tree["layer"], "layer", _BLOCK_KEYS),
        tail=_parts(tree.get("tail", {}), "tail"),
        links=_links(tree.get("links", []), "links"),
        fuses_weights=_flag(tree, "fuse_weights"),
        trains=_flag(tree, "trains"),
        layer_name="layer.{}",
        source=name,
    )
    return OwnModel(assembly, dict(symbols))


def _block(tree: Any, where: str, keys: tuple[str, ...]) -> Block:
    _known(tree, where, keys)
    sums = []
    for target, pair in _mapping(tree.get("sums", {}), f"{where}.sums").items():
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_text, pair)):
            raise ConfigError(f"{where}.sums.{target}", expected_got("two tensors", pair))
        sums.append((target, pair[0], pair[1]))
    return Block(
        parts=_parts(tree.get("parts", {}), f"{where}.parts"),
        links=_links(tree.get("links", []), f"{where}.links"),
        sums=tuple(sums),
    )


def _parts(tree: Any, where: str) -> tuple[Part, ...]:
    return tuple(
        _part(name, part, f"{where}.{name}") for name, part in _mapping(tree, where).items()
    )


def _part(name: str, tree: Any, where: str) -> Part:
    if isinstance(tree, str):
        return Part(name=name, module=tree)
    _known(tree, where, _PART_KEYS)
    symbols = _mapping(tree.get("symbols", {}), f"{where}.symbols")
    for symbol, text in symbols.items():
        _expression(text, f"{where}.symbols.{symbol}")
    copies = str(tree.get("copies", ""))
    if copies:
        _expression(copies, f"{where}.copies")
        if "*" not in name:
            raise ConfigError(where, "expected a * in the name of a part with copies")
    elif "*" in name:
        raise ConfigError(f"{where}.copies", "missing; a * in a name is the number of a copy")
    replaced = tuple((symbol, str(text)) for symbol, text in symbols.items())
    if ("sheet" in tree) == ("parts" in tree):
        raise ConfigError(where, "expected either a sheet or parts")
    if "sheet" in tree:
        if not _is_text(tree["sheet"]):
            raise ConfigError(f"{where}.sheet", expected_got("a name", tree["sheet"]))
        return Part(name=name, module=tree["sheet"], symbols=replaced, copies=copies)
    return Part(name=name, block=_block(tree, where, _PART_KEYS), symbols=replaced, copies=copies)


def _links(tree: Any, where: str) -> tuple[Link, ...]:
    if not isinstance(tree, list):
        raise ConfigError(where, expected_got("a list such as [a.y -> b.x]", tree))
    links = []
    for place, text in enumerate(tree):
        match = _ARROW.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise ConfigError(f"{where}[{place}]", expected_got("a link such as a.y -> b.x", text))
        links.append((match[1], match[2]))
    return tuple(links)


def _expression(text: Any, where: str) -> None:
    try:
        parse(str(text))
    except ValueError as error:
        raise ConfigError(where, f"{expected_got('an expression', text)} ({error})") from None


def _flag(tree: Mapping[str, Any], key: str) -> bool:
    value = tree.get(key, True)
    if not isinstance(value, bool):
        raise ConfigError(key, expected_got("true or false", value))
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _known(tree: Any, where: str, keys: tuple[str, ...]) -> None:
    for key in _mapping(tree, where):
        if key not in keys:
            raise ConfigError(f"{where}.{key}".lstrip("."), f"unknown key{hint(key, keys)}")


def _mapping(tree: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(tree, dict):
        raise ConfigError(where, expected_got("a mapping", tree))
    return tree
