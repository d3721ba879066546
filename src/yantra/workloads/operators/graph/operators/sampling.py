"""The next token of each sequence: the largest of its logits."""

from __future__ import annotations

from yantra.workloads.operators.graph.graph import Graph, Use
from yantra.workloads.operators.graph.tensor import Tensor
from yantra.workloads.operators.operations import Operation

TOKEN_BYTES = 4
"""int32."""


def sample(g: Graph, logits: Tensor) -> None:
    rows = logits.elements() // logits.sizes[-1][1]
    choose = Operation(
        "", "sampling", "forward", "", vector_flops=g.local(logits),
        bytes_read=g.bytes(logits), bytes_written=TOKEN_BYTES * rows,
    )  # fmt: skip
    g.add("sample", (Use(logits, logits.placement),), (), (choose,))
