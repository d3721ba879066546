"""The state-space scan of Mamba-2 in chunks (state-space duality), over the heads of one rank.

With q tokens in a chunk, n states, heads of p channels, and b and c shared by the heads of a group,
a chunk takes these operations:

| part | operations |
|---|---|
| c b^T, once per group | 2 q^2 n |
| its masked product with x, per head | 2 q^2 p |
| the state the chunk leaves, per head | 2 q n p |
| what the state before adds to the output, per head | 2 q n p |

The masked half is computed, as the kernels do. The last chunk of a sequence may be shorter; a
sequence that adds one token is a chunk of one. The backward pass takes twice as many and computes
the states and c b^T again, which are not kept.
Source: Dao and Gu, "Transformers are SSMs", 2024, section 6; state-spaces/mamba.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.operators.graph.batch import Batch
from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Tensor
from yantra.workloads.operators.operations import Operation


class States(NamedTuple):
    """Sizes of a scan: `heads` of `head_dim` channels with `state` states, `groups` of b and c."""

    heads: int
    head_dim: int
    state: int
    groups: int
    chunk: int


def scan(g: Graph, xbc: Tensor, dt: Tensor, sizes: States) -> Tensor:
    """Add the scan of `xbc`, the channels of x, b and c beside each other, with time steps `dt`."""
    if g.setting.ways("cp") > 1:
        raise ConfigError("cp", "a scan is not split along the sequence; expected 1")
    where = xbc.placement.dual()
    channels = {"tokens": xbc.size("tokens"), "y": sizes.heads * sizes.head_dim}
    renamed = tuple(("y" if name == "xbc" else name, axis) for name, axis in where.shards)
    out = g.tensor("scan", channels, where._replace(shards=renamed), xbc.width)
    uses = (Use(xbc, where), Use(dt, dt.placement.dual()))
    ways = g.setting.ways("tp")
    again, total = (count // ways for count in _flops(g.setting.batch, sizes))
    read = sum(g.bytes(*use) for use in uses)
    states = _state_bytes(g, sizes) // ways
    forward = Operation(
        "", "scan", "forward", "",
        tensor_flops=total, bytes_read=read + states, bytes_written=g.bytes(out) + states,
        dtype=g.setting.dtype,
    )  # fmt: skip
    backward = Operation(
        "dgrad", "scan", "dgrad", "",
        tensor_flops=2 * total + again, repeated_flops=again,
        bytes_read=read + g.bytes(out) + 2 * states, bytes_written=read + 2 * states,
        dtype=g.setting.dtype,
    )  # fmt: skip
    gives = tuple((at, use.placement) for at, use in enumerate(uses))
    g.add("scan", uses, (out,), (forward,), (Gradient((backward,), (0,), uses, gives),))
    return out


def _flops(batch: Batch, sizes: States) -> tuple[int, int]:
    """Return the operations of the parts that the backward pass repeats, and of all."""
    again = total = 0
    for group in batch.groups:
        chunks, rest = divmod(group.new, sizes.chunk)
        pairs = group.number * (chunks * sizes.chunk**2 + rest**2)
        outer = 2 * group.number * group.new * sizes.heads * sizes.state * sizes.head_dim
        shared = 2 * pairs * sizes.groups * sizes.state
        again += shared + outer
        total += shared + 2 * pairs * sizes.heads * sizes.head_dim + 2 * outer
    return again, total


def _state_bytes(g: Graph, sizes: States) -> int:
    """Return the bytes of the states between chunks, in fp32."""
    chunks = sum(c.number * -(-c.new // sizes.chunk) for c in g.setting.batch.groups)
    return 4 * chunks * sizes.heads * sizes.head_dim * sizes.state
