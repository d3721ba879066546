"""The state-space scan of Mamba-2 in chunks (state-space duality), over the heads of one rank.

With q tokens in a chunk, n states, heads of p channels, and b and c shared by the heads of a group,
a chunk takes these operations:

| part | operations |
|---|---|
| c b^T, once per group | 2 q^2 n |
| its masked product with x, per head | 2 q^2 p |
| the state the chunk leaves, per head | 2 q n p |
| what the state before adds to the output, per head | 2 q n p |

The masked half is computed, as the kernels do. The backward pass computes the states and c b^T
again, which are not kept.
Source: Dao and Gu, "Transformers are SSMs", 2024, section 6; state-spaces/mamba.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.workloads.operators.graph.graph import Graph
from yantra.workloads.operators.graph.operators.recurrence import Cost, recurrence
from yantra.workloads.operators.graph.tensor import Tensor


class States(NamedTuple):
    """Sizes of a scan: `heads` of `head_dim` channels with `state` states, `groups` of b and c."""

    heads: int
    head_dim: int
    state: int
    groups: int
    chunk: int

    @property
    def channels(self) -> int:
        """Those of all heads."""
        return self.heads * self.head_dim

    def cost(self, tokens: int) -> Cost:
        """Return the operations of a chunk of so many tokens."""
        outer = 2 * tokens * self.channels * self.state
        shared = 2 * tokens**2 * self.groups * self.state
        return Cost(shared + 2 * tokens**2 * self.channels + 2 * outer, shared + outer)


def scan(g: Graph, xbc: Tensor, dt: Tensor, sizes: States) -> Tensor:
    """Add the scan of `xbc`, the channels of x, b and c beside each other, with time steps `dt`."""
    return recurrence(
        g, "scan", (xbc, dt),
        width=sizes.channels, state=sizes.channels * sizes.state, chunk=sizes.chunk,
        cost=sizes.cost,
    )  # fmt: skip
