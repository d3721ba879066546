"""Blocks models are made of, one file each."""

from yantra.workloads.models.blocks.attention import Attention
from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.embedding import Embedding
from yantra.workloads.models.blocks.head import Head
from yantra.workloads.models.blocks.layer import Layer
from yantra.workloads.models.blocks.mla import MLA
from yantra.workloads.models.blocks.mlp import MLP
from yantra.workloads.models.blocks.moe import MoE

__all__ = ["MLA", "MLP", "Attention", "Block", "Embedding", "Head", "Layer", "MoE"]
