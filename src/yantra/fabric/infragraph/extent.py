"""An InfraGraph's expanded size, counted first,

as a few bytes may stand for billions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from yantra.base.errors import ConfigError

MOST_NODES, MOST_EDGES = 2_000_000, 3_000_000
"""The components and edges of the largest description that is expanded."""

_DEEPEST = 20  # devices in devices
_ENDPOINT = r"([^\[\]]*)(?:\[([^\[\]]*)\])?"
_NUMBER = r"-?[0-9]{1,12}"


def refuse_large(tree: Mapping[str, Any], name: str) -> None:
    devices = {str(one.get("name")): one for one in _mappings(tree.get("devices"))}
    instances = {str(one.get("name")): one for one in _mappings(tree.get("instances"))}
    nodes = edges = 0
    for one in instances.values():
        inside = _inside(devices, str(one.get("device")), name, 0)
        nodes += _count(one) * inside[0]
        edges += _count(one) * inside[1]
    for edge in _mappings(tree.get("edges")):
        sizes = []
        for end in ("ep1", "ep2"):
            point: Any = edge.get(end)
            point = point if isinstance(point, dict) else {}
            own, _ = _named(str(point.get("instance", "")))
            instance = instances.get(own, {})
            several = _chosen(str(point.get("instance", "")), _count(instance))
            inside_path = str(point.get("component", ""))
            sizes.append(several * _path(devices, str(instance.get("device")), inside_path))
        edges += prod(sizes) if edge.get("scheme") == "many2many" else min(sizes)
    for number, most, what in ((nodes, MOST_NODES, "components"), (edges, MOST_EDGES, "edges")):
        if number > most:
            raise ConfigError(name, f"expands to {number} {what}; expected at most {most}")


def _inside(devices: Mapping[str, Any], device: str, name: str, depth: int) -> tuple[int, int]:
    if depth > _DEEPEST:
        raise ConfigError(name, f"has devices in devices, more than {_DEEPEST} deep")
    tree, nodes, edges = devices.get(device, {}), 0, 0
    for one in _mappings(tree.get("components")):
        each = (1, 0)
        if one.get("choice") == "device":
            each = _inside(devices, str(one.get("name")), name, depth + 1)
        nodes += _count(one) * each[0]
        edges += _count(one) * each[1]
    for edge in _mappings(tree.get("edges")):
        sizes = [
            _path(devices, device, str(point.get("component", "")))
            for point in (edge.get("ep1"), edge.get("ep2"))
            if isinstance(point, dict)
        ]
        edges += prod(sizes) if edge.get("scheme") == "many2many" else min(sizes, default=0)
    return nodes, edges


def _path(devices: Mapping[str, Any], device: str, path: str) -> int:
    total = 1
    for part in path.split(".")[:_DEEPEST]:
        own, _ = _named(part)
        parts = _mappings(devices.get(device, {}).get("components"))
        found = next((one for one in parts if one.get("name") == own), {})
        total *= _chosen(part, _count(found))
        device = own
    return total


def _named(text: str) -> tuple[str, str | None]:
    match = re.match(_ENDPOINT, text)
    return (match[1], match[2]) if match else (text, None)


def _chosen(text: str, count: int) -> int:
    _, chosen = _named(text)
    if not chosen:
        return count
    ends = chosen.split(":")
    if len(ends) == 1:
        return 1
    if len(ends) > 3 or not all(re.fullmatch(_NUMBER, end) for end in ends if end):
        return count
    steps = [int(end) if end else None for end in ends]
    if len(steps) == 3 and steps[2] == 0:
        return count
    return len(range(*slice(*steps).indices(count)))


def _count(tree: Mapping[str, Any]) -> int:
    count = tree.get("count", 1)
    return max(count, 0) if isinstance(count, int) else 1


def _mappings(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, list):
        yield from (one for one in tree if isinstance(one, dict))
