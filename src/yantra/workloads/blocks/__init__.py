"""Blocks models are made of, one file each: they say which operators work on what."""

from yantra.workloads.blocks.attention import Attention
from yantra.workloads.blocks.block import Block
from yantra.workloads.blocks.embedding import Embedding
from yantra.workloads.blocks.head import Head
from yantra.workloads.blocks.layer import Layer
from yantra.workloads.blocks.mla import MLA
from yantra.workloads.blocks.mlp import MLP
from yantra.workloads.blocks.moe import MoE

__all__ = ["MLA", "MLP", "Attention", "Block", "Embedding", "Head", "Layer", "MoE"]
