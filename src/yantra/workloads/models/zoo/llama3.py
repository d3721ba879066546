"""Llama 3 and 3.1: dense decoders with grouped-query attention and a vocabulary of 128 k.

Source: Grattafiori et al., 2024 (arXiv 2407.21783), table 3 and section 3.2, and the published
`config.json` files.
"""

from __future__ import annotations

from yantra.workloads.models.transformer import Transformer


def _llama3(
    size: str, layers: int, hidden: int, heads: int, intermediate: int, config: str
) -> Transformer:
    return Transformer(
        name=f"llama3-{size}",
        source=f"arXiv 2407.21783, table 3; meta-llama/{config} config.json",
        num_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        num_query_groups=8,
        ffn_hidden_size=intermediate,
        vocab_size=128256,
        seq_length=8192,
    )


PLUGIN = (
    _llama3("8b", 32, 4096, 32, 14336, "Meta-Llama-3-8B"),
    _llama3("70b", 80, 8192, 64, 28672, "Meta-Llama-3-70B"),
    _llama3("405b", 126, 16384, 128, 53248, "Llama-3.1-405B"),
)
