"""Level 2: new numbers for nodes, threads, streams, groups, tags.

Node ids keep their order: simulators take the lowest ready id.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra.chakra.schema import Node
from yantra.tracing.obfuscate.keyed import Keyed
from yantra.tracing.obfuscate.strip import LANES, READ_BY_SIMULATORS

_KEPT = READ_BY_SIMULATORS | LANES | {"part", "inputs", "outputs"}
_TAGS = 500_000_000  # simulators take tags modulo this
_32_BITS = (1 << 32) - 1
_LARGEST_GAP = 64
_FIRST_IDS = 1 << 16
_THREADS = ("tid", "thread")


class Numbers:
    def __init__(self, keyed: Keyed, ranks: Iterable[list[Node]]) -> None:
        threads: set[int] = set()
        streams: set[int] = set()
        tags: set[int] = set()
        for nodes in ranks:
            for node in nodes:
                for name, found in (("tid", threads), ("thread", threads), ("stream", streams)):
                    value = node.get(name)
                    if isinstance(value, int):
                        found.add(value)
                tag = node.get("comm_tag")
                if isinstance(tag, int):
                    tags.add(canonical_tag(tag))
        self.keyed = keyed
        self.threads = keyed.permuted("thread", threads, first=1)
        self.streams = keyed.permuted("stream", streams)
        self.tags = keyed.permuted("tag", tags)

    def ids(self, nodes: list[Node], purpose: str = "id") -> dict[int, int]:
        gaps = self.keyed.stream(purpose)
        next_id = self.keyed.number(purpose, "first") % _FIRST_IDS
        ids = {}
        for id in sorted(node.id for node in nodes):
            ids[id] = next_id
            next_id += 1 + next(gaps) % _LARGEST_GAP
        return ids


def renumber(nodes: list[Node], numbers: Numbers) -> None:
    with_new_ids(nodes, numbers.ids(nodes))
    for node in nodes:
        node.inputs = node.inputs if node.name == "process_group" else None
        node.outputs = None
        node.attributes = [item for item in node.attributes if item.name in _KEPT]
        for item in list(node.attributes):
            if isinstance(item.value, int) and not isinstance(item.value, bool):
                new = _number(item.name, item.value, numbers)
                if new is not None:
                    node.set(item.name, new, item.kind)


def with_new_ids(nodes: list[Node], ids: dict[int, int]) -> None:
    for node in nodes:
        node.id = ids[node.id]
        node.data_deps = [ids[id] for id in node.data_deps]
        node.ctrl_deps = [ids[id] for id in node.ctrl_deps]
    nodes.sort(key=lambda node: node.id)


def canonical_tag(tag: int) -> int:
    return (tag & _32_BITS) % _TAGS


def _number(name: str, value: int, numbers: Numbers) -> int | None:
    if name in _THREADS:
        return numbers.threads[value]
    if name == "stream":
        return numbers.streams[value]
    if name == "comm_tag":
        return numbers.tags[canonical_tag(value)]
    return None
