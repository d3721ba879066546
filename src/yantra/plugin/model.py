"""A model: its layers, out of blocks and operators."""

from __future__ import annotations

from yantra.workloads.models.blocks import Attention, Block, Embedding, Head, Layer
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.operators.graph.operators.elementwise import elementwise, settle
from yantra.workloads.operators.graph.operators.linear import linear

__all__ = [
    "Attention",
    "Block",
    "Embedding",
    "Head",
    "Layer",
    "Model",
    "Transformer",
    "elementwise",
    "linear",
    "settle",
]
