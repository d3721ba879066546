"""BERT: encoders with norms after the residual sums, trained on masked words and sentence pairs.

Source: Devlin et al., "BERT", 2018 (arXiv 1810.04805), section 3, and the published `config.json`
files.
"""

from __future__ import annotations

from yantra.workloads.models.blocks import MLP, Attention, Embedding
from yantra.workloads.models.blocks.bert import MaskedHead, PostNormLayer
from yantra.workloads.models.model import Model


def bert(
    name: str,
    source: str,
    *,
    layers: int,
    hidden: int,
    heads: int,
    intermediate: int,
    vocab: int,
    positions: int,
    types: int = 2,
) -> Model:
    layer = PostNormLayer(
        hidden=hidden,
        attention=Attention(
            heads=heads,
            kv_heads=heads,
            head_dim=hidden // heads,
            qkv_bias=True,
            out_bias=True,
            rope=False,
            causal=False,
        ),
        mlp=MLP(intermediate=intermediate, gated=False, bias=True),
    )
    return Model(
        name=name,
        hidden=hidden,
        front=Embedding(
            vocab=vocab, hidden=hidden, positions=positions, types=types, norm="layer", tied=True
        ),
        layers=(layer,) * layers,
        tail=MaskedHead(vocab=vocab, hidden=hidden),
        sequence=positions,
        source=source,
        notes=("the head runs for the 15 % of tokens that are masked",),
    )


def _known(size: str, layers: int, hidden: int, heads: int) -> Model:
    return bert(
        f"bert-{size}",
        f"arXiv 1810.04805, section 3; google-bert/bert-{size}-uncased config.json",
        layers=layers,
        hidden=hidden,
        heads=heads,
        intermediate=4 * hidden,
        vocab=30522,
        positions=512,
    )


PLUGIN = (_known("base", 12, 768, 12), _known("large", 24, 1024, 16))
