"""A proven plan -> Chakra traces, one per GPU: sends, receives and computations.

| operation | nodes |
|---|---|
| put | a send here, a receive there that waits for nothing |
| get, reading reductions | a request of 8 bytes to the other GPU, whose send answers it |
| signal | a message of 8 bytes; a wait is for its arrival |
| put with signal | one message, whose arrival is the signal |
| packets | a message of twice the bytes; who reads them waits for its arrival |
| reductions | a computation of all operands |
| copies, flushes, barriers, semaphores | none: what follows waits for what they wait for |

Trade-off: streamed stores into a peer's memory are one message an operation.
"""

from __future__ import annotations

from collections import Counter

from yantra.chakra.schema import Attribute, Kind, Metadata, Node, NodeType
from yantra.chakra.trace import Trace
from yantra.collectives.msccl.traces import NO_SIZES, SCHEMA, Sizes, share
from yantra.collectives.mscclpp.order import Event
from yantra.collectives.mscclpp.plan import PACKETS_SENT, SIGNALS, SUMS, WAITS, Span
from yantra.collectives.mscclpp.proof import Proof

SIGNAL_BYTES = 8
_ACCESSES = 3  # a reduction of two operands reads both and writes one
_PACKET = 2  # a flag with each word


def traces(proof: Proof, sizes: Sizes = NO_SIZES) -> list[Trace]:
    made = _Nodes(proof, sizes)
    made.add()
    about = Metadata(
        attributes=(
            Attribute("schema", SCHEMA),
            Attribute("collective", proof.collective),
            Attribute("algorithm", proof.plan.name),
        )
    )
    return [Trace(nodes, about) for nodes in made.nodes]


class _Nodes:
    def __init__(self, proof: Proof, sizes: Sizes) -> None:
        self.proof, self.sizes = proof, sizes
        self.nodes: list[list[Node]] = [[] for _ in proof.plan.gpus]
        self._ends: list[list[int]] = [[] for _ in proof.order.events]
        self._arrivals: dict[tuple[int, int], list[int]] = {}  # of an event's writes, by GPU
        self._signalled: dict[tuple[int, int], int] = {}  # the receive of a signal there
        self._tags: Counter[tuple[int, int]] = Counter()

    def add(self) -> None:
        for number in self.proof.order.sequence:
            event = self.proof.order.events[number]
            waits = self._waits(number, event)
            self._ends[number] = self._add(number, event, waits)

    def _waits(self, number: int, event: Event) -> list[int]:
        order = self.proof.order
        found: set[int] = set()
        for earlier in order.before[number]:
            if order.events[earlier].gpu == event.gpu:
                found.update(self._ends[earlier])
        for signal, at in order.signals.get(number, ()):
            found.add(self._signalled[signal, at])
        for put in order.puts.get(number, ()):
            found.update(self._arrivals.get((put, event.gpu), ()))
        return sorted(found)

    def _add(self, number: int, event: Event, waits: list[int]) -> list[int]:
        operation = event.operation
        if operation.kind in WAITS or not (operation.writes or operation.channels):
            return waits
        name = f"{operation.kind}_tb{event.lane}_op{event.place}"
        far = [span for span in operation.reads if span.gpu != event.gpu]
        ends = [self._read(event, span, f"{name}_from{span.gpu}", waits) for span in far] or waits
        if operation.kind in SUMS:
            ends = [self._reduce(event, name, ends)]
        sent = []
        for at, span in enumerate(operation.writes):
            if span.gpu != event.gpu:
                sent.append(self._put(number, event, at, span, f"{name}_to{span.gpu}", ends))
        if operation.kind in SIGNALS and not operation.writes:
            for at, channel in enumerate(operation.channels):
                ends_of = self._message(event.gpu, channel.peer, None, f"{name}_{at}", ends)
                self._signalled[number, at] = ends_of[1]
                sent.append(ends_of[0])
        return sent or ends

    def _put(
        self, number: int, event: Event, at: int, span: Span, name: str, waits: list[int]
    ) -> int:
        units = span.size * (_PACKET if event.operation.kind in PACKETS_SENT else 1)
        send, receive = self._message(event.gpu, span.gpu, units, name, waits)
        self._arrivals.setdefault((number, span.gpu), []).append(receive)
        if event.operation.kind in SIGNALS:
            self._signalled[number, at] = receive
        return send

    def _read(self, event: Event, span: Span, name: str, waits: list[int]) -> int:
        _, asked = self._message(event.gpu, span.gpu, None, f"{name}_request", waits)
        return self._message(span.gpu, event.gpu, span.size, name, [asked])[1]

    def _reduce(self, event: Event, name: str, waits: list[int]) -> int:
        operation = event.operation
        node = Node(0, name, NodeType.COMP)
        units = operation.reads[0].size * max(len(operation.reads) - 1, 1)
        if self.sizes.size_bytes is None:
            self._size(node, units)
        elif self.sizes.memory_bytes_per_s > 0:
            size = share(self.sizes.size_bytes, units, self.proof.units)
            rate = self.sizes.memory_bytes_per_s
            node["duration_ns"] = round(_ACCESSES * size * 1e9 / rate)
            node.duration_micros = round(_ACCESSES * size * 1e6 / rate)
        return self._keep(event.gpu, node, waits)

    def _message(
        self, source: int, target: int, units: int | None, name: str, waits: list[int]
    ) -> tuple[int, int]:
        tag = self._tags[source, target]
        self._tags[source, target] += 1
        send = Node(0, f"{name}_send", NodeType.COMM_SEND)
        send["comm_dst"] = target
        receive = Node(0, f"{name}_recv", NodeType.COMM_RECV)
        receive["comm_src"] = source
        for node in (send, receive):
            node["comm_tag"] = tag
            if units is None:
                node["comm_size"] = SIGNAL_BYTES
            else:
                self._size(node, units)
        return self._keep(source, send, waits), self._keep(target, receive, [])

    def _size(self, node: Node, units: int) -> None:
        if self.sizes.size_bytes is None:
            node.set("msg_chunk_cnt", units, Kind.INT32)
            node.set("total_chunk_cnt", self.proof.units, Kind.INT32)
        else:
            node["comm_size"] = share(self.sizes.size_bytes, units, self.proof.units)

    def _keep(self, gpu: int, node: Node, waits: list[int]) -> int:
        node.id = len(self.nodes[gpu])
        node.data_deps = sorted(waits)
        self.nodes[gpu].append(node)
        return node.id
