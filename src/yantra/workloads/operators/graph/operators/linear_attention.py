"""Linear attention with a decay per head, in chunks (lightning attention).

Each head has a state of d x d numbers. Per head and chunk of q tokens: q k^T and its masked product
with the values, 2 x 2 q^2 d; what the state gives and what the chunk adds to it, 2 x 2 q d^2.

Sources: Qin et al., "Lightning Attention-2", 2024 (arXiv 2401.04658), section 3; MiniMax-01, 2025
(arXiv 2501.08313), section 2.2.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.workloads.operators.graph.graph import Graph
from yantra.workloads.operators.graph.operators.recurrence import Cost, recurrence
from yantra.workloads.operators.graph.tensor import Tensor


class Lightning(NamedTuple):
    """`heads` of width `head_dim`."""

    heads: int
    head_dim: int
    chunk: int

    def cost(self, tokens: int) -> Cost:
        """Operations of a chunk of `tokens`."""
        d = self.head_dim
        state = 2 * tokens * d * d
        return Cost(self.heads * (4 * tokens**2 * d + 2 * state), self.heads * state)


def linear_attention(g: Graph, inputs: tuple[Tensor, ...], sizes: Lightning) -> Tensor:
    width = sizes.heads * sizes.head_dim
    return recurrence(
        g, "linear_attention", inputs,
        width=width, state=width * sizes.head_dim, chunk=sizes.chunk, cost=sizes.cost,
    )  # fmt: skip
