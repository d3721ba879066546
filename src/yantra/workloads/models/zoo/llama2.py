"""Llama 2: dense decoders, the largest with grouped-query attention.

Source: Touvron et al., 2023 (arXiv 2307.09288), table 1, and the published `config.json` files.
"""

from __future__ import annotations

from yantra.workloads.models.transformer import Transformer


def _llama2(
    size: str, layers: int, hidden: int, heads: int, groups: int, intermediate: int
) -> Transformer:
    return Transformer(
        name=f"llama2-{size}",
        source=f"arXiv 2307.09288, table 1; meta-llama/Llama-2-{size}-hf config.json",
        num_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        num_query_groups=groups,
        ffn_hidden_size=intermediate,
        vocab_size=32000,
        seq_length=4096,
    )


PLUGIN = (
    _llama2("7b", layers=32, hidden=4096, heads=32, groups=32, intermediate=11008),
    _llama2("13b", layers=40, hidden=5120, heads=40, groups=40, intermediate=13824),
    _llama2("70b", layers=80, hidden=8192, heads=64, groups=8, intermediate=28672),
)
