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
    layers = dict.fromkeys(getattr(model, "layers", ()))
    found = [block.top_k for layer in layers for block in _blocks(layer) if isinstance(block, MoE)]
    return max(found, default=None)


def _blocks(block: object) -> Iterator[Block]:
    if isinstance(block, Block):
        yield block
        for part in vars(block).values():
            yield from _blocks(part)
