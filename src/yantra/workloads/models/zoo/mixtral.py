"""Mixtral.

Source: Jiang et al., 2024 (arXiv 2401.04088), table 1, and the published `config.json` files.
"""

from __future__ import annotations

from yantra.workloads.models.transformer import Transformer

PLUGIN = (
    Transformer(
        name="mixtral-8x7b",
        source="arXiv 2401.04088, table 1; mistralai/Mixtral-8x7B-v0.1 config.json",
        num_layers=32,
        hidden_size=4096,
        num_attention_heads=32,
        num_query_groups=8,
        ffn_hidden_size=14336,
        vocab_size=32000,
        seq_length=32768,
        num_experts=8,
        moe_router_topk=2,
    ),
    Transformer(
        name="mixtral-8x22b",
        source="mistralai/Mixtral-8x22B-Instruct-v0.1 config.json",
        num_layers=56,
        hidden_size=6144,
        num_attention_heads=48,
        num_query_groups=8,
        ffn_hidden_size=16384,
        vocab_size=32768,
        seq_length=65536,
        num_experts=8,
        moe_router_topk=2,
    ),
)
