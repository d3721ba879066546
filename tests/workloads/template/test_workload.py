"""A template means for each rank what building its trace directly gives."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.small_workloads import direct, standard
from yantra import chakra
from yantra.base.errors import ConfigError, TraceError
from yantra.chakra import Attribute, Node, NodeType, Trace
from yantra.workloads.templates import RankClass, Workload, load
from yantra.workloads.templates.expand import expand, parse_ranks
from yantra.workloads.templates.grid import Grid, Group, grid_of

SHAPES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))


@given(SHAPES, st.integers(0, 99), st.booleans())
def test_the_trace_of_a_rank_is_what_direct_construction_gives(
    shape: tuple[int, int, int], seed: int, serial: bool
) -> None:
    workload = standard(*shape, seed=seed)
    for rank in range(workload.ranks):
        trace = workload.trace(rank, "serial" if serial else "streams")
        assert list(trace) == list(direct(workload, rank, seed, serial=serial))


def test_a_saved_workload_comes_back_equal_and_in_equal_bytes(tmp_path: Path) -> None:
    workload = standard(2, 3, 2)
    workload.save(tmp_path / "a.yw")
    again = load(tmp_path / "a.yw")
    again.save(tmp_path / "b.yw")
    assert (tmp_path / "a.yw").read_bytes() == (tmp_path / "b.yw").read_bytes()
    assert (again.grids, again.groups, again.classes) == (
        workload.grids,
        workload.groups,
        workload.classes,
    )
    assert again.communicators() == workload.communicators()
    assert again.totals == workload.totals
    assert all(again.trace(rank) == workload.trace(rank) for rank in range(12))


@pytest.mark.parametrize("ordering", ["serial", "streams"])
def test_expanded_files_are_the_traces_of_the_ranks(tmp_path: Path, ordering: str) -> None:
    workload = standard(2, 2, 2, seed=5)
    done = []
    told = lambda at, of: done.append((at, of))  # noqa: E731
    expand(workload, tmp_path, None, ordering, "w", told, "astra-sim")  # type: ignore[arg-type]
    assert done == [(at, 8) for at in range(8)]
    for rank in range(8):
        assert chakra.read(tmp_path / f"w.{rank}.et") == workload.trace(rank, ordering)  # type: ignore[arg-type]
    groups = json.loads((tmp_path / "comm_group.json").read_text())
    assert {int(key): tuple(ranks) for key, ranks in groups.items()} == workload.communicators()
    assert list(map(int, groups)) == list(range(1, len(groups) + 1))
    assert all(len(ranks) > 1 for ranks in groups.values())


def test_only_the_ranks_asked_for_are_expanded(tmp_path: Path) -> None:
    standard(2, 2, 2).expand(tmp_path, parse_ranks("6,0-1", 8))
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["comm_group.json", *(f"workload.{rank}.et" for rank in (0, 1, 6))]


RANKS = {
    "": 'ranks: expected ranks such as 0,7-15, got ""',
    "1-": 'ranks: expected ranks such as 0,7-15, got "1-"',
    "3-2": "ranks: 3-2 runs backwards",
    "0,8": "ranks: expected 0 to 7, got 8",
    "0-99999999999999999": "ranks: expected 0 to 7, got 99999999999999999",
    "9" * 30: "ranks: expected ranks such as 0,7-15",
}


@pytest.mark.parametrize("text", RANKS)
def test_wrong_lists_of_ranks_are_named(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_ranks(text, 8)
    assert str(caught.value).startswith(RANKS[text])


def test_the_serial_order_is_that_of_the_file_and_leaves_messages_out() -> None:
    workload = standard(2, 2, 2, seed=1, nodes=30)
    trace = workload.trace(0, "serial")
    chain = [node for node in trace if node.type == NodeType.COMM_COLL]
    for before, after in pairwise(chain):
        assert before.id in (*after.data_deps, *after.ctrl_deps)
    plain = {node.id: node for node in workload.trace(0, "streams")}
    for node in trace:
        if node.type != NodeType.COMM_COLL:
            assert node == plain[node.id]


def test_the_communicators_of_a_hundred_thousand_ranks_are_numbered_without_listing_them() -> None:
    grid = grid_of(tp=8, cp=16, dp=64, pp=16)
    groups = {"tp": Group("dense", ("tp",)), "dp_cp": Group("dense", ("cp", "dp"))}
    made = Trace([Node(0, "c", NodeType.COMM_COLL, 0, (), (), {"pg_name": "dp_cp"})])
    workload = Workload(
        grids=[grid], groups=groups, classes=[RankClass("train", {}, "t")], templates={"t": made}
    )
    assert workload.ranks == 131_072
    last = workload.meaning(131_071)
    assert last.groups == {"dp_cp": 131_072 // 8 + 8 * 16}
    assert workload.communicators()[last.groups["dp_cp"]][-1] == 131_071


def test_the_first_class_that_matches_counts() -> None:
    grid = grid_of(tp=2, dp=2, pp=3)
    blank = Trace([Node(0)])
    workload = Workload(
        grids=[grid],
        groups={},
        classes=[
            RankClass("train", {"pp": 0, "tp": 1}, "a"),
            RankClass("train", {"pp": [0, 1]}, "b"),
            RankClass("train", {}, "c"),
        ],
        templates={"a": blank, "b": blank, "c": blank},
    )
    assert [workload.class_of(rank).template for rank in range(12)] == list("bababbbbcccc")
    assert workload.ranks_of_template() == {"a": 2, "b": 6, "c": 4}


def test_two_grids_and_peers_between_them() -> None:
    prefill = Grid("prefill", 0, {"dense": (("tp", 2),)})
    decode = Grid("decode", 2, {"dense": (("tp", 4),)})
    ends = {"is_cpu_op": False, "comm_size": 8, "comm_tag": 0}
    send = Trace(
        [Node(0, "s", NodeType.COMM_SEND, 0, (), (), {**ends, "comm_peer": "decode:tp=3"})]
    )
    workload = Workload(
        grids=[prefill, decode],
        groups={"tp": Group("dense", ("tp",), grid="decode")},
        classes=[RankClass("prefill", {}, "p"), RankClass("decode", {}, "d")],
        templates={"p": send, "d": Trace([Node(0)])},
    )
    (node,) = workload.trace(1)
    assert (node["comm_src"], node["comm_dst"]) == (1, 5)
    assert workload.communicators() == {1: (2, 3, 4, 5)}


def test_what_a_trace_says_besides_is_kept() -> None:
    doc = Attribute("note", "x", doc="about this")
    node = Node(
        0, "c", NodeType.COMM_COLL, 0, (), (), [doc, Attribute("pg_name", "tp", doc="d"), doc]
    )
    workload = Workload(
        grids=[grid_of(tp=2)],
        groups={"tp": Group("dense", ("tp",))},
        classes=[RankClass("train", {}, "t")],
        templates={"t": Trace([node], chakra.Metadata("v", (doc,)))},
    )
    trace = workload.trace(1)
    assert trace.metadata == chakra.Metadata("v", (doc,))
    assert trace[0].attributes == [doc, Attribute("pg_name", "1", doc="d"), doc]


def _one(
    groups: dict[str, Group], attributes: dict[str, object], type: NodeType = NodeType.COMM_COLL
) -> Workload:
    return Workload(
        grids=[grid_of(tp=2, pp=2)],
        groups=groups,
        classes=[RankClass("train", {}, "t")],
        templates={"t": Trace([Node(0, "n", type, 0, (), (), attributes)])},  # type: ignore[arg-type]
    )


def test_names_that_mean_nothing_are_named() -> None:
    tp = {"tp": Group("dense", ("tp",))}
    with pytest.raises(ConfigError) as caught:
        _one(tp, {"pg_name": "tq"}).trace(0)
    assert str(caught.value) == (
        "workload: templates/t.et: the manifest has no group 'tq'; it has tp"
    )
    first = {"pp": Group("dense", ("pp",), {"pp": (0, 1)}, "train")}
    assert _one(first, {"pg_name": "pp"}).meaning(0).groups == {"pp": 1}
    with pytest.raises(ConfigError, match="the peer 'pp=0' of rank 0 is the rank itself"):
        _one({}, {"comm_peer": "pp=0"}, NodeType.COMM_SEND).trace(0)
    with pytest.raises(ConfigError, match="no axis is named 'pq'"):
        _one({}, {"comm_peer": "pq+1"}, NodeType.COMM_SEND).trace(0)
    with pytest.raises(ConfigError, match=r"rank: expected 0 to 3, got 4"):
        _one({}, {}).trace(4)
    with pytest.raises(ConfigError, match='expected one of serial, streams, got "parallel"'):
        _one({}, {}).trace(0, "parallel")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="none is named 'u'"):
        _one({}, {}).template("u")


def test_a_rank_in_no_group_of_the_name_is_named() -> None:
    groups = {"ends": Group("dense", ("pp",), {"pp": (0, 2)})}
    node = Node(0, "n", NodeType.COMM_COLL, 0, (), (), {"pg_name": "ends"})
    workload = Workload(
        grids=[grid_of(pp=3)],
        groups=groups,
        classes=[RankClass("train", {}, "t")],
        templates={"t": Trace([node])},
    )
    with pytest.raises(ConfigError, match="rank 1 is in no group 'ends'"):
        workload.trace(1)


def test_a_template_that_is_no_trace_is_named() -> None:
    workload = Workload(
        grids=[grid_of(tp=2)],
        groups={},
        classes=[RankClass("train", {}, "t")],
        templates={"t": b"no trace"},
    )
    with pytest.raises(TraceError, match=r"workload: templates/t.et: byte"):
        workload.trace(0)


PARTS = {
    "no grids": (
        {"grids": [], "classes": [], "templates": {}},
        "grids: expected at least one, got none",
    ),
    "two grids of a name": (
        {"grids": [grid_of(tp=2), grid_of(tp=2, first_rank=2)]},
        "grids: two have the same name",
    ),
    "a gap": (
        {"grids": [grid_of(tp=2, first_rank=1)]},
        "grids.train.first_rank: expected 0, as grids follow each other; got 1",
    ),
    "a group of one": (
        {"groups": {"dp": Group("dense", ("dp",))}},
        "groups.dp: has groups of one rank, which communicate nothing",
    ),
    "a group of no grid": (
        {"groups": {"tp": Group("dense", ("tp",), grid="trainn")}},
        "groups.tp.grid: no grid is named 'trainn'; did you mean 'train'?",
    ),
    "a group of no view": (
        {"groups": {"tp": Group("dens", ("tp",))}},
        "groups.tp: no view is named 'dens'; did you mean 'dense'?",
    ),
    "a group name that is a number": (
        {"groups": {"1": Group("dense", ("tp",))}},
        'groups: expected a name of letters and digits, got "1"',
    ),
    "ranks of no class": (
        {"classes": [RankClass("train", {"tp": 0}, "t")]},
        "classes: none matches rank 1 of grid 'train' (tp=1)",
    ),
    "a class of no grid": (
        {"classes": [RankClass("trani", {}, "t")]},
        "classes[0].grid: no grid is named 'trani'; did you mean 'train'?",
    ),
    "a class of no template": (
        {"classes": [RankClass("train", {}, "tt")]},
        "classes[0].template: there is no templates/tt.et",
    ),
    "a class of no axis": (
        {"classes": [RankClass("train", {"tq": 0}, "t")]},
        "classes: no axis is named 'tq'",
    ),
    "a class out of range": (
        {"classes": [RankClass("train", {"tp": 2}, "t")]},
        "classes[0].select.tp: expected 0 to 1, got 2",
    ),
    "a template of no class": (
        {"templates": {"t": b"", "u": b""}},
        "classes: none runs templates/u.et",
    ),
    "a bad template name": (
        {"templates": {"t": b"", "../u": b""}},
        "templates: expected letters, digits, '_', '.' and '-', got \"../u\"",
    ),
    "a section nobody knows": (
        {"sections": {"notse": ""}},
        "sections.notse: unknown section; did you mean 'notes'?",
    ),
}


@pytest.mark.parametrize("why", PARTS)
def test_parts_that_do_not_fit_are_refused(why: str) -> None:
    parts = {
        "grids": [grid_of(tp=2)],
        "groups": {},
        "classes": [RankClass("train", {}, "t")],
        "templates": {"t": b""},
    }
    change, text = PARTS[why]
    with pytest.raises(ConfigError) as caught:
        Workload(**(parts | change))  # type: ignore[arg-type]
    assert str(caught.value).startswith(text)


def test_totals_count_what_the_nodes_say() -> None:
    attributes = {"num_ops": 10, "tensor_size": 4, "op_class": "gemm", "phase": "forward"}
    made = [
        Node(0, attributes=attributes | {"act_alloc": 100}),
        Node(1, attributes=attributes | {"act_alloc": 20, "act_free": 100}),
        Node(
            2, "c", NodeType.COMM_COLL, attributes={"comm_type": 2, "comm_size": 7, "pg_name": "tp"}
        ),
        Node(3, "s", NodeType.COMM_SEND, attributes={"comm_size": 5, "comm_peer": "pp+1"}),
    ]
    workload = Workload(
        grids=[grid_of(tp=2, pp=2)],
        groups={"tp": Group("dense", ("tp",))},
        classes=[RankClass("train", {}, "t")],
        templates={"t": Trace(made)},
    )
    assert workload.totals["t"] == {
        "nodes": 4,
        "compute": [["gemm", "forward", 2, 20, 8]],
        "communication": [["send", "", 1, 5], ["all_gather", "tp", 1, 7]],
        "activations": {"peak_bytes": 120, "over_time": [100, 120, 20, 20]},
    }
