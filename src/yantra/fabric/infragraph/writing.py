"""A graph of ours as an InfraGraph file.

Tiers become devices of one component, our devices instances, cables edges; equal label and speed is
one link. Boxes are annotations. Other edges than one per pair and speed are refused.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from yantra.base.errors import ConfigError, show
from yantra.fabric.graphs.graph import NO_BOX, DeviceKind, Graph
from yantra.fabric.infragraph.reading import BOTH_WAYS

_LABEL = re.compile(r"[\sA-Za-z0-9_()-]+")
_CHOICES = {DeviceKind.RANK: "xpu", DeviceKind.SWITCH: "switch", DeviceKind.NIC: "nic"}


def document(graph: Graph, name: str) -> dict[str, Any]:
    _refuse(graph)
    tiers = [re.sub(r"[^A-Za-z0-9_]+", "_", tier.name) for tier in graph.tiers]
    firsts = np.cumsum([0, *(tier.size for tier in graph.tiers)])
    devices, instances = [], []
    for tier, own in zip(graph.tiers, tiers, strict=True):
        choice = _CHOICES[tier.kind]
        component = {"name": choice, "count": 1, "choice": choice, choice: {}}
        inside: dict[str, Any] = {"components": [component], "links": [], "edges": []}
        devices.append({"name": f"{own}_device", **inside})
        instances.append({"name": own, "device": f"{own}_device", "count": tier.size})
    tier_of = np.searchsorted(firsts, np.arange(graph.devices), side="right") - 1

    def endpoint(device: int) -> dict[str, str]:
        tier = int(tier_of[device])
        choice = _CHOICES[graph.tiers[tier].kind]
        return {"instance": f"{tiers[tier]}[{device - firsts[tier]}]", "component": f"{choice}[0]"}

    links: dict[tuple[str, float, float], str] = {}
    edges = []
    for low, high, rate, latency, label in _cables(graph):
        link = links.setdefault((label, rate, latency), _link_name(label, links))
        ends = {"ep1": endpoint(low), "ep2": endpoint(high)}
        edges.append({**ends, "scheme": "one2one", "link": link})
    nodes = [
        {
            "name": ".".join(_node(endpoint(device))),
            "attributes": [{"attribute": "box", "value": _box(int(box))}],
        }
        for device, box in enumerate(graph.boxes)
        if box != NO_BOX or (device < graph.ranks and (graph.boxes != NO_BOX).any())
    ]
    return {
        "infrastructure": {
            "name": name,
            "devices": devices,
            "links": [_link(own, rate, latency) for (_, rate, latency), own in links.items()],
            "instances": instances,
            "edges": edges,
        },
        "annotations": {"nodes": nodes or _no_boxes(graph, endpoint)},
    }


def _no_boxes(graph: Graph, endpoint: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": ".".join(_node(endpoint(rank))),
            "attributes": [{"attribute": "box", "value": "-"}],
        }
        for rank in range(graph.ranks)
    ]


def _box(number: int) -> str:
    return "-" if number == NO_BOX else f"box {number}"


def _node(endpoint: dict[str, str]) -> tuple[str, str]:
    instance, component = (
        re.sub(r"\[([0-9]+)\]", r".\1", endpoint[part]) for part in ("instance", "component")
    )
    return instance, component


def _link_name(label: str, known: dict[tuple[str, float, float], str]) -> str:
    taken = sum(1 for other, _, _ in known if other == label)
    return label if not taken else f"{label} [{taken + 1}]"


def _link(name: str, rate: float, latency: float) -> dict[str, Any]:
    return {
        "name": name,
        "physical": {
            "bandwidth": {"choice": "gigabytes_per_second", "gigabytes_per_second": rate},
            "latency": {"choice": "ns", "ns": latency},
        },
    }


def _refuse(graph: Graph) -> None:
    links = graph.links
    pairs = np.stack([links.start, links.end], axis=1).astype(np.int64)
    key = pairs[:, 0] * graph.devices + pairs[:, 1]
    back = pairs[:, 1] * graph.devices + pairs[:, 0]
    if len(np.unique(key)) < len(key):
        raise ConfigError("--infragraph", "cannot hold several cables between the same two devices")
    there, here = np.argsort(key), np.argsort(back)
    same = np.array_equal(key[there], back[here])
    for column in (links.bytes_per_ns, links.latency_ns):
        same = same and np.array_equal(column[there], column[here])
    if not same:
        problem = "cannot hold links whose two ways differ, or of which there is only one"
        raise ConfigError("--infragraph", problem)
    for label in graph.labels:
        if not _LABEL.fullmatch(label) or BOTH_WAYS in label:
            problem = (
                f"cannot hold the label {show(label)}; expected letters, digits, space, - and _"
            )
            raise ConfigError("--infragraph", problem)
    if graph.weights is not None:
        raise ConfigError("--infragraph", "cannot hold weights of links")
    if graph.buffers is not None:
        raise ConfigError("--infragraph", "cannot hold buffers of switches")


def _cables(graph: Graph) -> list[tuple[int, int, float, float, str]]:
    columns = [column.tolist() for column in graph.links]
    back = {
        (end, start): label
        for start, end, label in zip(columns[0], columns[1], columns[4], strict=True)
        if start > end
    }
    found = []
    for start, end, rate, latency, label in zip(*columns, strict=True):
        if start < end:
            up, down = graph.labels[label], graph.labels[back[start, end]]
            found.append((start, end, rate, latency, f"{up}{BOTH_WAYS}{down}"))
    return found
