"""The state-space scan of Mamba-2 in chunks (state-space duality), over the heads of one rank.

With n states, heads of p channels, and b and c per group of heads, a chunk of q tokens takes:

| part | operations |
|---|---|
| c b^T, once per group | 2 q^2 n |
| its masked product with x, per head | 2 q^2 p |
| the state the chunk leaves, per head | 2 q n p |
| what the state before adds to the output, per head | 2 q n p |

Source: Dao and Gu, "Transformers are SSMs", 2024, section 6; state-spaces/mamba.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.workloads.operators.graph.graph import Graph
from yantra.workloads.operators.graph.operators.recurrence import Cost, recurrence
from yantra.workloads.operators.graph.tensor import Tensor


class States(NamedTuple):
    heads: int
    head_dim: int
    state: int
    groups: int
    chunk: int

    @property
    def channels(self) -> int:
        return self.heads * self.head_dim

    def cost(self, tokens: int) -> Cost:
        """Operations of a chunk of `tokens`."""
        outer = 2 * tokens * self.channels * self.state
        shared = 2 * tokens**2 * self.groups * self.state
        return Cost(shared + 2 * tokens**2 * self.channels + 2 * outer, shared + outer)


def scan(g: Graph, xbc: Tensor, dt: Tensor, sizes: States) -> Tensor:
    return recurrence(
        g, "scan", (xbc, dt),
        width=sizes.channels, state=sizes.channels * sizes.state, chunk=sizes.chunk,
        cost=sizes.cost,
    )  # fmt: skip
