"""InfraGraph to a graph, from the package's expansion.

Components `xpu` are ranks, by annotation `rank` if all have it, else in order; `nic` are cards,
others switches. An instance's ranks are in one box. An edge is a cable, labelled by its link.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from yantra.base.documents import parse_json, parse_yaml, read_text
from yantra.base.errors import ConfigError, YantraError, expected_got, hint, show
from yantra.base.extras import install
from yantra.base.whole_numbers import is_whole
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY
from yantra.fabric.graphs.files.gathering import Gathering, Traits
from yantra.fabric.graphs.graph import DeviceKind, Graph
from yantra.fabric.infragraph import EVERY, PREFIX, LinkSpeed
from yantra.fabric.infragraph.extent import refuse_large

BOTH_WAYS = " <> "
"""Between the labels of both directions, in files that Yantra wrote; ` [2]` tells speeds apart."""
_UNITS = {"Gbps": "Gb/s", "GBps": "GB/s", "ms": "ms", "us": "us", "ns": "ns"}
_NUMBERED = re.compile(r"(<> .*) \[[0-9]+\]$")


def read(name: str, said: Mapping[str, LinkSpeed], where: str) -> Graph:
    service = _service(name)
    if name.startswith(PREFIX):
        from yantra.fabric.infragraph.blueprints import infrastructure

        with redirect_stdout(StringIO()):  # some blueprints print
            description = infrastructure(name.removeprefix(PREFIX), where)
        annotations = None
        tree = description.serialize("dict")
    else:
        tree, annotations = _parts(_tree(name), name)
        description = None
    refuse_large(tree, name)
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            service.set_graph(json.dumps(tree) if description is None else description)
            if annotations:
                service.annotate_graph(json.dumps(annotations))
        nodes = list(service.get_networkx_graph().nodes(data=True))
        edges = list(service.get_networkx_graph().edges(data=True))
    except (YantraError, MemoryError):
        raise
    except RecursionError:
        raise ConfigError(name, "has devices that contain themselves") from None
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise ConfigError(name, f"the package infragraph refuses it: {text}") from None
    return _graph(name, nodes, edges, said, where)


def _service(name: str) -> Any:
    try:
        from infragraph.infragraph_service import InfraGraphService
    except ImportError:
        advice = install("infragraph")
        raise ConfigError(name, f"needs the package infragraph, 3.1 or newer: {advice}") from None
    return InfraGraphService()


def _tree(name: str) -> Any:
    text = read_text(name)
    return parse_json(text, name)[0] if name.lower().endswith(".json") else parse_yaml(text, name)


def _parts(tree: Any, name: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    if not isinstance(tree, dict):
        raise ConfigError(name, expected_got("a mapping with devices, instances and edges", tree))
    annotations = tree.get("annotations")
    found = tree.get("infrastructure", {key: tree[key] for key in tree if key != "annotations"})
    if not isinstance(found, dict):
        raise ConfigError(f"{name}: infrastructure", expected_got("a mapping", found))
    if annotations is not None and not isinstance(annotations, dict):
        raise ConfigError(f"{name}: annotations", expected_got("a mapping", annotations))
    if annotations:
        nodes = annotations.get("nodes")
        annotations = {"nodes": nodes} if nodes else None
    return found, annotations


def _graph(
    name: str, nodes: list[Any], edges: list[Any], said: Mapping[str, LinkSpeed], where: str
) -> Graph:
    gathering = Gathering(name)
    ranks = [node for node, data in nodes if data.get("type") == "xpu"]
    if not ranks:
        raise ConfigError(name, "has no components of choice xpu, which would be the ranks")
    place = {node: at for at, (node, _) in enumerate(nodes)}
    number_of = _numbers(ranks, dict(nodes), name)
    boxes = {_instance(node) for node in ranks}
    for node, data in nodes:
        is_nic = data.get("type") == "nic"
        device = gathering.device(node, DeviceKind.NIC if is_nic else DeviceKind.SWITCH)
        if node in number_of:
            gathering.rank(device, number_of[node], f"{name}: {node}")
        box = data.get("box") or (_instance(node) if _instance(node) in boxes else "")
        if box and box != "-":
            gathering.box(device, str(box))
    speeds = _speeds(name, edges, said, where)
    for one, other, data in edges:
        low, high = sorted((one, other), key=place.__getitem__)
        link = str(data.get("link") or "")
        rate, latency = speeds[link]
        up, _, down = _NUMBERED.sub(r"\1", link).partition(BOTH_WAYS)
        start, end = gathering.device(low), gathering.device(high)
        gathering.link(start, end, Traits(rate, latency, up), name)
        gathering.link(end, start, Traits(rate, latency, down or up), name)
    return gathering.graph()


def _instance(node: str) -> str:
    return ".".join(node.split(".")[:2])


def _numbers(ranks: list[str], data: Mapping[str, Any], name: str) -> dict[str, int]:
    said = [data[node].get("rank") for node in ranks]
    if all(number is None for number in said):
        return {node: at for at, node in enumerate(ranks)}
    for node, number in zip(ranks, said, strict=True):
        if not (isinstance(number, str) and is_whole(number)):
            problem = expected_got("the annotation rank, a whole number, of every xpu", number)
            raise ConfigError(f"{name}: {node}", problem)
    return {node: int(number) for node, number in zip(ranks, said, strict=True)}


def _speeds(
    name: str, edges: list[Any], said: Mapping[str, LinkSpeed], where: str
) -> dict[str, tuple[float, float]]:
    stated: dict[str, tuple[str, str]] = {}
    for _, _, data in edges:
        link = str(data.get("link") or "")
        stated.setdefault(link, (data.get("bandwidth", ""), data.get("latency", "")))
    for link in said:
        if link not in stated and link != EVERY:
            problem = f"{name} has no links of this name{hint(link, stated)}"
            raise ConfigError(f"{where}.links.{link}", problem)
    speeds, missing = {}, []
    for link, (bandwidth, latency) in stated.items():
        own, rest = said.get(link, LinkSpeed()), said.get(EVERY, LinkSpeed())
        rate = _first(own.bytes_per_ns, _read(bandwidth, BANDWIDTH), rest.bytes_per_ns)
        delay = _first(own.latency_ns, _read(latency, LATENCY), rest.latency_ns)
        speeds[link] = rate, delay
        missing += [f"links.{link}.bandwidth"] * (rate is None)
        missing += [f"links.{link}.latency"] * (delay is None)
    if missing:
        also = f" (nor {', '.join(missing[1:])})" if len(missing) > 1 else ""
        problem = f"missing; {name} does not say it{also}"
        raise ConfigError(f"{where}.{missing[0]}", f"{problem}; links.{EVERY} is for all links")
    return {
        link: (rate, delay)
        for link, (rate, delay) in speeds.items()
        if rate is not None and delay is not None
    }


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _read(text: str, field: Any) -> float | None:
    """Return a package's speed, "400.0 Gbps", or None;

    GT/s is no rate without its encoding.
    """
    number, _, unit = text.partition(" ")
    if unit not in _UNITS:
        return None
    value: float = field.read(f"{number} {_UNITS[unit]}", show(text), "")
    return value
