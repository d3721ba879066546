"""Layers -> stages: contiguous ranges, as even as whole layers allow.

A remainder goes to the middle stages first, then to the first stage, then to the last: these two
also hold the embedding and the head. For Llama 3 405B, 126 layers on 16 stages, that is 7 layers
on the first and the last stage and 8 on the others, as it was trained (Llama 3 paper, arXiv
2407.21783, section 3.3.2).
"""

from __future__ import annotations

from yantra.base.errors import ConfigError


def layer_ranges(layers: int, stages: int) -> tuple[tuple[int, int], ...]:
    """Return (first, end) of the layers of each stage; `end` is not in it.

    Raises ConfigError where some stage would have no layer.
    """
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
