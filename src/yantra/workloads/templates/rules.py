"""What a template's names mean, as sums over the axes of a grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from yantra.workloads.templates.grid import Axis, Grid, Group, kept, moved, parse_peer, target_of

NONE = 0xFFFFFFFF
_WORD = 1 << 32

SumAxis = tuple[int, int, int, list[int]]
"""stride, size, and what is added: an amount per coordinate, or a value for each."""


class Sum(NamedTuple):
    """A number for every rank: base, the rank itself if `relative`, and a term per axis.

    A coordinate is (rank - first_rank) // stride % size; sums are modulo 2^32.
    """

    first_rank: int
    base: int
    relative: bool
    axes: tuple[SumAxis, ...]

    def of(self, rank: int) -> int:
        total = self.base + (rank if self.relative else 0)
        for stride, size, factor, values in self.axes:
            at = (rank - self.first_rank) // stride % size
            term = values[at] if values else factor * at
            if term == NONE and not self.relative:
                return NONE
            total += term
        return total % _WORD


class Family(NamedTuple):
    """Communicators of one layout: ids, lowest ranks, and offsets of members."""

    first_id: int
    base: int
    axes: tuple[tuple[int, int, int], ...]
    offsets: tuple[tuple[int, int, tuple[int, ...]], ...]


def group_rule(grid: Grid, group: Group, first_id: int) -> Sum:
    cuts = dict(group.where)
    axes: list[SumAxis] = []
    factor = 1
    for axis in grid.axes_of(group):
        if axis.name not in group.axes:
            axes.append((axis.stride, axis.size, factor, []))
            factor *= axis.size
        elif axis.name in cuts:
            values = [NONE] * axis.size
            for number, part in enumerate(cuts[axis.name]):
                for at in part:
                    values[at] = number * factor
            axes.append((axis.stride, axis.size, 0, values))
            factor *= len(cuts[axis.name])
    used = tuple(axis for axis in axes if axis[1] > 1 or axis[3])
    return Sum(grid.first_rank, first_id, False, used)


def families(grid: Grid, group: Group, first_id: int) -> Iterator[Family]:
    cuts = dict(group.where)
    axes: list[tuple[int, int, int]] = []
    cut: list[tuple[Axis, int]] = []
    offsets: list[tuple[int, int, tuple[int, ...]]] = []
    factor = 1
    for axis in grid.axes_of(group):
        if axis.name not in group.axes:
            if axis.size > 1:
                axes.append((axis.size, axis.stride, factor))
            factor *= axis.size
        elif axis.name in cuts:
            cut.append((axis, factor))
            factor *= len(cuts[axis.name])
        elif axis.size > 1:
            offsets.append((axis.size, axis.stride, ()))
    for chosen in product(*(enumerate(cuts[axis.name]) for axis, _ in cut)):
        base, id, more = grid.first_rank, first_id, []
        for (axis, step), (number, part) in zip(cut, chosen, strict=True):
            lowest = min(part)
            base += lowest * axis.stride
            id += number * step
            listed = tuple((at - lowest) * axis.stride for at in sorted(part))
            more.append((len(part), 0, listed))
        yield Family(id, base, tuple(axes), (*offsets, *more))


def peer_rule(grids: Sequence[Grid], own: Grid, expression: str) -> Sum:
    """Raises ConfigError as `peer_of` does, for what is wrong whatever the rank."""
    peer = parse_peer(expression)
    other = target_of(grids, own, peer, expression)
    axes: list[SumAxis] = []
    if other is own:
        view = own.view_of(step.axis for step in peer.steps)
        for step in peer.steps:
            axis = own.axis(view, step.axis)
            shifts = (moved(at, step, axis, expression) - at for at in range(axis.size))
            values = [shift * axis.stride % _WORD for shift in shifts]
            axes.append((axis.stride, axis.size, 0, values))
        return Sum(own.first_rank, 0, True, tuple(axes))
    named = {step.axis: step for step in peer.steps}
    base = other.first_rank
    for axis in other.strided(other.view_of(named)):
        named_step = named.get(axis.name)
        if named_step is not None and named_step.how == "=":
            base += moved(0, named_step, axis, expression) * axis.stride
            continue
        mine = kept(own, axis.name, expression)
        values = list(range(mine.size))
        if named_step is not None:
            values = [moved(at, named_step, axis, expression) for at in values]
        values = [at * axis.stride if at < axis.size else NONE for at in values]
        axes.append((mine.stride, mine.size, 0, values))
    return Sum(own.first_rank, base, False, tuple(axes))
