"""A causal convolution of each channel over the last few tokens."""

from __future__ import annotations

from yantra.workloads.operators.graph.graph import Graph
from yantra.workloads.operators.graph.operators.elementwise import elementwise
from yantra.workloads.operators.graph.tensor import Tensor

_ACTIVATION = 5  # SiLU


def short_convolution(
    g: Graph, x: Tensor, name: str, window: int, *, bias: bool = False, activated: bool = True
) -> Tensor:
    feature, channels = x.sizes[-1]
    ways = g.setting.ways("tp") if x.placement.dimension_of("tp") == feature else 1
    g.weight(f"{name}.weight", window * channels, ways=ways)
    if bias:
        g.weight(f"{name}.bias", channels, ways=ways)
    kept = 0
    if not g.setting.training:
        kept = g.setting.batch.sequences * (window - 1) * channels // ways * x.width
    return elementwise(
        g, name, [x], flops=2 * window + (_ACTIVATION if activated else 0), kind="conv1d",
        saves=(0,), state_bytes=kept,
    )  # fmt: skip
