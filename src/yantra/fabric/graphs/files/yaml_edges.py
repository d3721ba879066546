"""Edge lists in YAML: cables as mappings, ranks and boxes by name.

    ranks: [gpu 0, gpu 1]
    boxes: {node 0: [gpu 0, gpu 1]}
    buffers: {leaf: 16 MiB}
    links:
    - {from: gpu 0, to: leaf, bandwidth: 50 GB/s, latency: 500 ns, label: rank}
    - {from: leaf, to: gpu 0, bandwidth: 100 GB/s, latency: 500 ns, one_way: true}

Or the kind of a fabric with its options, as a scenario states it:

    {kind: fat_tree, k: 8, bandwidth: 50 GB/s, latency: 500 ns}

Without `ranks`, devices 0, 1, 2 ... are ranks. Links are both ways unless `one_way`. `boxes` name
ranks and switches that lead elsewhere; switches that join only its ranks follow. `weight` is for
routings (1); `buffers` and `weights` as in `yantra.fabric.graphs.beside`.
"""

from __future__ import annotations

from os import path as paths
from typing import Any

from yantra.base.documents import parse_yaml
from yantra.base.errors import ConfigError, expected_got, show
from yantra.base.fields import Field, Flag, Many, Schema, Section, Text
from yantra.base.records import Record
from yantra.fabric.graphs import beside
from yantra.fabric.graphs.beside import WEIGHT
from yantra.fabric.graphs.builder import BANDWIDTH, LATENCY
from yantra.fabric.graphs.files.gathering import Gathering, Traits
from yantra.fabric.graphs.graph import Graph


class _Link(Record):
    start: str
    end: str
    bytes_per_ns: float
    latency_ns: float
    label: str = ""
    one_way: bool = False
    weight: float = 1.0


class _Device(Field):
    expected = "the name of a device"

    def read(self, tree: Any, where: str, folder: str) -> str:
        is_number = isinstance(tree, int) and not isinstance(tree, bool)
        if not (is_number or isinstance(tree, str)) or tree == "":
            raise ConfigError(where, expected_got(self.expected, tree))
        return str(tree)

    def schema(self) -> Schema:
        return {"type": ["string", "integer"]}


_LINK = Section(
    _Link,
    {
        "from": ("start", _Device(), "the device it leaves"),
        "to": ("end", _Device(), "the device it leads to"),
        "bandwidth": ("bytes_per_ns", BANDWIDTH, "per direction"),
        "latency": ("latency_ns", LATENCY, "of the link"),
        "label": ("label", Text(), "by which its use is summed up"),
        "weight": ("weight", WEIGHT, "what routings take the least sum of"),
        "one_way": ("one_way", Flag(), "that there is no link back"),
    },
)
_NAMES = Many(_Device())


def parse(text: str, name: str) -> Graph:
    tree = parse_yaml(text, name)
    if not isinstance(tree, dict):
        raise ConfigError(name, expected_got("a mapping with `links`, or with a `kind`", tree))
    tree, more = beside.parted(tree)
    said = beside.read(more, f"{name}: ")
    graph = _built(tree, name) if "kind" in tree else _listed(tree, name)
    return beside.with_beside(graph, said, f"{name}: ")


def _listed(tree: dict[str, Any], name: str) -> Graph:
    for key in tree:
        if key not in ("ranks", "boxes", "links"):
            known = ", ".join(("ranks", "boxes", "links", *beside.BESIDE))
            raise ConfigError(f"{name}: {key}", f"unknown key; expected one of {known}")
    links = tree.get("links")
    if not isinstance(links, list):
        raise ConfigError(f"{name}: links", expected_got("a list of links", links))
    gathering = Gathering(name, finds_boxes=True)
    if "ranks" in tree:
        where = f"{name}: ranks"
        named = _NAMES.read(tree["ranks"], where, "")
        for rank, device in enumerate(named):
            gathering.rank(gathering.device(device), rank, f"{where}[{rank}]")
    for at, one in enumerate(links):
        where = f"{name}: links[{at}]"
        link = _LINK.read(one, where, "")
        start, end = gathering.device(link.start), gathering.device(link.end)
        traits = Traits(link.bytes_per_ns, link.latency_ns, link.label, link.weight)
        gathering.link(start, end, traits, where, both_ways=not link.one_way)
    _read_boxes(gathering, tree.get("boxes", {}))
    return gathering.graph()


def _built(tree: dict[str, Any], name: str) -> Graph:
    from yantra.fabric.graphs import graph_of, read

    where, kind = f"{name}: kind", tree["kind"]
    options = {key: tree[key] for key in tree if key != "kind"}
    if not isinstance(kind, str) or not kind:
        raise ConfigError(where, expected_got("the name of a fabric", kind))
    try:
        builder = read(kind, options, "fabric", paths.dirname(name))
    except ConfigError as error:
        field = error.where.partition(".")[2] or "kind"
        raise type(error)(f"{name}: {field}", error.problem) from None
    return graph_of(builder, where)


def _read_boxes(gathering: Gathering, tree: Any) -> None:
    where = f"{gathering.name}: boxes"
    if not isinstance(tree, dict):
        raise ConfigError(where, expected_got("a mapping from boxes to lists of devices", tree))
    for box, devices in tree.items():
        for at, device in enumerate(_NAMES.read(devices, f"{where}.{box}", "")):
            known = gathering.known(device)
            if known is None:
                raise ConfigError(f"{where}.{box}[{at}]", f"no link joins a device {show(device)}")
            gathering.box(known, str(box), f"{where}.{box}[{at}]")
