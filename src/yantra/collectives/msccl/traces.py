"""A proven program -> Chakra traces, one per GPU: sends, receives and computations.

Without a size messages carry a share in chunks of the simulated collective.

Trade-off: a send ends on arrival; MSCCL's once the message is in the receiver's buffer.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.chakra.schema import Attribute, Kind, Metadata, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.collectives.msccl.order import Order
from yantra.collectives.msccl.program import RECEIVES, REDUCES, SENDS, Place, Step
from yantra.collectives.msccl.proof import Proof

SCHEMA = "1.0.2-chakra.0.0.4"
MEMORY_BYTES_PER_S = 50e9
_ACCESSES = 3  # a reduction reads two operands and writes one
_MOST_TAGS = 500_000_000  # above, simulators keep the tags of their own collectives


class Sizes(NamedTuple):
    """With `size_bytes` (a GPU's input), in bytes; a reduction takes 3 x bytes /
    `memory_bytes_per_s` (0: no time), rounded to us and, in `duration_ns`, to ns. Without, in
    chunks; the simulator charges reductions.
    """

    size_bytes: int | None = None
    memory_bytes_per_s: float = MEMORY_BYTES_PER_S


NO_SIZES = Sizes()


def share(size_bytes: int, count: int, chunks: int) -> int:
    return -(-size_bytes * count // chunks)


def traces(proof: Proof, sizes: Sizes = NO_SIZES) -> list[Trace]:
    order = proof.order
    made = _Nodes(proof, sizes)
    about = Metadata(
        attributes=(
            Attribute("schema", SCHEMA),
            Attribute("collective", proof.collective),
            Attribute("algorithm", proof.program.name),
        )
    )
    nodes: list[list[Node]] = [[] for _ in proof.program.gpus]
    for event in range(len(order.events)):
        nodes[order.events[event].gpu].extend(made.of[event])
    return [Trace(each, about) for each in nodes]


class _Nodes:
    def __init__(self, proof: Proof, sizes: Sizes) -> None:
        self.proof = proof
        self.sizes = sizes
        self.channels = proof.program.channels
        order = proof.order
        next_id = [0] * len(proof.program.gpus)
        self.of: list[list[Node]] = []
        for event, (gpu, *_) in enumerate(order.events):
            parts = self._parts(event)
            for node in parts:
                node.id = next_id[gpu]
                next_id[gpu] += 1
            self.of.append(parts)
        self._link(order)

    def _link(self, order: Order) -> None:
        ends: list[list[int]] = [[] for _ in order.events]
        for event in order.sequence:
            gpu = order.events[event].gpu
            own = [at for at in order.before[event] if order.events[at].gpu == gpu]
            waits = sorted({node for earlier in own for node in ends[earlier]})
            for node in self.of[event]:
                node.data_deps = waits
                waits = [node.id]
            ends[event] = waits

    def _parts(self, event: int) -> list[Node]:
        order = self.proof.order
        _, block, step, _ = order.events[event]
        parts: list[Node] = []
        place = f"tb{block.id}_step{step.number}"
        if step.kind in RECEIVES:
            node = Node(0, f"COMM_RECV_NODE_{place}", NodeType.COMM_RECV)
            node["comm_src"] = block.receive
            at = step.source if step.kind == "rrs" else step.destination
            parts.append(self._message(node, step, at, order.received[event], block.channel))
        if step.kind in REDUCES:
            parts.append(self._reduction(Node(0, f"COMP_NODE_{place}", NodeType.COMP), step))
        if step.kind == "cpy":
            parts.append(Node(0, f"COMP_NODE_{place}", NodeType.COMP))
        if step.kind in SENDS:
            node = Node(0, f"COMM_SEND_NODE_{place}", NodeType.COMM_SEND)
            node["comm_dst"] = block.send
            at = step.destination if step.kind in ("rcs", "rrcs") else step.source
            parts.append(self._message(node, step, at, order.sent[event], block.channel))
        for node in parts:
            node.set("tb_id", block.id, Kind.INT32)
            node.set("local_time_step", step.number, Kind.INT32)
        return parts

    def _message(self, node: Node, step: Step, at: Place, number: int, channel: int) -> Node:
        tag = number * self.channels + channel
        if tag >= _MOST_TAGS:
            raise ConfigError(
                f"{self.proof.program.where}:{step.line}",
                f"this is message {number} of its connection; tags are given to {_MOST_TAGS}",
            )
        node["comm_tag"] = tag
        self._size(node, step)
        node.set("chunk_offset", at.offset, Kind.INT32)
        return node

    def _size(self, node: Node, step: Step) -> None:
        if self.sizes.size_bytes is None:
            node.set("msg_chunk_cnt", step.chunks, Kind.INT32)
            node.set("total_chunk_cnt", self.proof.chunks, Kind.INT32)
        else:
            node["comm_size"] = share(self.sizes.size_bytes, step.chunks, self.proof.chunks)

    def _reduction(self, node: Node, step: Step) -> Node:
        if self.sizes.size_bytes is None:
            self._size(node, step)
            return node
        rate = self.sizes.memory_bytes_per_s
        if rate > 0:
            size = share(self.sizes.size_bytes, step.chunks, self.proof.chunks)
            node["duration_ns"] = round(_ACCESSES * size * 1e9 / rate)
            node.duration_micros = round(_ACCESSES * size * 1e6 / rate)
        return node


def write(made: list[Trace], prefix: str) -> list[str]:
    folder = os.path.dirname(prefix)
    try:
        os.makedirs(folder or ".", exist_ok=True)
    except OSError as error:
        raise ConfigError(folder, f"cannot be made: {error.strerror}") from None
    paths = [f"{prefix}.{gpu}.et" for gpu in range(len(made))]
    for trace, path in zip(made, paths, strict=True):
        trace.write(path)
    return paths
