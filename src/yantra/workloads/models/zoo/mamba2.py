"""Mamba-2: state-space models without attention.

Source: Dao and Gu, 2024 (arXiv 2405.21060), table 10 and section 9.2; state-spaces/mamba and its
published config.
"""

from __future__ import annotations

from yantra.workloads.models.blocks import Embedding, Head
from yantra.workloads.models.blocks.mamba2 import Mamba2
from yantra.workloads.models.blocks.single_layer import SingleLayer
from yantra.workloads.models.model import Model


def mamba2(
    name: str, source: str, mixer: Mamba2, *, layers: int, vocab: int, sequence: int, tied: bool
) -> Model:
    return Model(
        name=name,
        hidden=mixer.hidden,
        front=Embedding(vocab=vocab, hidden=mixer.hidden, tied=tied),
        layers=(SingleLayer(hidden=mixer.hidden, block=mixer),) * layers,
        tail=Head(vocab=vocab, hidden=mixer.hidden, tied=tied),
        sequence=sequence,
        source=source,
    )


PLUGIN = (
    mamba2(
        "mamba2-2.7b",
        "arXiv 2405.21060, section 9.2; state-spaces/mamba2-2.7b config.json",
        Mamba2(hidden=2560, heads=80, head_dim=64, state=128),
        layers=64,
        vocab=50288,  # 50277, padded to a multiple of 16
        sequence=2048,
        tied=True,
    ),
)
