"""Convolutions: twice the output's elements times one filter's; each gradient as much.

Without a recorded output its size follows from strides, padding and dilation (PyTorch's manual of
Conv2d). Source: native_functions.yaml for the places of operands.
"""

from __future__ import annotations

from math import prod
from typing import Any

from yantra.tracing.pytorch.work.law import Rule, Work
from yantra.tracing.pytorch.work.operands import Operands

# Places of padding, stride, dilation, and of whether it is transposed (-1: never).
_PLACES = {
    "convolution": (4, 3, 5, 6),
    "_convolution": (4, 3, 5, 6),
    "convolution_overrideable": (4, 3, 5, 6),
    "conv1d": (4, 3, 5, -1),
    "conv2d": (4, 3, 5, -1),
    "conv3d": (4, 3, 5, -1),
    "cudnn_convolution": (2, 3, 4, -1),
    "cudnn_convolution_relu": (4, 3, 5, -1),
    "cudnn_convolution_add_relu": (6, 5, 7, -1),
    "miopen_convolution": (3, 4, 5, -1),
    "miopen_depthwise_convolution": (3, 4, 5, -1),
    "miopen_convolution_relu": (4, 3, 5, -1),
    "mkldnn_convolution": (3, 4, 5, -1),
    "_slow_conv2d_forward": (5, 4, -1, -1),
    "thnn_conv2d": (5, 4, -1, -1),
    "slow_conv3d_forward": (5, 4, -1, -1),
    "_conv_depthwise2d": (5, 4, 6, -1),
    "conv_depthwise3d": (5, 4, 6, -1),
    "slow_conv_dilated2d": (5, 4, 6, -1),
}
_TRANSPOSED = ("cudnn_convolution_transpose", "miopen_convolution_transpose",
               "slow_conv_transpose2d")  # fmt: skip


def forward(name: str, given: Operands) -> Work | None:
    data, weight = given.tensor(0), given.tensor(1)
    if data is None or weight is None or len(weight.shape) < 3:
        return None
    padding, stride, dilation, transposed = _PLACES.get(name, (2, 4, 5, -1))
    if name in _TRANSPOSED or (transposed >= 0 and given.is_true(transposed)):
        flops = 2 * data.elements * prod(weight.shape[1:])
        made = given.outputs[0].elements if given.outputs else data.elements
    else:
        output = _output(given, padding, stride, dilation)
        if output is None:
            return None
        made, flops = output, 2 * output * prod(weight.shape[1:])
    result = made * data.width
    parts = (data.bytes, weight.bytes, result)
    filters = weight.shape[0]
    k = prod(weight.shape[1:])
    m = flops // (2 * filters * k) if filters and k else 0
    sizes = (("m", m), ("n", filters), ("k", k))
    return Work("conv", data.dtype, flops, sum(parts), sizes=sizes, parts=parts)


def _output(given: Operands, padding: int, stride: int, dilation: int) -> int | None:
    if given.outputs:
        return given.outputs[0].elements
    shape, weight = given.shape(0), given.shape(1)
    spatial = len(weight) - 2
    if len(shape) < spatial + 1:
        return None
    pads = _numbers(given.value(padding), spatial, 0)
    steps = _numbers(given.value(stride), spatial, 1)
    apart = _numbers(given.value(dilation), spatial, 1)
    if pads is None or steps is None or apart is None:
        return None
    sides = [
        (size + 2 * pad - far * (side - 1) - 1) // step + 1
        for size, side, pad, step, far in zip(
            shape[-spatial:], weight[2:], pads, steps, apart, strict=True
        )
    ]
    lead = shape[: -spatial - 1]
    return None if min(sides) < 1 else prod(lead) * weight[0] * prod(sides)


def _numbers(value: Any, count: int, usual: int) -> list[int] | None:
    if value is None:
        return [usual] * count
    found = value if isinstance(value, list) else [value]
    if not all(type(one) is int and one >= usual for one in found) or len(found) not in (1, count):
        return None
    return found * count if len(found) == 1 else found


def backward(given: Operands) -> Work | None:
    """Gradients of input and weight, as far as asked for."""
    gradient, data, weight = (given.tensor(place) for place in range(3))
    if gradient is None or data is None or weight is None or len(weight.shape) < 3:
        return None
    made = gradient.elements if not given.is_true(7) else data.elements
    wanted = _mask(given.values)
    once = 2 * made * prod(weight.shape[1:])
    own = [one.bytes for one, asked in zip((data, weight), wanted, strict=False) if asked]
    both = sum(wanted[:2])
    reads = gradient.bytes + data.bytes * wanted[1] + weight.bytes * wanted[0]
    moved_once = reads + sum(own)
    phase = "" if both != 1 else "dgrad" if wanted[0] else "wgrad"
    filters = weight.shape[0]
    k = prod(weight.shape[1:])
    sizes = (("m", once // (2 * filters * k) if filters and k else 0), ("n", filters), ("k", k))
    parts = (gradient.bytes, data.bytes, weight.bytes)
    return Work(
        "conv", data.dtype, once * both, moved_once, phase, sizes, parts, products=max(both, 1)
    )


def _mask(values: tuple[Any, ...]) -> list[int]:
    value = values[10] if len(values) > 10 else None
    if isinstance(value, str):
        value = [part.strip() == "True" for part in value.strip("[]").split(",")]
    if isinstance(value, list) and len(value) == 3:
        return [int(bool(part)) for part in value]
    return [1, 1, 0]


def _of(name: str) -> Rule:
    return lambda given: forward(name, given)


RULES: dict[str, Rule] = {name: _of(name) for name in (*_PLACES, *_TRANSPOSED)}
RULES |= {"convolution_backward": backward, "convolution_backward_overrideable": backward}
