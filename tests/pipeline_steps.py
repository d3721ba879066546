"""Steps of a pipeline in the form of converted recordings."""

from __future__ import annotations

from typing import NamedTuple

from yantra.chakra import Metadata, Node, NodeType, Trace
from yantra.chakra.schema import Attribute, IOInfo
from yantra.tracing.inspect.rank_traces import RankTrace

TOKENS, WIDTH, WORDS = 20, 48, 500
X = (TOKENS, WIDTH)
UP, DOWN = (3 * WIDTH, WIDTH), (WIDTH, 3 * WIDTH)
_FUNCTION = "autograd::engine::evaluate_function: "


class Pipeline(NamedTuple):
    """`layers` of all stages; each stage is one rank."""

    stages: int
    layers: int = 12
    micro_batches: int = 4
    gpipe: bool = False

    def job(self) -> list[RankTrace]:
        ranks = range(self.stages)
        return [RankTrace(rank, f"{rank}.et", _Stage(self, rank).trace()) for rank in ranks]


class _Stage:
    def __init__(self, job: Pipeline, at: int) -> None:
        self.job, self.at = job, at
        self.is_first, self.is_last = at == 0, at == job.stages - 1
        self.nodes: list[Node] = []
        self.number = 0
        self.last: list[int] = []  # what the next operator waits for
        self.numbers: dict[int, list[tuple[int, tuple[int, int]]]] = {}

    def add(self, name: str, above: int, *shapes: tuple[int, ...], ops: int = 0) -> int:
        id = len(self.nodes)
        deps, ctrl = list(self.last), ([above] if above >= 0 else [])
        self.last = [id]
        made = Node(id, name, NodeType.COMP, 10, deps, ctrl, start_micros=10 * id)
        made.attributes = [Attribute("is_cpu_op", True), Attribute("thread", 7)]
        made.attributes.append(Attribute("start_time_ns", 10_000 * id))
        made.attributes += [Attribute("seq_id", self.number)] if not shapes else []
        made.attributes += [Attribute("num_ops", ops)] if ops else []
        types = str(["Tensor(float)"] * len(shapes))
        made.inputs = IOInfo("[]", str([list(one) for one in shapes]), types)
        self.nodes.append(made)
        return id

    def numbered(self, name: str, above: int, *shapes: tuple[int, ...]) -> int:
        self.number += 1
        id = self.add(name, above, *shapes)
        self.nodes[id].attributes.append(Attribute("seq_id", self.number))
        return id

    def message(self, peer: int, is_send: bool) -> None:
        if not is_send:
            self.add("aten::empty", 1)
        call = self.add("c10d::send" if is_send else "c10d::recv_", 1, X)
        self.add("chakra::comm|{}", call)
        self.add("gloo:send" if is_send else "gloo:recv", call, X)
        made = self.nodes[-1]
        self.last = [made.id - 1] if is_send else [made.id - 1, made.id]
        made.type = NodeType.COMM_SEND if is_send else NodeType.COMM_RECV
        ends = (self.at, peer) if is_send else (peer, self.at)
        facts = {
            "comm_size": 4 * TOKENS * WIDTH,
            "comm_src": ends[0],
            "comm_dst": ends[1],
            "comm_tag": 0,
        }
        made.attributes = [Attribute("is_cpu_op", False)]
        made.attributes += [Attribute(name, size) for name, size in facts.items()]

    def trace(self) -> Trace:
        self.add("[pytorch|profiler|execution_trace|thread]", -1)
        self.add("ProfilerStep#1", 0)
        count = self.job.micro_batches
        ahead = count if self.job.gpipe else min(self.job.stages - 1 - self.at, count)
        for micro in range(count + ahead):
            if micro < count:
                self.forward(micro)
            if micro >= ahead:
                self.backward(micro - ahead)
        update = self.add("Optimizer.step#SGD.step", 1)
        for weight in [(WORDS, WIDTH)] * self.is_first + [UP, DOWN] * self.layers:
            self.add("aten::mul_", update, weight)
            self.add("aten::add_", update, weight, weight)
        about = (Attribute("rank", self.at), Attribute("world_size", self.job.stages),
                 Attribute("complete_order", True))  # fmt: skip
        return Trace(self.nodes, Metadata(attributes=about))

    @property
    def layers(self) -> int:
        return self.job.layers // self.job.stages

    def forward(self, micro: int) -> None:
        if self.is_first:
            self.numbered("aten::embedding", 1, (WORDS, WIDTH), (TOKENS,))
        else:
            self.message(self.at - 1, is_send=False)
        products = self.numbers[micro] = []
        for weight in [UP, DOWN] * self.layers:
            rows, inside = weight
            outer = self.numbered("aten::linear", 1, (TOKENS, inside), weight)
            self.add(
                "aten::mm", outer, (TOKENS, inside), (inside, rows), ops=2 * TOKENS * rows * inside
            )
            products.append((self.number, weight))
        if self.is_last:
            self.numbered("aten::mm", 1, X, (WIDTH, WORDS))
        else:
            self.message(self.at + 1, is_send=True)

    def backward(self, micro: int) -> None:
        if self.is_last:
            self.add("aten::ones_like", 1, (1,))
        else:
            self.message(self.at + 1, is_send=False)
        for number, weight in reversed(self.numbers[micro]):
            rows, inside = weight
            outer = self.add(f"{_FUNCTION}MmBackward0", 1)
            inner = self.add("MmBackward0", outer, (TOKENS, rows))
            self.nodes[inner].attributes.append(Attribute("seq_id", number))
            for sides in (((TOKENS, rows), weight), ((rows, TOKENS), (TOKENS, inside))):
                self.add("aten::mm", inner, *sides, ops=2 * TOKENS * rows * inside)
            sums = self.add(f"{_FUNCTION}torch::autograd::AccumulateGrad", 1)
            self.add("torch::autograd::AccumulateGrad", sums, weight)
        if not self.is_first:
            self.message(self.at - 1, is_send=True)
