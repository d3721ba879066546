"""All-to-all exchanges that no placement expresses: routed tokens to experts and back.

Sources: Lepikhin et al., GShard, 2020; Liu et al., Megatron Core's MoE parallel folding, 2025.
"""

from __future__ import annotations

from yantra.chakra import CollectiveType
from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Tensor
from yantra.workloads.operators.operations import Operation


def exchange(
    g: Graph,
    x: Tensor,
    name: str,
    axis: str,
    *,
    rows: int | None = None,
    busiest: int = 0,
    row_bytes: int | None = None,
) -> Tensor:
    """Exchange the rows of `x` over `axis`; `rows` arrive, by default as many as left.

    The collective has the size of the busiest rank, which all wait for: `busiest` rows, if more
    than this rank's.
    """
    if g.setting.ways(axis) == 1:
        return x
    first, count = x.sizes[0]
    arriving = count if rows is None else rows
    out = g.tensor(name, {**dict(x.sizes), first: arriving}, x.placement, x.width)
    size = max(g.bytes(x), g.bytes(out), busiest * (g.bytes(x) // count if count else 0))
    if row_bytes is not None:
        size = size // (x.width * x.sizes[-1][1]) * row_bytes
    forward = Operation(
        "", "all_to_all", "forward", "",
        collective=CollectiveType.ALL_TO_ALL, group=axis, size_bytes=size,
    )  # fmt: skip
    backward = forward._replace(name="dgrad", phase="dgrad")
    gradient = Gradient((backward,), (0,), (), ((0, x.placement),))
    g.add(name, (Use(x, x.placement),), (out,), (forward,), (gradient,))
    return out
