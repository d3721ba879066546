"""Which collectives turn one sharding of a tensor into another.

On each parallel axis a tensor is split along a dimension, holds partial sums, or is equal on all
ranks:

    from \\ to      same          split           partial
    same           nothing       local slice     impossible
    split          all-gather    all-to-all *    impossible      * nothing along the same dimension
    partial        all-reduce    reduce-scatter  nothing

This is the rule of sharding propagation (Xu et al., GSPMD, 2021). Several axes make collectives in
turn, in the order of the axes.

Source: astra-sim/stage@9ec6c02, the pass CommunicationMatcherV2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType
from yantra.workloads.importers.stg.expressions import Expression, Shape, number

PARALLEL_SYMBOLS = ("dp", "tp", "cp", "sp", "ep", "fsdp")
_ONES = {name: number(1) for name in PARALLEL_SYMBOLS}


class _Placement(NamedTuple):
    kind: Literal["same", "split", "partial"]
    size: Expression | None = None
    """The dimension it is split along, whatever other axes do to it."""


class Collective(NamedTuple):
    """A step of resharding: a collective along an axis."""

    axis: str
    type: CollectiveType


def collectives(
    have: tuple[Shape, Shape], need: tuple[Shape, Shape], axes: Sequence[str], where: str = ""
) -> tuple[Collective, ...]:
    """`axes` are the symbols of axes with more than one rank. Raises ConfigError, naming `where`,
    if whole tensors should become partial sums.
    """
    steps = []
    for axis in axes:
        origin, to = _placement(*have, axis), _placement(*need, axis)
        if to.kind == "partial":
            if origin.kind != "partial":
                problem = f"expected partial sums over {axis}, got a tensor that is {origin.kind}"
                raise ConfigError(where, problem)
        elif origin.kind == "partial":
            reduced = to.kind == "same"
            type_ = CollectiveType.ALL_REDUCE if reduced else CollectiveType.REDUCE_SCATTER
            steps.append(Collective(axis, type_))
        elif origin.kind == "split" and to.kind == "same":
            steps.append(Collective(axis, CollectiveType.ALL_GATHER))
        elif origin.kind == "split" and origin.size is not to.size:
            steps.append(Collective(axis, CollectiveType.ALL_TO_ALL))
    return tuple(steps)


def _placement(shape: Shape, hidden: Shape, axis: str) -> _Placement:
    others = {name: one for name, one in _ONES.items() if name != axis}
    for size in shape:
        if axis in size.symbols:
            return _Placement("split", size.substitute(others))
    for size in hidden:
        if axis in size.symbols:
            return _Placement("partial")
    return _Placement("same")
