"""Kernels that a plan may leave unfused: chains of elementwise kernels, as PyTorch runs them.

A step reads and writes so many tensors: of the result, the scores (router) or the rows (permute).
Maps of tokens to experts are left out; layers' biases and dropout are steps only where they exist.

Source: NVIDIA/Megatron-LM: `_apply_rotary_pos_emb_bshd`, `MLP.forward`,
`bias_dropout_add_unfused`, `forward_torch_softmax`, `topk_routing_with_score_function`, `permute`,
`unpermute` (core/models, core/transformer, core/fusions); Hugging Face's `LlamaRMSNorm`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from yantra.workloads.operators.names import NONE, names_in

UNFUSED = (
    "rope", "bias_activation", "bias_dropout_add", "norm", "softmax_masks", "router", "permute",
)  # fmt: skip
_LAYER_NORM = 7  # operations per element; fewer subtract no mean
_ROPE = 3


class Step(NamedTuple):
    """One kernel: tensors read and written, and `other` ones of the other size written."""

    name: str
    reads: float
    writes: float
    other: float = 0


class Chain(NamedTuple):
    """Kernels of both passes, none if fused; `keeps` are tensors saved beyond the fused one's."""

    forward: tuple[Step, ...] = ()
    backward: tuple[Step, ...] = ()
    keeps: float = 0


ONE = Chain()


class Kernel(NamedTuple):
    """A fused kernel: its kind, name, operations per element, inputs, and fp32 per element."""

    kind: str
    name: str
    flops: int
    inputs: int
    fp32: int
    biased: bool
    mask: float


def unfused_of(text: Any, field: str = "unfused_kernels") -> tuple[str, ...]:
    """The kernels of a list or a text with commas; `none` is none. Raises ConfigError."""
    return names_in(text, (NONE, *UNFUSED), field)


def chain_of(one: Kernel, chosen: tuple[str, ...]) -> Chain:
    """The kernels that an unfused one consists of; `ONE` if it is one anyway."""
    if one.kind == "rope" and "rope" in chosen:
        return _rope(one)
    if one.name in ("swiglu", "gelu") and "bias_activation" in chosen:
        return _activation(one)
    if one.kind == "residual" and "bias_dropout_add" in chosen:
        return _residual(one)
    if one.kind == "norm" and one.inputs == 1 and "norm" in chosen:
        return _norm(one)
    if one.kind == "softmax" and "softmax_masks" in chosen:
        return _softmax(one)
    if one.kind == "routing" and "router" in chosen:
        forward = Step("softmax", 1, 1), Step("top_k", 1, 0, 1), Step("zeros", 0, 1)
        backward = Step("zeros", 0, 1, 1), Step("scatter", 0, 0, 2), Step("softmax", 2, 1)
        return Chain((*forward, Step("scatter", 0, 0, 2)), backward, keeps=1)
    if one.kind == "permute" and "permute" in chosen:
        return _permute(one)
    return ONE


def _rope(one: Kernel) -> Chain:
    share = min(one.flops / _ROPE, 1)  # of each head that turns
    half, whole = Step("negate", share / 2, share / 2), Step("rotate", share, share)
    turned = Step("cosines", share, share), Step("sines", share, share)
    both = Step("sum", 2 * share, share)
    return Chain((half, whole, *turned, both, Step("join", 1, 1)), (*turned, half, whole, both))


def _activation(one: Kernel) -> Chain:
    bias = (Step("bias", one.inputs, one.inputs),) if one.biased else ()
    if one.name == "gelu":
        return Chain((*bias, Step("gelu", 1, 1)), (Step("dgrad", 2, 1),)) if bias else ONE
    backward = Step("silu_grad", 2, 1), Step("up_grad", 2, 1), Step("dgrad", 2, 1)
    forward = (*bias, Step("silu", 1, 1), Step("times", 2, 1))
    return Chain(forward, (*backward, Step("join", 2, 2)), keeps=1)


def _residual(one: Kernel) -> Chain:
    bias = (Step("bias", 1, 1),) if one.biased else ()
    dropout = (Step("dropout", 1, 1 + one.mask),) if one.mask else ()
    if not (bias or dropout):
        return ONE
    backward = (Step("dgrad", 1 + one.mask, 1),) if one.mask else ()
    return Chain((*bias, *dropout, Step("sum", 2, 1)), backward)


def _norm(one: Kernel) -> Chain:
    wide = one.fp32
    mean = (Step("mean", wide, 0), Step("subtract", wide, wide)) if one.flops >= _LAYER_NORM else ()
    forward = (
        Step("widen", 1, wide), *mean, Step("square", wide, wide), Step("variance", wide, 0),
        Step("scale", wide, wide), Step("narrow", wide, 1), Step("gain", 1, 1),
    )  # fmt: skip
    backward = (
        Step("gain", 1, 1), Step("products", 2, 1), Step("weight", 1, 0), Step("widen", 1, wide),
        Step("scale", wide, wide), Step("slopes", 2 * wide, wide), Step("variance", wide, 0),
        Step("square", wide, wide), *mean, Step("sum", 2 * wide, wide), Step("narrow", wide, 1),
    )  # fmt: skip
    return Chain(forward, backward, keeps=wide)  # wide input and scaled one, less the input


def _softmax(one: Kernel) -> Chain:
    wide = one.fp32
    widen = (Step("widen", 1, wide),) if wide > 1 else ()
    narrow = (Step("narrow", wide, 1),) if wide > 1 else ()
    mask = (Step("mask", wide, wide),)
    forward = (*widen, *mask, Step("softmax", wide, wide), *narrow)
    backward = (*widen, Step("softmax", 2 * wide, wide), *mask, *narrow)
    return Chain(forward, backward, keeps=wide if wide > 1 else 0)


def _permute(one: Kernel) -> Chain:
    select, zeros, add = Step("select", 1, 1), Step("zeros", 0, 0, 1), Step("add", 2, 1)
    if one.inputs == 1:
        return Chain((select,), (zeros, add))
    weights = Step("shares_grad", 2, 0, 0)
    return Chain((Step("weigh", 1, 1), zeros, add), (select, weights, Step("dgrad", 1, 1)))
