"""Single fields set from outside: `--set cluster.topology.NVLink.bandwidth=x2`.

Settings of cluster name, ranks and workload apply before the name is replaced, those of its parts
after.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

from yantra.base.documents import parse_yaml
from yantra.base.errors import ConfigError, expected_got
from yantra.base.trust import allow_set
from yantra.scenario.layout import DOCUMENT
from yantra.scenario.named import (
    call_changed,
    dimensions_of,
    expanded,
    refuse_old,
    with_compute_options,
)

Settings = Mapping[str, Any]
"""The plain tree of a value by the path of its field."""

_STEP = re.compile(r"(?:^|\.)([^.\[\]=]+)|\[([^.\[\]=]+)\]")
_OPENS, _CLOSES = "[{", "]}"


def parsed(texts: Iterable[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for text in texts:
        path, value = _split(text)
        if path in settings:
            raise ConfigError("--set", f"{path} is set twice")
        settings[path] = value_of(value, path)
    return settings


def grid(texts: Iterable[str]) -> list[dict[str, str]]:
    """Return every combination of values, in order; `a=1,2` gives two. Raises ConfigError.

    Commas in brackets or quotes belong to a value.
    """
    choices: dict[str, list[str]] = {}
    for text in texts:
        path, values = _split(text)
        if path in choices:
            problem = f"{path} is set twice; give its values with commas: {path}=1,2"
            raise ConfigError("--set", problem)
        choices[path] = _items(values)
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def value_of(text: str, path: str) -> Any:
    return parse_yaml(text, f"--set {path}")


def with_settings(
    tree: Any,
    settings: Settings,
    folder: str,
    between: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    chosen: Iterable[str] = (),
) -> Any:
    """Return a scenario's tree with named clusters replaced and fields set.

    `between` changes it in between: the keys `chosen` of `collectives`. Raises ConfigError for a
    path that leads nowhere, and a relative value without a present one.
    """
    steps = {path: _steps(path) for path in settings}
    for value in settings.values():  # whoever sets a field names what it holds
        allow_set(value, folder)
    for path, place in steps.items():
        if place[0] == "cluster" and len(place) == 2:
            refuse_old({place[1]: settings[path]})
        if not _is_part_of_cluster(place):
            tree = DOCUMENT.put(tree, place, settings[path], "", folder)
    before = tree
    later = {place: settings[path] for path, place in steps.items() if _is_part_of_cluster(place)}
    later |= {("collectives", key): None for key in chosen}
    tree, levels, machine = expanded(tree, folder, later)
    if between:
        tree = between(tree)
    for path, place in steps.items():
        if _is_part_of_cluster(place):
            for one in _named_dimensions(place, levels):
                tree = DOCUMENT.put(tree, one, settings[path], "", folder)
    changed = [
        place[1:]
        for place in steps.values()
        if _is_part_of_cluster(place) and place[0] == "cluster"
    ]
    if machine is None:
        return tree
    parts = tree["cluster"]
    if changed:
        cluster = before["cluster"]
        own = cluster.get("machine") if isinstance(cluster, dict) else None
        call_changed(parts, changed, own)
    return tree | {"cluster": parts | {"device": with_compute_options(parts["device"], machine)}}


def _is_part_of_cluster(place: tuple[str, ...]) -> bool:
    parts = ("topology", "device", "memory")
    if place[0] == "cluster":
        return len(place) > 2 and place[1] in parts
    return place[0] == "collectives" and len(place) > 1


def _named_dimensions(place: tuple[str, ...], levels: tuple[str, ...]) -> list[tuple[str, ...]]:
    if place[:2] != ("cluster", "topology") or not levels or place[2].isdigit():
        return [place]
    found = dimensions_of(place[2], levels)
    return [(*place[:2], str(at), *place[3:]) for at in found]


def _steps(path: str) -> tuple[str, ...]:
    steps, end = [], 0
    for match in _STEP.finditer(path):
        if match.start() != end:
            break
        steps.append(match[1] or match[2])
        end = match.end()
    if not steps or end != len(path) or not path.isprintable():
        problem = expected_got("the path of a field, such as cluster.topology[0].bandwidth", path)
        raise ConfigError("--set", problem)
    return tuple(steps)


def _split(text: str) -> tuple[str, str]:
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise ConfigError("--set", expected_got("PATH=VALUE, such as collectives.chunks=4", text))
    _steps(path.strip())
    return path.strip(), value.strip()


def _items(text: str) -> list[str]:
    items, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _OPENS or sign in _CLOSES:
            depth += 1 if sign in _OPENS else -1
        elif sign == "," and depth == 0:
            items.append("")
            continue
        items[-1] += sign
    return [item.strip() for item in items]
