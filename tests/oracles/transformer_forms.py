"""Closed forms of a transformer (`t` has Megatron's names; one multiply-accumulate is two
operations). Sources: Narayanan et al., SC 2021, appendix; Korthikanti et al., 2022 (arXiv
2205.05198), section 4 and table 2; DeepSeek-V2, 2024 (arXiv 2405.04434), section 2.1 and appendix
C.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Counting = Literal["exact", "full", "megatron"]
"""How attention is counted: the pairs of a causal mask, all pairs, or half of all pairs.

Megatron's own report of operations is the last; it leaves out the router of experts and adds one
product for each element of a compressed query, key and value, for their norms.
"""
Recompute = Literal["none", "selective", "full"]


class Layer(NamedTuple):
    weights: int
    active: int
    products: int
    router: int


def attention(t: Any) -> tuple[int, int]:
    h, a = t.hidden_size, t.num_attention_heads
    if t.kv_lora_rank:
        head = t.qk_head_dim + t.qk_pos_emb_head_dim
        queries = h * a * head
        if t.q_lora_rank:
            queries = t.q_lora_rank * (h + a * head)
        keys = h * (t.kv_lora_rank + t.qk_pos_emb_head_dim)
        values = t.kv_lora_rank * a * (t.qk_head_dim + t.v_head_dim)
        products = queries + keys + values + a * t.v_head_dim * h
        return products + t.q_lora_rank + t.kv_lora_rank, products
    g, d = t.num_query_groups, t.kv_channels
    products = h * (a + 2 * g) * d + a * d * h
    biases = t.qkv_bias * (a + 2 * g) * d + t.attention_output_bias * h
    return products + biases + t.qk_layernorm * 2 * d, products


def layer(t: Any, index: int) -> Layer:
    h, matrices = t.hidden_size, 3 if t.gated_linear_unit else 2
    attention_weights, attention_products = attention(t)
    norms = 4 if t.residual == "sandwich" else 2
    around = attention_weights + norms * norm(t)
    if t.has_experts(index):
        expert = matrices * h * t.moe_ffn_hidden_size
        shared = matrices * h * t.moe_shared_expert_intermediate_size
        router = h * t.num_experts
        always = shared + router + t.moe_router_enable_expert_bias * t.num_experts
        return Layer(
            around + always + t.num_experts * expert,
            around + always + t.moe_router_topk * expert,
            attention_products + shared + router + t.moe_router_topk * expert,
            router,
        )
    f = t.ffn_hidden_size
    mlp = matrices * h * f
    biases = t.mlp_bias * ((matrices - 1) * f + h)
    weights = around + mlp + biases
    return Layer(weights, weights, attention_products + mlp, 0)


def norm(t: Any) -> int:
    return int(t.hidden_size * (2 if t.normalization == "LayerNorm" else 1))


def parameters(t: Any) -> int:
    return sum(layer(t, i).weights for i in range(t.num_layers)) + _ends(t)


def active_parameters(t: Any) -> int:
    return sum(layer(t, i).active for i in range(t.num_layers)) + _ends(t)


def kv_bytes_per_token(t: Any, element_bytes: int = 2) -> int:
    if t.kv_lora_rank:
        return int(t.num_layers * (t.kv_lora_rank + t.qk_pos_emb_head_dim) * element_bytes)
    return int(t.num_layers * 2 * t.num_query_groups * t.kv_channels * element_bytes)


def forward_flops(t: Any, sequence: int, counting: Counting = "exact") -> int:
    head = 2 * t.kv_channels
    if t.kv_lora_rank:
        head = t.qk_head_dim + t.qk_pos_emb_head_dim + t.v_head_dim
    total = 2 * sequence * t.hidden_size * t.vocab_size
    for index in range(t.num_layers):
        of_layer = layer(t, index)
        products = of_layer.products
        if counting == "megatron":
            products += t.q_lora_rank + t.kv_lora_rank - of_layer.router
        twice_pairs = 2 * pairs(sequence, t.window(index))
        if counting == "full":
            twice_pairs = 2 * sequence**2
        elif counting == "megatron":
            twice_pairs = sequence**2
        total += 2 * sequence * products + t.num_attention_heads * head * twice_pairs
    return int(total)


def train_flops(t: Any, sequence: int, counting: Counting = "megatron") -> int:
    return 3 * forward_flops(t, sequence, counting)


def pairs(sequence: int, window: int = 0) -> int:
    if window and window < sequence:
        return window * (window + 1) // 2 + (sequence - window) * window
    return sequence * (sequence + 1) // 2


def activation_bytes(
    s: int,
    b: int,
    h: int,
    a: int,
    t: int = 1,
    sequence_parallel: bool = False,
    recompute: Recompute = "none",
) -> int:
    """Return the bytes one rank keeps for the backward pass of one layer, at 16 bits.

    For full attention heads, an intermediate size of 4 h, and dropout (table 2 of Korthikanti et
    al.): sequence s, micro-batch b, hidden size h, a heads, split over t ranks.
    """
    if recompute == "full":
        return 2 * s * b * h
    whole = s * b * h * (34 if sequence_parallel else 24)
    replicated = 0 if sequence_parallel else 10 * s * b * h
    scores = 0 if recompute == "selective" else 5 * a * s * s * b
    split, rest = divmod(whole + scores, t)
    if rest:
        raise ValueError(f"{t} ranks do not divide {whole + scores} bytes")
    return replicated + split


def _ends(t: Any) -> int:
    tables = 1 if t.tie_word_embeddings else 2
    positions = t.max_position_embeddings * t.hidden_size
    return int(tables * t.vocab_size * t.hidden_size + positions + norm(t))
