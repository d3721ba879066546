"""A table of trained rows, looked up by index. Split over `tp` by rows, the result is a sum.

Source: Shoeybi et al., Megatron-LM, 2019, section 3.
"""

from __future__ import annotations

from yantra.workloads.operators.graph.graph import Gradient, Graph
from yantra.workloads.operators.graph.tensor import REPLICATED, Placement, Tensor
from yantra.workloads.operators.operations import Operation


def lookup(
    g: Graph,
    name: str,
    rows: int,
    width: int,
    *,
    tokens: int,
    split: bool = True,
    tied: bool = False,
    again: bool = False,
    feature: str = "hidden",
    placement: Placement | None = None,
) -> Tensor:
    """Look up `tokens` rows of `width` elements in a table of `rows`.

    `tied`: the head uses the table too; `again`: it was added before.
    """
    cp = g.split(REPLICATED, "tokens", "cp") if placement is None else placement
    ways = g.setting.ways("tp") if split else 1
    out = g.tensor(name, {"tokens": tokens, feature: width}, g.partial(cp, "tp") if split else cp)
    if not again:
        with g.scope(name):
            g.weight("weight", rows * width, ways=ways, is_tied=tied)
    size = g.bytes(out)
    forward = Operation("", "gather", "forward", "", bytes_read=size, bytes_written=size)
    backward = Operation(
        "wgrad", "scatter", "wgrad", "",
        vector_flops=g.local(out), bytes_read=size,
        bytes_written=g.local(out) * g.setting.gradient_width,
    )  # fmt: skip
    g.add(name, (), (out,), (forward,), (Gradient((backward,), (0,)),))
    return out
