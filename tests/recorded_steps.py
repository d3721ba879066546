"""Training steps in the form of converted PyTorch recordings, of any size.

`Step` is a job of data-parallel replicas of equal blocks (normalise, attend, two products) and a
last product; `write` gives one Chakra trace a rank. Operators have PyTorch's names and shapes, and
operations by the closed forms of products.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import NamedTuple

from yantra.chakra import CollectiveType, Metadata, Node, NodeType, Trace
from yantra.chakra.schema import Attribute, IOInfo

Shape = tuple[int, ...]
HEAD = 16
CLASSES = 10


class Step(NamedTuple):
    """Sizes of a job; `us`: what an operator takes."""

    dp: int = 2
    layers: int = 3
    batch: int = 6
    sequence: int = 20
    width: int = 64
    micro_batches: int = 1
    us: int = 10

    def traces(self) -> list[Trace]:
        return [_Rank(self, rank).trace() for rank in range(self.dp)]

    def write(self, folder: Path, name: str = "step") -> str:
        for rank, trace in enumerate(self.traces()):
            trace.write(folder / f"{name}.{rank}.et")
        return str(folder / f"{name}.{{rank}}.et")

    @property
    def layer(self) -> list[Shape]:
        w = self.width
        return [(w,), (3 * w, w), (3 * w,), (4 * w, w), (w, 4 * w)]


class _Rank:
    def __init__(self, step: Step, rank: int) -> None:
        self.step, self.rank = step, rank
        self.nodes: list[Node] = []
        self.numbers = count(1)
        self.now = 0

    def add(self, name: str, above: int | None, *shapes: Shape, ops: int = 0, seq: int = -1) -> int:
        id, us = len(self.nodes), self.step.us if above is not None else 0
        facts: list[Attribute] = [
            Attribute("seq_id", seq),
            Attribute("is_cpu_op", True),
            Attribute("thread", 7),
            Attribute("start_time_ns", 1000 * self.now),
            Attribute("duration_ns", 1000 * us),
        ]
        facts += [Attribute("num_ops", ops)] if ops else []
        types = ["Tensor(float)"] * len(shapes)
        inputs = IOInfo("[]", str([list(shape) for shape in shapes]), str(types))
        deps = [id - 1] if id else []
        ctrl = [] if above is None else [above]
        made = Node(id, name, NodeType.COMP, us, deps, ctrl, facts, start_micros=self.now)
        made.inputs = inputs
        self.nodes.append(made)
        self.now += us
        return id

    def trace(self) -> Trace:
        step = self.step
        root = self.add("[pytorch|profiler|execution_trace|thread]", None)
        frame = self.add("ProfilerStep#1", root)
        self.add("Optimizer.zero_grad#SGD.zero_grad", frame)
        for micro in range(step.micro_batches):
            self._micro_batch(frame, micro == step.micro_batches - 1)
        parameters = [shape for _ in range(step.layers) for shape in step.layer]
        parameters.append((CLASSES, step.width))
        for shape in reversed(parameters):
            self.add("torch.distributed.ddp.reducer::copy_bucket_to_grad", frame, shape)
        update = self.add("Optimizer.step#SGD.step", frame)
        for shape in parameters:
            self.add("aten::add_", update, shape, shape)
        about = (
            Attribute("rank", self.rank),
            Attribute("world_size", step.dp),
            Attribute("complete_order", True),
        )
        return Trace(self.nodes, Metadata(attributes=about))

    def _micro_batch(self, frame: int, is_last: bool) -> None:
        step = self.step
        b, s, w = step.batch, step.sequence, step.width
        x = (b, s, w)
        forward = self.add("DistributedDataParallel.forward", frame)
        backward: list[tuple[str, int, list[tuple[Shape, Shape]], Shape | None]] = []
        for _ in range(step.layers):
            norm, qkv, bias, up, down = step.layer
            number = self._operator("aten::native_layer_norm", forward, x, norm)
            backward.append(("NativeLayerNormBackward0", number, [], norm))
            number = self._product(forward, x, qkv)
            backward.append(("AddmmBackward0", number, [((b * s, 3 * w), qkv)], qkv))
            number = self._operator("aten::add", forward, (b, s, 3 * w), bias)
            backward.append(("AddBackward0", number, [], bias))
            heads = (b, w // HEAD, s, HEAD)
            number = self._operator("aten::scaled_dot_product_attention", forward, *[heads] * 3)
            backward.append(("ScaledDotProductBackward0", number, [], None))
            for weight, rows in ((up, 4 * w), (down, w)):
                wide = (b, s, weight[1])
                number = self._product(forward, wide, weight)
                backward.append(("AddmmBackward0", number, [((b * s, rows), weight)], weight))
        number = self._product(forward, x, (CLASSES, w))
        backward.append(("MmBackward0", number, [((b * s, CLASSES), (CLASSES, w))], (CLASSES, w)))
        self.add("aten::ones_like", frame, (1,))
        for at, (name, number, products, weight) in enumerate(reversed(backward)):
            last = is_last and at == len(backward) - 1
            self._function(frame, name, number, products, weight, last)

    def _operator(self, name: str, above: int, *shapes: Shape) -> int:
        number = next(self.numbers)
        self.add(name, above, *shapes, seq=number)
        return number

    def _product(self, above: int, x: Shape, weight: Shape) -> int:
        number = next(self.numbers)
        rows = x[0] * x[1]
        outer = self.add("aten::linear", above, x, weight, seq=number)
        sides = (rows, x[2]), (weight[1], weight[0])
        self.add("aten::mm", outer, *sides, ops=2 * rows * weight[0] * weight[1], seq=number)
        return number

    def _function(
        self, frame: int, name: str, number: int, products: list[tuple[Shape, Shape]],
        weight: Shape | None, is_last: bool,
    ) -> None:  # fmt: skip
        engine = "autograd::engine::evaluate_function: "
        outer = self.add(engine + name, frame)
        inner = self.add(name, outer, seq=number)
        for grad, matrix in products:
            self.add("aten::mm", inner, grad, matrix, ops=2 * grad[0] * matrix[0] * matrix[1])
        if weight is None:
            return
        sums = self.add(f"{engine}torch::autograd::AccumulateGrad", frame)
        self.add("aten::add_", sums, weight, weight)
        if is_last:
            self._all_reduce(sums)

    def _all_reduce(self, above: int) -> None:
        step = self.step
        layer = sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in step.layer)
        elements = step.layers * layer + CLASSES * step.width
        call = self.add("c10d::allreduce_", above, (elements,))
        facts: dict[str, int | bool | str] = {
            "is_cpu_op": False,
            "comm_type": CollectiveType.ALL_REDUCE,
        }
        facts |= {"comm_size": 4 * elements, "pg_name": "0"}
        made = Node(len(self.nodes), "gloo:all_reduce", NodeType.COMM_COLL, 50, [call], [call])
        made.attributes = [Attribute(name, value) for name, value in facts.items()]
        made.start_micros = self.now
        self.nodes.append(made)
        self.now += 50
