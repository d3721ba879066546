"""The trace of one rank of a SimAI workload, with groups and peers by name.

Computations form a chain and wait for collectives of forward passes and input gradients; those of
weight gradients only precede later ones of their group. A row's time of processing follows its
collectives, off the device. SimAI's sizes are the whole tensor's; Chakra's all-gather counts what
one rank gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from yantra.chakra import CollectiveType, Node, NodeType, Trace, TraceBuilder
from yantra.workloads.importers.simai.order import Part
from yantra.workloads.importers.simai.read import Phase, Row

_WORDS = {"F": "forward", "b": "input gradient", "W": "weight gradient"}


def trace(parts: Iterable[Part], groups: Mapping[str, int], message_bytes: int) -> Trace:
    """`groups` are the sizes of the communicators of more than one rank, by name."""
    made = _Rank(groups, message_bytes)
    for part in parts:
        made.run(part)
    return made.builder.build()


def shard(size_bytes: int, ranks: int) -> int:
    """What one rank gives to an all-gather of `size_bytes`; the last may give less."""
    return -(-size_bytes // ranks)


class _Rank:
    def __init__(self, groups: Mapping[str, int], message_bytes: int) -> None:
        self.groups = groups
        self.message_bytes = message_bytes
        self.builder = TraceBuilder()
        self.awaits: list[Node] = []
        self.last_of: dict[str, Node] = {}
        self.elapsed_ns = 0

    def run(self, part: Part) -> None:
        tag = 2 * part.microbatch + (part.way != "F")
        if part.before and self.message_bytes:
            self.awaits.append(self._message(NodeType.COMM_RECV, part.before, tag, []))
        for row in part.rows if part.way == "F" else reversed(part.rows):
            self._row(row, part)
        if part.after and self.message_bytes:
            self._message(NodeType.COMM_SEND, part.after, tag, self.awaits)

    def _row(self, row: Row, part: Part) -> None:
        if part.way == "F":
            self._phase(row, "F", row.forward, part, waits=True)
        if part.way in ("B", "b"):
            self._phase(row, "b", row.input_gradient, part, waits=True)
        if part.way in ("B", "W"):
            self._phase(row, "W", row.weight_gradient, part, waits=False)

    def _phase(self, row: Row, way: str, phase: Phase, part: Part, waits: bool) -> None:
        name = f"{row.name} {_WORDS[way]}"
        computed = self._compute(name, phase.time_ns, self.awaits)
        computed["microbatch"] = part.microbatch
        self.awaits = [computed]
        if phase.kind is None or phase.group not in self.groups:
            return
        collective = self._collective(f"{name} {phase.group}", phase, phase.kind, computed)
        if row.update_ns:
            collective = self._compute(f"{name} processed", row.update_ns, [collective], cpu=True)
        if waits:
            self.awaits = [collective]

    def _collective(self, name: str, phase: Phase, kind: CollectiveType, after: Node) -> Node:
        size = phase.size_bytes
        if kind is CollectiveType.ALL_GATHER:
            size = shard(size, self.groups[phase.group])
        node = self.builder.collective(kind, size, name=name, group=phase.group, after=after)
        before = self.last_of.get(phase.group)
        if before is not None:
            node.depends_on(before, control=True)
        self.last_of[phase.group] = node
        return node

    def _compute(self, name: str, time_ns: int, after: list[Node], cpu: bool = False) -> Node:
        begin = self.elapsed_ns
        micros = (begin + time_ns + 500) // 1000 - (begin + 500) // 1000
        if cpu:
            micros = (time_ns + 500) // 1000
        else:
            self.elapsed_ns += time_ns
        node = self.builder.compute(name, duration_micros=micros, cpu=cpu, after=after)
        node["duration_ns"] = time_ns
        return node

    def _message(self, kind: NodeType, peer: str, tag: int, after: list[Node]) -> Node:
        name = f"{'send to' if kind is NodeType.COMM_SEND else 'receive from'} {peer}"
        attributes: dict[str, bool | int | str] = {
            "is_cpu_op": False,
            "comm_size": self.message_bytes,
            "comm_tag": tag,
            "comm_peer": peer,
        }
        node = Node(len(self.builder.nodes), name, kind, attributes=attributes)
        return self.builder.add(node, after)
