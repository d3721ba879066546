"""The gated delta rule in chunks: linear attention that overwrites what a key held before.

Each head has a state of d_k x d_v numbers. Per head and chunk of q tokens:

| part | operations | |---|---| | k k^T, and q k^T | 2 x 2 q^2 d_k | | the inverse of a unit
triangular q x q matrix | 2 q^3 / 3 | | it times the keys and times the values | 2 q^2 (d_k + d_v) |
| what the state holds for the keys, and gives for the queries | 2 x 2 q d_k d_v | | what the masked
q k^T takes of the new values | 2 q^2 d_v | | what the chunk adds to the state | 2 q d_k d_v |

One token takes little more than 6 d_k d_v. The backward pass repeats all but what makes the output:
states between chunks are not kept.

Sources: Yang, Kautz and Hatamizadeh, "Gated Delta Networks", ICLR 2025 (arXiv 2412.06464), section
3.3; Yang et al., "Parallelizing linear transformers with the delta rule", 2024, section 3.2; Kimi
Linear, 2025 (arXiv 2510.26692), section 3 (a gate per channel: the same products).
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.workloads.operators.graph.graph import Graph
from yantra.workloads.operators.graph.operators.recurrence import Cost, recurrence
from yantra.workloads.operators.graph.tensor import Tensor


class Delta(NamedTuple):
    """`heads` with keys of `key_dim` and values of `value_dim`."""

    heads: int
    key_dim: int
    value_dim: int
    chunk: int

    def cost(self, tokens: int) -> Cost:
        """Operations of a chunk of `tokens`."""
        k, v, square = self.key_dim, self.value_dim, tokens**2
        state = 2 * tokens * k * v
        made = 2 * square * k + 2 * tokens**3 // 3 + 2 * square * (k + v) + 2 * state
        given = 2 * square * k + 2 * square * v + state
        return Cost(self.heads * (made + given), self.heads * made)


def delta_rule(g: Graph, inputs: tuple[Tensor, ...], sizes: Delta) -> Tensor:
    return recurrence(
        g, "delta_rule", inputs,
        width=sizes.heads * sizes.value_dim,
        state=sizes.heads * sizes.key_dim * sizes.value_dim,
        chunk=sizes.chunk, cost=sizes.cost,
    )  # fmt: skip
