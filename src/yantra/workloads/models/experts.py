"""How many experts a token of a model goes to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from yantra.workloads.models.blocks.block import Block
from yantra.workloads.models.blocks.moe import MoE


def experts_a_token(model: Any) -> int | None:
    """The most routed experts to which a layer sends a token; None without any.

    Also None for a model of its own form, without layers of blocks.
    """
    return max((block.top_k for block in _moe(model)), default=None)


def experts_of(model: Any) -> int | None:
    """The most routed experts that a layer has; None as `experts_a_token`."""
    return max((block.experts for block in _moe(model)), default=None)


def _moe(model: Any) -> Iterator[MoE]:
    layers = dict.fromkeys(getattr(model, "layers", ()))
    return (block for layer in layers for block in _blocks(layer) if isinstance(block, MoE))


def _blocks(block: object) -> Iterator[Block]:
    if isinstance(block, Block):
        yield block
        for part in vars(block).values():
            yield from _blocks(part)
