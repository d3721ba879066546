"""Layers -> stages: contiguous ranges, as even as whole layers allow.

A remainder goes to the middle stages, then the first, then the last: these two also hold embedding
and head. Llama 3 405B's 126 layers on 16 stages give 7 on the first and last and 8 on the others,
as it was trained (Llama 3 paper, arXiv 2407.21783, section 3.3.2). Where embedding or head count as
layers, all stages get equally many (Megatron-LM: account_for_embedding_in_pipeline_split,
account_for_loss_in_pipeline_split); an end stage may then have no other. A plan may also give each
stage's layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from yantra.base.errors import ConfigError


def layer_ranges(
    layers: int,
    stages: int,
    *,
    front: bool = False,
    tail: bool = False,
    shares: Sequence[int] | None = None,
) -> tuple[tuple[int, int], ...]:
    """(first, end) of the layers of each stage; `end` is excluded.

    With `front` and `tail` the embedding and the head count as layers; `shares` are given layers
    (`yantra.workloads.plan.split`). Raises ConfigError for a stage without a layer, or unequal
    stages that must be equal.
    """
    if shares is not None:
        ends = list(accumulate(shares, initial=0))
        return tuple(pairwise(ends))
    if front or tail:
        return _even(layers, stages, int(front), int(tail))
    if stages > layers:
        problem = f"expected at most one stage per layer ({layers}), got {stages} stages"
        raise ConfigError("pp", f"{problem}; use fewer stages (pp x chunks per device)")
    each, left = divmod(layers, stages)
    by_need = [*range(1, stages - 1), 0, stages - 1]
    larger = set(by_need[:left])
    ranges = []
    first = 0
    for stage in range(stages):
        end = first + each + (stage in larger)
        ranges.append((first, end))
        first = end
    return tuple(ranges)


def _even(layers: int, stages: int, front: int, tail: int) -> tuple[tuple[int, int], ...]:
    each, left = divmod(layers + front + tail, stages)
    if left or not each:
        counted = f"{layers} layers and {front + tail} of the ends"
        raise ConfigError("pp", f"expected equal stages of {counted}, got {stages} stages")
    ends = [min(max(each * (stage + 1) - front, 0), layers) for stage in range(stages)]
    return tuple(zip([0, *ends[:-1]], ends, strict=True))
