"""From one placement to another: which collectives, over which axis, of how many bytes.

| from \\ to | replicated | sharded d | partial |
|---|---|---|---|
| replicated | nothing | a slice, free | impossible |
| sharded d | all-gather | nothing if d is equal, else all-to-all | impossible |
| partial | all-reduce | reduce-scatter | nothing |

Source: Xu et al., GSPMD, 2021, section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from yantra.base.errors import InternalError
from yantra.chakra import CollectiveType
from yantra.workloads.operators.graph.tensor import Placement


class Move(NamedTuple):
    """One collective over `axis`; each rank puts in `size_bytes`."""

    type: CollectiveType
    axis: str
    size_bytes: int


_ORDER = (
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL,
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_GATHER,
)


def moves(
    source: Placement, target: Placement, total_bytes: int, axes: Mapping[str, int]
) -> tuple[Move, ...]:
    """`axes` gives the ranks of every axis; those of one rank move nothing."""
    if source == target:
        return ()
    kinds = {axis: _kind(source, target, axis) for axis, size in axes.items() if size > 1}
    local = total_bytes
    for _, axis in source.shards:
        local //= axes[axis]
    steps = []
    for axis, kind in kinds.items():
        if kind == "slice":
            local //= axes[axis]
    wanted = [(kind, axis) for axis, kind in kinds.items() if isinstance(kind, CollectiveType)]
    if len(wanted) > 1:
        wanted.sort(key=lambda pair: _ORDER.index(pair[0]))
    for kind, axis in wanted:
        steps.append(Move(kind, axis, local))
        if kind is CollectiveType.ALL_GATHER:
            local *= axes[axis]
        elif kind is CollectiveType.REDUCE_SCATTER:
            local //= axes[axis]
    return tuple(steps)


def _kind(source: Placement, target: Placement, axis: str) -> CollectiveType | str | None:
    before, after = source.dimension_of(axis), target.dimension_of(axis)
    if axis in source.partial:
        if axis in target.partial:
            return None
        return CollectiveType.REDUCE_SCATTER if after else CollectiveType.ALL_REDUCE
    if axis in target.partial:
        raise InternalError(f"nothing makes partial sums over {axis} of {source}")
    if before == after:
        return None
    if before is None:
        return "slice"
    return CollectiveType.ALL_TO_ALL if after else CollectiveType.ALL_GATHER
