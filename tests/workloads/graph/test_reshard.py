"""Collectives of a change of placement, carried out on real values, give the target placement."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import InternalError
from yantra.chakra import CollectiveType
from yantra.workloads.operators.graph import Placement
from yantra.workloads.operators.graph.reshard import Move, moves

AXES = {"tp": 2, "cp": 3, "ep": 1}
SIZES = {"rows": 12, "columns": 6}
Coordinates = tuple[int, ...]
Values = dict[tuple[int, int], int]
"""What one rank holds: (row, column) -> value."""

ROLES = st.sampled_from(["replicated", "rows", "columns", "partial"])


def placed(roles: dict[str, str]) -> Placement:
    shards = tuple((role, axis) for axis, role in roles.items() if role in SIZES)
    return Placement(shards, tuple(sorted(a for a, role in roles.items() if role == "partial")))


PLACEMENTS = st.fixed_dictionaries({"tp": ROLES, "cp": ROLES}).map(placed)
RANKS: list[Coordinates] = list(product(*(range(size) for size in AXES.values())))


def whole(row: int, column: int) -> int:
    return 1000 + 10 * row + column


def held(placement: Placement, at: Coordinates) -> Values:
    here = dict(zip(AXES, at, strict=True))
    kept = {dimension: list(range(size)) for dimension, size in SIZES.items()}
    for dimension, axis in placement.shards:
        share = len(kept[dimension]) // AXES[axis]
        kept[dimension] = kept[dimension][here[axis] * share : (here[axis] + 1) * share]
    first = all(here[axis] == 0 for axis in placement.partial)
    return {cell: whole(*cell) if first else 0 for cell in product(kept["rows"], kept["columns"])}


def group(at: Coordinates, axis: str) -> list[Coordinates]:
    where = list(AXES).index(axis)
    return [(*at[:where], i, *at[where + 1 :]) for i in range(AXES[axis])]


def carried_out(
    state: dict[Coordinates, Values], move: Move, target: Placement
) -> dict[Coordinates, Values]:
    after: dict[Coordinates, Values] = {}
    for at, own in state.items():
        peers = [state[peer] for peer in group(at, move.axis)]
        me = at[list(AXES).index(move.axis)]
        if move.type is CollectiveType.ALL_GATHER:
            after[at] = {cell: value for part in peers for cell, value in part.items()}
            continue
        if move.type is CollectiveType.ALL_TO_ALL:
            cells = {cell: value for part in peers for cell, value in part.items()}
        else:
            cells = {cell: sum(part[cell] for part in peers) for cell in own}
        if move.type is not CollectiveType.ALL_REDUCE:
            dimension = target.dimension_of(move.axis)
            index = list(SIZES).index(str(dimension))
            lines = sorted({cell[index] for cell in cells})
            share = len(lines) // AXES[move.axis]
            mine = set(lines[me * share : (me + 1) * share])
            cells = {cell: value for cell, value in cells.items() if cell[index] in mine}
        after[at] = cells
    return after


def possible(source: Placement, target: Placement) -> bool:
    return set(target.partial) <= set(source.partial)


def cut(state: dict[Coordinates, Values], source: Placement, target: Placement) -> None:
    for axis in AXES:
        replicated = source.dimension_of(axis) is None and axis not in source.partial
        dimension = target.dimension_of(axis)
        if not replicated or dimension is None:
            continue
        index = list(SIZES).index(dimension)
        for at, cells in state.items():
            me = at[list(AXES).index(axis)]
            lines = sorted({cell[index] for cell in cells})
            share = len(lines) // AXES[axis]
            mine = set(lines[me * share : (me + 1) * share])
            state[at] = {cell: value for cell, value in cells.items() if cell[index] in mine}


@given(PLACEMENTS, PLACEMENTS)
def test_the_collectives_lead_to_the_target(source: Placement, target: Placement) -> None:
    if not possible(source, target):
        with pytest.raises(InternalError):
            moves(source, target, 72, AXES)
        return
    state = {at: held(source, at) for at in RANKS}
    steps = moves(source, target, prod(SIZES.values()), AXES)
    cut(state, source, target)
    for step in steps:
        sizes = {len(cells) for cells in state.values()}
        assert sizes == {step.size_bytes}, "every rank puts in what the collective says"
        state = carried_out(state, step, target)
    expected = len(held(target, RANKS[0]))
    assert {len(cells) for cells in state.values()} == {expected}
    total: dict[tuple[int, int], int] = {}
    for at, cells in state.items():
        if all(i == 0 for i, axis in zip(at, AXES, strict=True) if axis not in target.axes()):
            for cell, value in cells.items():
                total[cell] = total.get(cell, 0) + value
    assert total == {cell: whole(*cell) for cell in product(range(12), range(6))}


def test_an_axis_of_one_rank_moves_nothing() -> None:
    assert moves(Placement((("rows", "ep"),)), Placement(), 72, AXES) == ()


def test_a_gather_counts_its_shard_and_a_reduction_the_whole() -> None:
    rows = Placement((("rows", "tp"),))
    partial = Placement((), ("tp",))
    assert moves(rows, Placement(), 64, {"tp": 8}) == ((CollectiveType.ALL_GATHER, "tp", 8),)
    assert moves(partial, rows, 64, {"tp": 8}) == ((CollectiveType.REDUCE_SCATTER, "tp", 64),)
    assert moves(partial, Placement(), 64, {"tp": 8}) == ((CollectiveType.ALL_REDUCE, "tp", 64),)
