"""Laws of grids: groups partition the ranks, coordinates and ranks are inverse, peers are moves."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.workloads.templates.grid import Grid, Group, grid_of, grid_of_rank, parse_peer, peer_of

SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=4)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    sizes = draw(SIZES)
    axes = tuple((f"a{at}", size) for at, size in enumerate(sizes))
    total = prod(sizes)
    half = draw(st.sampled_from([size for size in range(1, total + 1) if total % size == 0]))
    return Grid("g", draw(st.integers(0, 9)), {"v": axes, "w": (("x", half), ("y", total // half))})


@st.composite
def grids_and_groups(draw: st.DrawFn) -> tuple[Grid, Group]:
    grid = draw(grids())
    view = draw(st.sampled_from(["v", "w"]))
    sizes = grid.axes(view)
    axes = draw(st.lists(st.sampled_from(list(sizes)), unique=True))
    where = {}
    if axes and draw(st.booleans()):
        places = draw(st.permutations(range(sizes[axes[0]])))
        cut = draw(st.integers(1, len(places)))
        where = {axes[0]: [places[:cut], places[cut:]] if places[cut:] else [places]}
    return grid, Group(view, axes, where, "g")


@given(grids())
def test_coordinates_and_rank_are_inverse(grid: Grid) -> None:
    for view, axes in grid.views:
        seen = {tuple(grid.coordinates(rank, view).items()) for rank in grid.ranks}
        spaces = ([(name, at) for at in range(size)] for name, size in axes)
        assert seen == set(product(*spaces))
        assert all(grid.rank(grid.coordinates(rank, view), view) == rank for rank in grid.ranks)


@given(grids_and_groups())
def test_groups_partition_the_ranks(given: tuple[Grid, Group]) -> None:
    grid, group = given
    made = list(grid.groups_of(group))
    assert len(made) == grid.count(group)
    assert min(map(len, made)) == grid.smallest(group)
    assert sorted(rank for members in made for rank in members) == list(grid.ranks)
    for index, members in enumerate(made):
        assert list(members) == sorted(members)
        assert all(grid.index(rank, group) == index for rank in members)
        assert all(grid.members(rank, group) == members for rank in members)


@given(grids_and_groups())
def test_members_differ_only_along_the_axes_of_the_group(given: tuple[Grid, Group]) -> None:
    grid, group = given
    for members in grid.groups_of(group):
        fixed = [
            {a: c for a, c in grid.coordinates(rank, group.view).items() if a not in group.axes}
            for rank in members
        ]
        assert all(one == fixed[0] for one in fixed)


def test_where_leaves_out_the_other_coordinates() -> None:
    grid = grid_of(tp=2, dp=1, pp=4)
    embedding = Group("dense", ("pp",), {"pp": (0, 3)})
    assert list(grid.groups_of(embedding)) == [(0, 6), (1, 7)]
    assert grid.members(2, embedding) == ()
    assert grid.index(2, embedding) is None
    mirror = Group("dense", ("pp",), {"pp": ((0, 3), (1, 2))})
    assert list(grid.groups_of(mirror)) == [(0, 6), (1, 7), (2, 4), (3, 5)]


@given(grids(), st.data())
def test_moving_there_and_back_is_no_move(grid: Grid, data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from([name for _, axes in grid.views for name, _ in axes]))
    steps = data.draw(st.integers(0, 9))
    rank = data.draw(st.sampled_from(grid.ranks))
    there = grid.peer(rank, f"{axis}+{steps}")
    assert grid.peer(there, f"{axis}-{steps}") == rank
    view = grid.view_of((axis,))
    size = grid.axes(view)[axis]
    before, after = grid.coordinates(rank, view), grid.coordinates(there, view)
    assert after == before | {axis: (before[axis] + steps) % size}


def test_megatrons_default_order_by_hand() -> None:
    grid = grid_of(tp=2, dp=4, pp=2, ep=2)
    assert grid.axes("expert") == {"etp": 1, "ep": 2, "edp": 4, "pp": 2}
    assert grid.members(5, Group("dense", ("tp",))) == (4, 5)
    assert grid.members(5, Group("dense", ("dp",))) == (1, 3, 5, 7)
    assert grid.members(5, Group("dense", ("pp",))) == (5, 13)
    assert grid.members(5, Group("expert", ("ep",))) == (4, 5)
    assert grid.members(5, Group("expert", ("edp",))) == (1, 3, 5, 7)
    assert grid.members(5, Group("expert", ("pp",))) == (5, 13)
    assert grid.peer(5, "pp+1") == 13
    assert grid.peer(13, "pp+1") == 5


def test_megatrons_order_with_pipeline_before_data_by_hand() -> None:
    """tp 2, cp 2, dp 2, pp 2: strides 1, 2, 8 and 4; experts over tp and cp together."""
    grid = grid_of(tp=2, cp=2, dp=2, pp=2, ep=4, order="tp-cp-ep-pp-dp")
    assert grid.axes("expert") == {"etp": 1, "ep": 4, "pp": 2, "edp": 2}
    assert grid.members(0, Group("dense", ("cp",))) == (0, 2)
    assert grid.members(0, Group("dense", ("pp",))) == (0, 4)
    assert grid.members(0, Group("dense", ("dp",))) == (0, 8)
    assert grid.members(0, Group("dense", ("cp", "dp"))) == (0, 2, 8, 10)
    assert grid.members(6, Group("expert", ("ep",))) == (4, 5, 6, 7)
    assert grid.members(6, Group("expert", ("edp",))) == (6, 14)
    assert grid.members(6, Group("expert", ("pp",))) == (2, 6)


@pytest.mark.parametrize("order", ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "cp-tp-dp-pp", "TP-PP-DP"])
def test_a_stage_is_the_same_in_both_views(order: str) -> None:
    grid = grid_of(tp=2, dp=4, pp=3, ep=2, order=order) if "EP" in order or "ep" in order else None
    grid = grid or grid_of(tp=2, dp=4, pp=3, etp=2, order=order)
    for rank in grid.ranks:
        stages = {grid.coordinates(rank, view)["pp"] for view in ("dense", "expert")}
        assert len(stages) == 1


def test_an_order_whose_stages_disagree_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        grid_of(tp=2, dp=4, pp=2, ep=4, order="tp-cp-ep-pp-dp")
    assert str(caught.value) == (
        "order: 'tp-cp-ep-pp-dp' puts ranks into different pipeline stages for dense and expert "
        "layers: 2 neighbouring ranks share a stage in one, 4 in the other; end it with pp"
    )


def test_whole_experts_leave_the_order_free() -> None:
    grid = grid_of(tp=2, dp=4, pp=2, order="tp-cp-ep-pp-dp")
    assert [view for view, _ in grid.views] == ["dense"]
    assert grid.members(0, Group("dense", ("pp",))) == (0, 2)


def test_the_shard_group_of_hsdp_is_the_fast_part_of_context_and_data_parallelism() -> None:
    grid = grid_of(tp=2, cp=2, dp=4, pp=2, shard=4)
    assert grid.axes("sharded") == {"tp": 2, "fsdp": 4, "replica": 2, "pp": 2}
    assert grid.members(0, Group("sharded", ("fsdp",))) == (0, 2, 4, 6)
    assert grid.members(0, Group("sharded", ("replica",))) == (0, 8)
    both = Group("sharded", ("fsdp", "replica"))
    assert grid.members(0, both) == grid.members(0, Group("dense", ("cp", "dp")))


def test_a_grid_of_any_size_costs_what_its_axes_cost() -> None:
    grid = grid_of(tp=8, cp=16, dp=2**40, pp=16)
    last = grid.ranks[-1]
    assert grid.coordinates(last) == {"tp": 7, "cp": 15, "dp": 2**40 - 1, "pp": 15}
    assert grid.members(last, Group("dense", ("tp",))) == tuple(range(last - 7, last + 1))
    assert grid.peer(last, "pp+1") == 8 * 16 * 2**40 - 1
    assert grid.count(Group("dense", ("tp",))) == 16 * 2**40 * 16


def test_a_peer_in_another_grid_keeps_what_is_not_named() -> None:
    prefill = Grid("prefill", 0, {"dense": (("tp", 2), ("pp", 2))})
    decode = Grid("decode", 4, {"dense": (("tp", 4), ("pp", 2))})
    both = (prefill, decode)
    assert peer_of(both, 3, "decode:tp=3,pp=0") == 7
    assert peer_of(both, 3, "decode:pp=0") == 5
    assert peer_of(both, 5, "prefill:tp=0") == 0
    assert peer_of(both, 3, "tp-1") == 2
    assert peer_of(both, 3, "prefill:tp-1") == 2
    assert grid_of_rank(both, 4) is decode
    with pytest.raises(ConfigError, match="tp of rank 7 is 3; the grid 'prefill' has 2"):
        peer_of(both, 7, "prefill:pp=0")


PEERS = {
    "pp": (
        "comm_peer \"pp\": expected axis+k, axis-k or axis=k, several with commas, such as 'pp+1'"
    ),
    "pp+1,pp=0": 'comm_peer "pp+1,pp=0": an axis is named twice',
    "pq+1": "grids.train: no axis is named 'pq'; it has tp, cp, dp, pp, etp, ep, edp",
    "pp=9": 'comm_peer "pp=9": pp is 0 to 1',
    "decod:pp=0": "comm_peer \"decod:pp=0\": no grid is named 'decod'; did you mean 'decode'?",
    "decode:x=0": "comm_peer \"decode:x=0\": must give y, which the grid 'train' does not have",
    "tp+1,ep+1": "grids.train: no view has the axes tp, ep together",
}


@pytest.mark.parametrize("expression", PEERS)
def test_a_wrong_peer_is_named(expression: str) -> None:
    decode = Grid("decode", 16, {"dense": (("x", 2), ("y", 2))})
    with pytest.raises(ConfigError) as caught:
        peer_of((grid_of(tp=2, dp=4, pp=2, ep=2), decode), 0, expression)
    assert str(caught.value) == PEERS[expression]


ORDERS = {
    "tp-dp": "order: 'tp-dp' lacks pp, which is 2",
    "tp-dp-dp-pp": "order: dp is named twice in 'tp-dp-dp-pp'",
    "tp-xp": "order: expected names among tp, cp, ep, dp, pp with '-' between, got 'tp-xp'",
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_wrong_order_is_named(order: str) -> None:
    with pytest.raises(ConfigError) as caught:
        grid_of(tp=2, dp=2, pp=2, order=order)
    assert str(caught.value).startswith(ORDERS[order])


def test_wrong_grids_are_named() -> None:
    with pytest.raises(ConfigError, match=r"ep \* etp \(3 \* 1\) must divide tp \* cp \* dp"):
        grid_of(tp=2, dp=2, ep=3)
    with pytest.raises(ConfigError, match="they must hold equally many ranks; got a 4, b 3"):
        Grid("g", 0, {"a": (("x", 4),), "b": (("y", 3),)})
    with pytest.raises(ConfigError, match=r"grids.g.views.a.x: must be a whole number above 0"):
        Grid("g", 0, {"a": (("x", 0),)})
    with pytest.raises(ConfigError, match="its ranks are 2 to 5; got 6"):
        Grid("g", 2, {"a": (("x", 4),)}).coordinates(6)
    with pytest.raises(ConfigError, match="no view is named 'dens'; did you mean 'dense'"):
        grid_of(tp=2).coordinates(0, "dens")
    with pytest.raises(ConfigError, match="x is 0 to 3; got 4"):
        Grid("g", 0, {"a": (("x", 4),)}).rank({"x": 4})
    with pytest.raises(ConfigError, match="'where' cuts y, no axis of the group"):
        grid = Grid("g", 0, {"a": (("x", 4), ("y", 2))})
        grid.count(Group("a", ("x",), {"y": (0,)}))


def test_peers_are_parsed_once() -> None:
    assert parse_peer("decode:tp=3,pp-1") is parse_peer("decode:tp=3,pp-1")
