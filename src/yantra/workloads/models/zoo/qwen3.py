"""Qwen3: decoders with a norm over each head of queries and keys, dense and with 128 experts.

Source: Yang et al., 2025 (arXiv 2505.09388), tables 1 and 2 and section 3.2, and the published
`config.json` files.
"""

from __future__ import annotations

from yantra.workloads.models.transformer import Transformer


def _experts(
    name: str, config: str, layers: int, hidden: int, heads: int, dense: int, expert: int
) -> Transformer:
    return Transformer(
        name=name,
        source=f"arXiv 2505.09388, table 2; Qwen/{config} config.json",
        num_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        num_query_groups=4,
        kv_channels=128,
        ffn_hidden_size=dense,
        vocab_size=151936,
        seq_length=4096,
        qk_layernorm=True,
        num_experts=128,
        moe_router_topk=8,
        moe_ffn_hidden_size=expert,
    )


PLUGIN = (
    Transformer(
        name="qwen3-32b",
        source="arXiv 2505.09388, table 1; Qwen/Qwen3-32B config.json",
        num_layers=64,
        hidden_size=5120,
        num_attention_heads=64,
        num_query_groups=8,
        kv_channels=128,
        ffn_hidden_size=25600,
        vocab_size=151936,
        seq_length=4096,
        qk_layernorm=True,
    ),
    _experts("qwen3-30b-a3b", "Qwen3-30B-A3B", 48, 2048, 32, dense=6144, expert=768),
    _experts("qwen3-235b-a22b", "Qwen3-235B-A22B", 94, 4096, 64, dense=12288, expert=1536),
)
