"""`TemplateBuilder`: a long trace made of copies of short ones.

A training step repeats the same few passes for every micro-batch. Each pass is built once, as a
block; `stamp` copies it with new ids, tied to what came before.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra.chakra import Metadata, Node, Trace
from yantra.errors import TraceError

Edge = tuple[int, int, bool]
"""(position in the block, id of an earlier node, whether it is a control dependency)."""


class TemplateBuilder:
    """Collects copies of blocks; ids count from 0 in the order of stamping."""

    def __init__(self, metadata: Metadata | None = None) -> None:
        self.metadata = metadata
        self._nodes: list[Node] = []

    def stamp(
        self,
        block: Trace,
        edges: Iterable[Edge] = (),
        *,
        microbatch: int | None = None,
        tag_base: int = 0,
    ) -> int:
        """Add a copy of `block`; return the id of its first node, to which the others are relative.

        The nodes of a block have the ids 0, 1, ... in this order and depend on earlier ones. Each
        edge adds a dependency of a node of the copy on a node already here. Attributes `microbatch`
        become `microbatch` unless that is None; `tag_base` is added to each `comm_tag`. Raises
        TraceError for a block or an edge that does not fit; nothing is added then.
        """
        first = len(self._nodes)
        added = []
        for place, node in enumerate(block):
            if node.id != place or any(d >= place for d in (*node.data_deps, *node.ctrl_deps)):
                raise TraceError(f"block: {node.label}: expected ids 0, 1, ... and earlier parents")
            values = {item.name: item for item in node.attributes}
            if microbatch is not None and "microbatch" in values:
                node["microbatch"] = microbatch
            if "comm_tag" in values:
                node["comm_tag"] = values["comm_tag"].value + tag_base  # type: ignore[operator]
            node.id += first
            node.data_deps = [dep + first for dep in node.data_deps]
            node.ctrl_deps = [dep + first for dep in node.ctrl_deps]
            added.append(node)
        for place, earlier, control in edges:
            if not (0 <= place < len(added) and 0 <= earlier < first):
                raise TraceError(f"edge ({place}, {earlier}): no such node")
            (added[place].ctrl_deps if control else added[place].data_deps).append(earlier)
        self._nodes += added
        return first

    def build(self) -> Trace:
        """Make the trace; the builder can go on and build a longer one."""
        return Trace(self._nodes, self.metadata)

    def __len__(self) -> int:
        return len(self._nodes)
