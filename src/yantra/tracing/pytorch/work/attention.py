"""Fused attention: 2 (d_qk + d_v) operations per head and pair, its gradient twice that and
Q K^T once more.

A causal mask leaves s (s + 1) / 2 pairs of s queries and keys, aligned at the end if keys are more.
Sequences packed in one tensor count as equally long; keys in pages are not known.

Sources: Dao et al., FlashAttention, 2022; native_functions.yaml and flash-attn's interfaces for
the places of operands.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.tracing.pytorch.work.law import Rule, Work, moved
from yantra.tracing.pytorch.work.operands import Operands, Tensor


class _Form(NamedTuple):
    """Places: `q` (k, v follow), the causal mark, cumulative lengths; `heads_first`: B, H, S, D."""

    q: int
    causal: int
    heads_first: bool = False
    lengths: int = -1
    backward: bool = False


_FORMS = {
    "aten::_flash_attention_forward": _Form(0, 8, lengths=3),
    "aten::_efficient_attention_forward": _Form(0, 9, lengths=4),
    "aten::_cudnn_attention_forward": _Form(0, 10, True, lengths=4),
    "aten::_scaled_dot_product_flash_attention": _Form(0, 4, True),
    "aten::_scaled_dot_product_efficient_attention": _Form(0, 6, True),
    "aten::_scaled_dot_product_cudnn_attention": _Form(0, 6, True),
    "aten::_scaled_dot_product_attention_math": _Form(0, 5, True),
    "aten::_scaled_dot_product_flash_attention_for_cpu": _Form(0, 4, True),
    "aten::scaled_dot_product_attention": _Form(0, 5, True),
    "aten::_flash_attention_backward": _Form(1, 11, lengths=6, backward=True),
    "aten::_efficient_attention_backward": _Form(1, 14, lengths=6, backward=True),
    "aten::_cudnn_attention_backward": _Form(1, 14, True, backward=True),
    "aten::_scaled_dot_product_flash_attention_backward": _Form(1, 11, True, backward=True),
    "aten::_scaled_dot_product_efficient_attention_backward": _Form(1, 11, True, backward=True),
    "aten::_scaled_dot_product_cudnn_attention_backward": _Form(1, 14, True, backward=True),
    "flash_attn::_flash_attn_forward": _Form(0, 5),
    "flash_attn::_flash_attn_varlen_forward": _Form(0, 9, lengths=3),
    "flash_attn::_flash_attn_backward": _Form(1, 11, backward=True),
    "flash_attn::_flash_attn_varlen_backward": _Form(1, 15, lengths=9, backward=True),
    "FlashAttnFunc": _Form(0, 5),
    "FlashAttnVarlenFunc": _Form(0, 9, lengths=3),
    "aiter::_flash_attn_forward": _Form(0, 5),
    "aiter::mha_fwd": _Form(0, 5),
    "xformers_flash::flash_fwd": _Form(0, 9, lengths=3),
}


def attention(form: _Form, given: Operands) -> Work | None:
    q, k, v = (given.tensor(form.q + at) for at in range(3))
    if q is None or k is None or v is None or len(q.shape) not in (3, 4):
        return None
    if len(k.shape) != len(q.shape) or len(v.shape) != len(q.shape):
        return None
    sequences, queries, heads, width = _layout(q, form, given)
    _, keys, kv_heads, _ = _layout(k, form, given)
    value_width = v.shape[-1]
    is_causal = given.is_true(form.causal) or (
        "efficient" in given.name and given.whole(form.causal) in (1, 2)
    )
    pairs = causal_pairs(queries, keys) if is_causal else queries * keys
    per_pair = 2 * (width + value_width)
    if form.backward:
        per_pair = 2 * per_pair + 2 * width
    flops = sequences * heads * pairs * per_pair
    sizes = (("batch", sequences), ("heads", heads), ("kv_heads", kv_heads), ("head_dim", width),
             ("value_dim", value_width), ("queries", queries), ("keys", keys))  # fmt: skip
    rows = 4 * sequences * heads * queries
    result = q.elements // (width or 1) * value_width * q.width
    moves = moved(q, k, v) + result + rows
    if form.backward:
        moves += result + moved(q, k, v)  # the gradient of the result; those of q, k and v
    phase = "dgrad" if form.backward else ""
    return Work("attention", q.dtype, flops, moves, phase, sizes)


def causal_pairs(queries: int, keys: int) -> int:
    """Pairs that a causal mask leaves, the last query seeing all keys."""
    if keys >= queries:
        return queries * keys - queries * (queries - 1) // 2
    return keys * (keys + 1) // 2


def _layout(one: Tensor, form: _Form, given: Operands) -> tuple[int, int, int, int]:
    """Sequences, tokens of each, heads, width."""
    if len(one.shape) == 4:
        batch, first, second, width = one.shape
        tokens, heads = (second, first) if form.heads_first else (first, second)
        packed = given.shape(form.lengths) if form.lengths >= 0 and batch == 1 else ()
        if not packed or packed[0] < 3:
            return batch, tokens, heads, width
        return packed[0] - 1, max(tokens // (packed[0] - 1), 1), heads, width
    tokens, heads, width = one.shape
    lengths = given.shape(form.lengths) if form.lengths >= 0 else ()
    sequences = max(lengths[0] - 1, 1) if lengths else 1
    return sequences, max(tokens // sequences, 1), heads, width


def _of(form: _Form) -> Rule:
    return lambda given: attention(form, given)


RULES: dict[str, Rule] = {name: _of(form) for name, form in _FORMS.items()}
