"""FLOPs of matrix products (2 m k n) and convolutions (twice the output's elements times one
filter's) from recorded shapes.
"""

from __future__ import annotations

from math import prod
from typing import Any

from yantra.tracing.pytorch.tensors import Io

_PRODUCTS = {  # places of the two matrices among the inputs
    "aten::mm": (0, 1),
    "aten::bmm": (0, 1),
    "aten::addmm": (1, 2),
    "aten::_addmm_activation": (1, 2),
    "aten::baddbmm": (1, 2),
}
# Only operators that launch the kernel, not those around them: nothing counts twice.
_CONVOLUTIONS = frozenset(
    f"aten::{name}"
    for name in (
        "cudnn_convolution",
        "cudnn_convolution_relu",
        "miopen_convolution",
        "mkldnn_convolution",
        "_slow_conv2d_forward",
        "_conv_depthwise2d",
        "slow_conv3d_forward",
    )
)
COUNTED = _CONVOLUTIONS | frozenset(_PRODUCTS)


def flops(name: str, inputs: Io, outputs: Io) -> int | None:
    """An operator's FLOPs, None if unknown."""
    if name in _PRODUCTS:
        first, second = _PRODUCTS[name]
        a, b = _shape(inputs, first), _shape(inputs, second)
        if len(a) < 2 or len(b) < 2 or a[-1] != b[-2]:
            return None
        return 2 * prod(a) * b[-1]
    if name in _CONVOLUTIONS:
        weight, output = _shape(inputs, 1), _shape(outputs, 0)
        if len(weight) < 3 or len(output) < 2:
            return None
        return 2 * prod(output) * prod(weight[1:])
    return None


def _shape(io: Io, place: int) -> list[int]:
    shape: Any = io.shapes[place] if place < len(io.shapes) else None
    sizes = shape if isinstance(shape, list) else []
    return sizes if all(type(size) is int and size >= 0 for size in sizes) else []
