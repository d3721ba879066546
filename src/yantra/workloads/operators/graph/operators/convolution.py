"""Two-dimensional convolution as a matrix product (im2col) of m = output pixels, n = output
channels, k = input channels x window.

Sources: Chellapilla et al., 2006; Chetlur et al., cuDNN, 2014.
"""

from __future__ import annotations

from yantra.base.errors import ConfigError
from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import REPLICATED, Tensor
from yantra.workloads.operators.operations import Operation


def images(g: Graph, size: int, channels: int, name: str = "image") -> Tensor:
    """The micro-batch's pictures, `size` x `size` pixels each."""
    sizes = {"images": g.setting.batch.sequences, "pixels": size * size, "channels": channels}
    return g.tensor(name, sizes)


def convolution(
    g: Graph,
    x: Tensor,
    name: str,
    channels: int,
    *,
    window: int,
    size: int,
    bias: bool = False,
    is_first: bool = False,
) -> Tensor:
    refuse_splits(g)
    count, pixels = x.size("images"), x.size("pixels")
    sizes = {"images": count, "pixels": size * size, "channels": channels}
    out = g.tensor(name, sizes, REPLICATED, x.width)
    m, n, k = count * size * size, channels, x.size("channels") * window * window
    with g.scope(name):
        g.weight("weight", n * k)
        if bias:
            g.weight("bias", n)
    w, weight = g.setting.width, n * k
    read, made = w * count * pixels * x.size("channels"), w * m * n
    cost = Operation(
        "", "conv", "forward", "",
        tensor_flops=2 * m * n * k, vector_flops=m * n if bias else 0,
        bytes_read=read + w * weight, bytes_written=made, shape=(m, n, k), dtype=g.setting.dtype,
    )  # fmt: skip
    dgrad = cost._replace(
        name="dgrad", phase="dgrad", vector_flops=0,
        bytes_read=made + w * weight, bytes_written=read, shape=(m, k, n),
    )  # fmt: skip
    wgrad = cost._replace(
        name="wgrad", phase="wgrad",
        bytes_read=made + read, bytes_written=g.setting.gradient_width * weight, shape=(k, n, m),
    )  # fmt: skip
    use = Use(x, REPLICATED)
    of_weight = Gradient((wgrad,), (0,), needs=(use,))
    of_input = Gradient((dgrad,), (0,), gives=((0, REPLICATED),))
    gradients = (of_weight,) if is_first else (of_input, of_weight)
    g.add(name, (use,), (out,), (cost,), gradients)
    return out


def refuse_splits(g: Graph) -> None:
    for axis in ("tp", "cp"):
        if g.setting.ways(axis) > 1:
            raise ConfigError(axis, "convolutions are split over data alone; expected 1")
