"""GPT: dense decoders with learned positions, biases and LayerNorm, from 1.3 B to 1 T parameters.

Sources: Brown et al., 2020 (arXiv 2005.14165), table 2.1; Smith et al., 2022 (arXiv 2201.11990);
Narayanan et al., SC 2021, table 1; Korthikanti et al., 2022 (arXiv 2205.05198), table 3, whose 530B
and 1T have the vocabulary padded to 51,200.
"""

from __future__ import annotations

from yantra.workloads.models.transformer import Transformer

_BROWN = "arXiv 2005.14165, table 2.1"
_KORTHIKANTI = "arXiv 2205.05198, table 3"


def _gpt(
    name: str, layers: int, hidden: int, heads: int, vocabulary: int, source: str, *notes: str
) -> Transformer:
    return Transformer(
        name=name,
        source=source,
        num_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        ffn_hidden_size=4 * hidden,
        vocab_size=vocabulary,
        seq_length=2048,
        rotary=False,
        max_position_embeddings=2048,
        normalization="LayerNorm",
        gated_linear_unit=False,
        qkv_bias=True,
        attention_output_bias=True,
        mlp_bias=True,
        tie_word_embeddings=True,
        notes=notes,
    )


PLUGIN = (
    _gpt(
        "gpt3-1.3b", 24, 2048, 16, 50257, _BROWN,
        "16 heads of 128; the paper's 24 heads of 128 do not make its hidden size of 2048",
    ),
    _gpt(
        "gpt3-13b", 40, 5120, 40, 50257, _BROWN,
        "hidden size 5120 = 40 heads of 128; the paper prints 5140",
    ),
    _gpt(
        "gpt3-175b", 96, 12288, 96, 50257, _BROWN,
        "all layers with full attention; every other one of the original is locally banded",
    ),
    _gpt("gpt-530b", 105, 20480, 128, 51200, f"arXiv 2201.11990, section 3; {_KORTHIKANTI}"),
    _gpt("gpt-1t", 128, 25600, 160, 51200, f"SC 2021 (Narayanan et al.), table 1; {_KORTHIKANTI}"),
)  # fmt: skip
