"""An RMS norm over all heads, whose columns tensor parallelism splits, so sums of squares are added
over the ranks.

Sources: OLMo 2, 2024, section 3; MiniMax-M2; vLLM's `RMSNormTP`.
"""

from __future__ import annotations

from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.operators.elementwise import elementwise, settle
from yantra.workloads.operators.graph.tensor import Placement, Tensor
from yantra.workloads.operators.operations import Operation


def wide_norm(g: Graph, x: Tensor, name: str) -> Tensor:
    feature, size = x.sizes[-1]
    where = x.placement.dual()
    ways = g.setting.ways("tp") if where.dimension_of("tp") == feature else 1
    with g.scope(name):
        g.weight("weight", size, ways=ways)
    if ways == 1:
        return elementwise(g, name, [x], flops=4, kind="norm", saves=(0,))
    sums = _sums(g, x, name, where)
    return _scaled(g, x, sums, name, where)


def _sums(g: Graph, x: Tensor, name: str, where: Placement) -> Tensor:
    feature = x.sizes[-1][0]
    rows = Placement(tuple(pair for pair in where.shards if pair[0] != feature))
    sizes = {**dict(x.sizes[:-1]), "one": 1}
    part = g.tensor(f"{name}.squares", sizes, g.partial(rows, "tp"), 4)
    count, size = g.local(x, where), g.bytes(x, where)
    square = Operation(
        "", "norm", "forward", "",
        vector_flops=2 * count, bytes_read=size, bytes_written=g.bytes(part),
    )  # fmt: skip
    back = Operation(
        "dgrad", "norm", "dgrad", "", vector_flops=4 * count, bytes_read=2 * size,
        bytes_written=size,
    )  # fmt: skip
    use = Use(x, where)
    gradient = Gradient((back,), (0,), (use,), ((0, where),))
    g.add(f"{name}.squares", (use,), (part,), (square,), (gradient,))
    return settle(g, part, f"{name}.sums", rows)


def _scaled(g: Graph, x: Tensor, sums: Tensor, name: str, where: Placement) -> Tensor:
    out = g.tensor(name, dict(x.sizes), where, x.width)
    uses = (Use(x, where), Use(sums, sums.placement))
    read = sum(g.bytes(*use) for use in uses)
    count = g.local(out)
    scale = Operation(
        "", "norm", "forward", "",
        vector_flops=2 * count, bytes_read=read, bytes_written=g.bytes(out),
    )  # fmt: skip
    back = Operation(
        "dgrad", "norm", "dgrad", "",
        vector_flops=4 * count, bytes_read=g.bytes(out) + read, bytes_written=g.bytes(sums),
    )  # fmt: skip
    gives = ((1, g.partial(sums.placement, "tp")),)
    g.add(name, uses, (out,), (scale,), (Gradient((back,), (0,), uses, gives),))
    return out
