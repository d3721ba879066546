"""A loss of each output by itself: squared errors, binary cross entropy."""

from __future__ import annotations

from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Tensor
from yantra.workloads.operators.operations import Operation


def pointwise_loss(g: Graph, x: Tensor, *, flops: int, name: str = "loss") -> None:
    where = x.placement.dual()
    size, count = g.bytes(x, where), g.local(x, where)
    use = Use(x, where)
    # The targets, as large as the outputs, are read too.
    forward = Operation(
        "", "loss", "forward", "", vector_flops=flops * count, bytes_read=2 * size, bytes_written=4
    )
    backward = Operation(
        "dgrad", "loss", "dgrad", "",
        vector_flops=flops * count, bytes_read=2 * size, bytes_written=size,
    )  # fmt: skip
    gradient = Gradient((backward,), (), (use,), ((0, where),))
    g.add(name, (use,), (), (forward,), (gradient,))
