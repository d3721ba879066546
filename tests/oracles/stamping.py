"""Stamping node by node: the plain meaning of `TemplateBuilder.stamp`."""

from __future__ import annotations

from collections.abc import Iterable

from yantra.chakra import Metadata, Node, Trace


class PlainStamper:
    def __init__(self, metadata: Metadata | None = None) -> None:
        self.metadata = metadata
        self.nodes: list[Node] = []

    def stamp(
        self,
        block: Trace,
        edges: Iterable[tuple[int, int, bool]] = (),
        microbatch: int | None = None,
        tag_base: int = 0,
    ) -> int:
        first = len(self.nodes)
        for node in block:
            for at, item in enumerate(node.attributes):
                if item.name == "microbatch" and microbatch is not None:
                    node.attributes[at] = type(item)(item.name, microbatch, item.kind, item.doc)
                if item.name == "comm_tag":
                    tag = item.value + tag_base  # type: ignore[operator]
                    node.attributes[at] = type(item)(item.name, tag, item.kind, item.doc)
            node.id += first
            node.data_deps = [parent + first for parent in node.data_deps]
            node.ctrl_deps = [parent + first for parent in node.ctrl_deps]
            self.nodes.append(node)
        for place, earlier, is_ctrl in edges:
            node = self.nodes[first + place]
            (node.ctrl_deps if is_ctrl else node.data_deps).append(earlier)
        return first

    def build(self) -> Trace:
        return Trace(self.nodes, self.metadata)
