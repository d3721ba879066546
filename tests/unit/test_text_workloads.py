"""Text workloads: the exact graph of each policy, what is refused and how, and the command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from yantra import chakra
from yantra.base.errors import ConfigError
from yantra.chakra import NodeType, Trace
from yantra.cli import main
from yantra.workloads.importers.layer_text import (
    Workload,
    convert,
    convert_upstream,
    parse,
    parse_dims,
)
from yantra.workloads.importers.layer_text.loops import Settings, trace
from yantra.workloads.importers.layer_text.split import Split

Captured = pytest.CaptureFixture[str]

LINE = "{} -1 1 {} 2 1 ALLREDUCE 3 1 ALLREDUCE 4 0"
TRANSFORMER = "HYBRID_TRANSFORMER model_parallel_NPU_group: 4"
RECOMPUTING = (
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 4 "
    "checkpoints: 1 0 checkpoint_initiates: 1 2"
)
NAMES = {"FWD": "F", "BWD_IG": "I", "BWD_WG": "W", "FWD_IN_BCKWD": "R"}
FORWARD = "aF, aFc<aF, bF<aFc, bFc<bF, cF<bFc, cFc<cF"
BACKWARD = (
    "cI<cFc, cIc<cI, cW<cI, cWc<cW, bI<cW cIc, bIc<bI, bW<bI, bWc<bW, aI<bW bIc, aW<aI, aWc<aW"
)

# Layers a, b, c: computations F, I, W and R (again), each with its collectives under a c.
GRAPHS = {
    "MICRO": "aWc, bWc, cWc",
    "DATA": "aF, bF<aF, cF<bF, cW<cF, cWc<cW, cI<cW, bW<cI, bWc<bW, bI<bW, aW<bI, aWc<aW",
    "MODEL": f"{FORWARD}, cI<cFc, cIc<cI, cW<cI, bI<cW cIc, bIc<bI, bW<bI, aI<bW bIc, aW<aI",
    "HYBRID_DATA_MODEL": f"{FORWARD}, {BACKWARD}",
    "HYBRID_MODEL_DATA": f"{FORWARD}, {BACKWARD}",
    "HYBRID_DLRM 0": (
        "aF, aFc<aF, bF<aFc, cF<bF, cW<cF, cWc<cW, cI<cW, bW<cI, bWc<bW, bI<bW, aIc<bI, aW<bI, "
        "aWc<aW"
    ),
    "HYBRID_DLRM 1": (
        "aF, aFc<aF, bF<aF, cF<bF aFc, cW<cF, cWc<cW, cI<cW, aIc<cI, bW<cI, bWc<bW, bI<bW, aW<bI, "
        "aWc<aW"
    ),
    TRANSFORMER: f"{FORWARD}, {BACKWARD}".replace("aW<aI", "aIc<aI, aW<aI"),
    RECOMPUTING: (
        f"{FORWARD}, aR<cFc, aRc<aR, bR<aRc, bRc<bR, "
        + BACKWARD.replace("cI<cFc", "cI<bRc").replace("aW<aI", "aIc<aI, aW<aI")
    ),
    "DISTRIBUTED_INFERENCE": FORWARD,
}

NEXT = {
    "DATA": "aF<aWc, bF<aF bWc, cF<bF cWc",
    "MODEL": "aF<aW, aFc<aF, bF<aFc",
    "HYBRID_DATA_MODEL": "aF<aWc, aFc<aF, bF<aFc bWc, bFc<bF, cF<bFc cWc",
    "HYBRID_DLRM 1": "aF<aIc aWc, aFc<aF, bF<aF bWc, cF<bF aFc cWc",
    "HYBRID_DLRM_ENHANCED 1": "aF<aWc, aFc<aF, bF<aF bWc, cF<bF aFc cWc",
    TRANSFORMER: "aF<aIc aWc, aFc<aF, bF<aFc bWc, bFc<bF, cF<bFc cWc",
    "DISTRIBUTED_INFERENCE": "aF<cFc, aFc<aF, bF<aFc",
}

# The same by upstream's converter, for two passes of two or three layers.
UPSTREAM = {
    "MICRO": "aWc, bWc, aWc, bWc",
    "DATA": (
        "aF, bF<aF, bW<bF, bWc<bW, bI<bW, aW<bI, aWc<aW, "
        "aF<aWc, bF<aF bWc, bW<bF, bWc<bW, bI<bW, aW<bI, aWc<aW"
    ),
    "MODEL": (
        "aF, aFc<aF, bF<aFc, bFc<bF, bI<bFc, bIc<bI, bW<bI, aI<bW bIc, aW<aI, "
        "aF<aW, aFc<aF, bF<aFc bW, bFc<bF, bI<bFc, bIc<bI, bW<bI, aI<bW bIc, aW<aI"
    ),
    "HYBRID_MODEL_DATA": (
        "aF, aFc<aF, bF<aFc, bFc<bF, bI<bFc, bIc<bI, bW<bI, bWc<bW, aI<bW bIc, aW<aI, aWc<aW, "
        "aF<aWc, aFc<aF, bF<bWc aFc, bFc<bF, bI<bFc, bIc<bI, bW<bI, bWc<bW, aI<bW bIc, aW<aI, "
        "aWc<aW"
    ),
    "HYBRID_DLRM 1": (
        "aF, aFc<aF, bF<aF aFc, bFc<bF, cF<bF, cFc<cF, cW<cF, cWc<cW, cI<cW, aIc<cI, bW<cI, "
        "bWc<bW, bI<bW, aW<bI aIc, aWc<aW, "
        "aF<aWc, aFc<aF, bF<bWc aF aFc, bFc<bF, cF<cWc bF, cFc<cF, cW<cF, cWc<cW, cI<cW, aIc<cI, "
        "bW<cI, bWc<bW, bI<bW, aW<bI aIc, aWc<aW"
    ),
}


def workload(head: str, layers: str = "abc", extra: str = "") -> Workload:
    embedding = "ALLTOALL" if "DLRM" in head else "ALLGATHER"
    lines = [LINE.format(name, embedding) + extra for name in layers]
    return parse("\n".join([head, str(len(layers)), *lines]), "w.txt")


def edges(graph: Trace, names: dict[int, str]) -> str:
    parts = []
    for node in graph:
        waits = " ".join(names[parent] for parent in node.data_deps)
        parts.append(f"{names[node.id]}<{waits}" if waits else names[node.id])
    return ", ".join(parts)


def short_names(graph: Trace) -> dict[int, str]:
    names = {}
    for node in graph:
        comm = node.type is NodeType.COMM_COLL
        words = node.name.split("_")[3 if comm else 2 :]
        phase = "_".join(words[1:-1] if comm else words[1:])
        names[node.id] = words[0] + NAMES[phase] + ("c" if comm else "")
    return names


def default_graph(given: Workload, passes: int = 1, **settings: bool) -> str:
    graph = trace(given, Split(given, 8, (4, 2)), 0, Settings(passes, **settings))
    return edges(graph, short_names(graph))


@pytest.mark.parametrize("head", GRAPHS)
def test_a_policy_has_this_graph(head: str) -> None:
    assert default_graph(workload(head)) == GRAPHS[head]


@pytest.mark.parametrize("head", NEXT)
def test_the_next_pass_waits_for_this(head: str) -> None:
    one, two = (default_graph(workload(head), passes) for passes in (1, 2))
    assert two.removeprefix(one + ", ").startswith(NEXT[head])


def test_a_blocking_transformer_waits_before_its_weight_gradients() -> None:
    blocking = default_graph(workload(TRANSFORMER), blocking_gradients=True)
    assert "cI<cFc, cIc<cI, cW<cIc, cWc<cW, bI<cW, bIc<bI, bW<bIc" in blocking


def test_a_customized_workload_splits_layer_by_layer() -> None:
    lines = [
        LINE.format(name, "ALLGATHER") + f" {policy}"
        for name, policy in zip("abc", ("DATA", "MODEL", "HYBRID_MODEL_DATA"), strict=True)
    ]
    given = parse("\n".join(["HYBRID_CUSTOMIZED", "3", *lines]), "w.txt")
    graph = trace(given, Split(given, 8, (4, 2)), 0, Settings())
    masks = {
        short_names(graph)[node.id]: node["involved_dim"]
        for node in graph
        if node.type is NodeType.COMM_COLL
    }
    both, inner, outer = (True, True), (True, False), (False, True)
    assert masks == {
        "bFc": both,
        "cFc": outer,
        "cIc": outer,
        "cWc": inner,
        "bIc": both,
        "aWc": both,
    }


def upstream_graph(head: str, folder: Path, rank: int) -> tuple[str, Trace]:
    embedding = "ALLTOALL" if "DLRM" in head else "ALLGATHER"
    layers = "abc" if "DLRM" in head else "ab"
    lines = [LINE.format(name, embedding) for name in layers]
    (folder / "w.txt").write_text("\n".join([head, str(len(layers)), *lines]))
    convert_upstream(folder / "w.txt", folder / "w", 2, 2)
    graph = chakra.read(folder / f"w.{rank}.et")
    order = {
        "MICRO": "Wc Wc",
        "DATA": "F F W Wc I W Wc",
        "MODEL": "F Fc F Fc I Ic W I W",
        "HYBRID_MODEL_DATA": "F Fc F Fc I Ic W Wc I W Wc",
        "HYBRID_DLRM 1": "F Fc F Fc F Fc W Wc I Ic W Wc I W Wc",
    }[head].split() * 2
    names = {
        node.id: node.name.split("_")[3 if node.type is NodeType.COMM_COLL else 2] + phase
        for node, phase in zip(graph, order, strict=True)
    }
    return edges(graph, names), graph


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("head", UPSTREAM)
def test_upstream_has_this_graph(head: str, rank: int, tmp_path: Path) -> None:
    found, graph = upstream_graph(head, tmp_path, rank)
    assert found == UPSTREAM[head]
    assert graph[0].id == rank * len(graph)
    assert "is_cpu_op" not in graph[0]


def test_upstream_takes_none_for_an_all_reduce_of_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("MODEL\n1\na -1 5 NONE 0 5 NONE 0 5 NONE 0 x more\n")
    convert_upstream(tmp_path / "w.txt", tmp_path / "w", 1, 1)
    exchange = chakra.read(tmp_path / "w.0.et")[1]
    assert (exchange.name, exchange["comm_type"], exchange["comm_size"]) == (
        "COMM_COLL_NODE_a_NONE",
        0,
        0,
    )


def test_none_and_no_bytes_send_nothing() -> None:
    given = parse(
        "MODEL\n2\na 0 5 NONE 9 5 NONE 0 5 NONE 0 7\nb 0 5 ALLREDUCE 0 1 NONE 0 1 NONE 0 7", "w"
    )
    assert default_graph(given) == "aF, bF<aF, bI<bF, bW<bI, aI<bW, aW<aI"


def test_a_combined_type_issues_two_collectives_and_waits_for_both() -> None:
    given = parse(
        "DISTRIBUTED_INFERENCE\n2\n" + "a 0 5 ALLREDUCEALLTOALL 8 0 NONE 0 0 NONE 0 0\n" * 2, "w"
    )
    graph = trace(given, Split(given, 8, None), 0, Settings())
    assert [(node.get("comm_type"), node.data_deps) for node in graph][:4] == [
        (None, []),
        (0, [0]),
        (6, [0]),
        (None, [1, 2]),
    ]


def test_an_update_delays_what_waits_for_its_collective() -> None:
    given = parse("DISTRIBUTED_INFERENCE\n2\n" + "a 0 5 ALLREDUCE 8 0 NONE 0 0 NONE 0 7\n" * 2, "w")
    split = Split(given, 8, None)
    for updates, on_cpu in (("delay", True), ("compute", False)):
        update = trace(given, split, 0, Settings(1, updates=updates))[2]
        assert (update.name, update.duration_micros) == ("COMP_NODE_a_FWD_UPDATE", 7)
        assert (update["is_cpu_op"], update.data_deps) == (on_cpu, [1])
    assert len(trace(given, split, 0, Settings(1, updates="none"))) == 4


@pytest.mark.parametrize(
    ("group", "dims", "model", "data"),
    [
        (4, (4, 4), (True, False), (False, True)),
        (4, (2, 2, 4), (True, True, False), (False, False, True)),
        (16, (4, 4), (True, True), None),
        (1, (4, 4), None, (True, True)),
    ],
)
def test_a_group_on_a_boundary_is_dimensions(
    group: int, dims: tuple[int, ...], model: object, data: object
) -> None:
    given = workload(TRANSFORMER.replace("4", str(group)))
    split = Split(given, 16, dims)
    scopes = [split.scope(0, side) for side in ("model", "data")]
    assert [scope and scope.involved for scope in scopes] == [model, data]
    assert not split.groups


@pytest.mark.parametrize("dims", [None, (16,), (2, 8), (8, 2)])
def test_a_group_elsewhere_is_a_communicator(dims: tuple[int, ...] | None, tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text(workload(TRANSFORMER).text)
    done = convert(tmp_path / "w.txt", tmp_path / "w", 16, dims=dims)
    assert done.groups is not None
    groups = json.loads(Path(done.groups).read_text())
    assert groups["2"] == [4, 5, 6, 7] and groups["6"] == [1, 5, 9, 13]
    for rank, name in enumerate(done.traces):
        used = {node.get("pg_name") for node in chakra.read(name)} - {None}
        assert used == {key for key, members in groups.items() if rank in members}


REFUSED = {
    "": "w.txt: is empty",
    "HYBRID_TRANSFOMER 4\n1\n": "w.txt:1: expected a parallelisation keyword, got "
    "\"HYBRID_TRANSFOMER\"; did you mean 'HYBRID_TRANSFORMER'?",
    "DATA\n": "w.txt: ends after its first line",
    "DATA\nx\n": "w.txt:2: expected number of layers",
    "DATA\n2 3\n": "w.txt:2: expected the number of layers alone",
    "DATA\n0\n": "w.txt:2: expected at least 1 layer",
    "DATA 3\n1\n" + LINE.format("a", "NONE"): "w.txt:1: DATA takes nothing more here",
    "DATA\n2\n" + LINE.format("a", "NONE"): "w.txt: expected 2 layers, as line 2 says, got 1",
    "DATA\n1\na -1 5 NONE": "w.txt:3: expected 12 columns, got 4",
    "DATA\n1\n" + LINE.format("a", "NONE") + " MODEL": "needs the keyword HYBRID_CUSTOMIZED",
    "DATA\n1\n" + LINE.format("a", "ALREDUCE"): "w.txt:3: column 4: expected the forward "
    "communication, got \"ALREDUCE\"; did you mean 'ALLREDUCE'?",
    "DATA\n1\n" + LINE.format("a", "ALLGATHER_EP"): "a workload of SimAI",
    "DATA\n1\na -1 1.5 NONE 0 1 NONE 0 1 NONE 0 0": "w.txt:3: column 3: expected forward time",
    "DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE -4 0": "w.txt:3: column 11",
    "DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 4 soon": "w.txt:3: column 12: expected update time",
    "HYBRID_CUSTOMIZED\n1\n" + LINE.format("a", "NONE") + " DATE": "did you mean 'DATA'?",
    "HYBRID_CUSTOMIZED\n1\n" + LINE.format("a", "NONE") + " HYBRID_TRANSFORMER": "group size",
    "HYBRID_CUSTOMIZED\n1\n" + LINE.format("a", "NONE") + " HYBRID_CUSTOMIZED": "of its own",
    "HYBRID_CUSTOMIZED\n1\n" + LINE.format("a", "NONE"): "w.txt:3: expected 13 columns, got 12",
    "HYBRID_DLRM\n1\n" + LINE.format("a", "NONE"): "w.txt:1: the line ends; expected number of the",
    "HYBRID_DLRM 1\n2\n" + (LINE.format("a", "NONE") + "\n") * 2: "from 0 to 0, with a top layer",
    "HYBRID_TRANSFORMER\n1\n" + LINE.format("a", "NONE"): "expected model_parallel_NPU_group:",
    "HYBRID_TRANSFORMER model_parallel_NPU_grop: 4\n1\n" + LINE.format("a", "NONE"): "did you mean",
    "HYBRID_TRANSFORMER model_parallel_NPU_group: 0\n1\n" + LINE.format("a", "NONE"): "at least 1",
    f"{TRANSFORMER} ep: 1 pp: 2\n1\n" + LINE.format("a", "NONE"): "a workload of SimAI",
    RECOMPUTING.replace("2", "7") + "\n1\n" + LINE.format("a", "NONE"): "layers from 0 to 0",
    RECOMPUTING.replace(": 1 2", ": 9 2") + "\n1\n" + LINE.format("a", "NONE"): "at most 1 layers",
    RECOMPUTING.replace("1 0", "0")
    + "\n3\n"
    + (LINE.format("a", "NONE") + "\n") * 3: "no checkpoint",
    RECOMPUTING.replace("1 0", "1 2") + "\n3\n" + (LINE.format("a", "NONE") + "\n") * 3: "itself",
    RECOMPUTING.replace("1 2", "2 1 2")
    + "\n3\n"
    + (LINE.format("a", "NONE") + "\n") * 3: "layers 1 and 2 both recompute from checkpoint 0",
}


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_a_mistake_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "w.txt")
    assert REFUSED[text] in str(caught.value)


@pytest.mark.parametrize(
    ("ranks", "dims", "problem"),
    [
        (8, (4, 4), "4x4 makes 16 ranks, but the ranks are 8"),
        (6, None, "a number that divides 6 ranks, got 4"),
        (0, None, "ranks: expected at least 1"),
        (None, None, "give the number of ranks"),
        (None, (4, 0), "sizes of at least 1"),
    ],
)
def test_ranks_that_do_not_fit_are_refused(
    ranks: int | None, dims: tuple[int, ...] | None, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "w.txt").write_text(workload(TRANSFORMER).text)
    with pytest.raises(ConfigError, match=problem):
        convert(tmp_path / "w.txt", tmp_path / "w", ranks, dims=dims)
    assert os.listdir(tmp_path) == ["w.txt"]


def test_a_split_by_dimensions_needs_their_sizes(tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text(workload("HYBRID_DATA_MODEL").text)
    with pytest.raises(ConfigError, match="give their sizes"):
        convert(tmp_path / "w.txt", tmp_path / "w", 8)


def test_a_split_of_one_dimension_has_one_side(tmp_path: Path) -> None:
    for head, left in (("HYBRID_DATA_MODEL", "BWD_WG"), ("HYBRID_MODEL_DATA", "FWD")):
        given = workload(head)
        graph = trace(given, Split(given, 8, (8,)), 0, Settings())
        collectives = [node.name for node in graph if node.type is NodeType.COMM_COLL]
        assert collectives and not any(left in name for name in collectives)


@pytest.mark.parametrize("text", ["", "4x", "x", "4,4", "-4", "4x4x", "١"])
def test_dims_are_sizes(text: str) -> None:
    with pytest.raises(ConfigError, match="8x8x4"):
        parse_dims(text)


UPSTREAM_REFUSES = {
    "HYBRID_TRANSFORMER\n1\n": "without --compat upstream",
    "DATE\n1\n": "did you mean 'DATA'?",
    "DATA": "the file ends",
    "DATA\nx\n": "a whole number",
    "DATA\n1\na -1 5\n": "w.txt:3: expected a layer of at least 12 columns, got 3",
    "DATA\n1\n" + LINE.format("a", "NONE") + "\n\n": "w.txt:4",
    "HYBRID_DLRM\n1\n": "the last bottom layer",
    "HYBRID_DLRM 0\n1\n" + LINE.format("a", "NONE"): "must be above 0",
    "HYBRID_DLRM 1\n2\n" + LINE.format("a", "NONE") + "\n" + LINE.format("b", "NONE"): "ALLTOALL",
    "MODEL\n1\n" + LINE.format("a", "NONE") + "\n" + LINE.format("b", "NONE"): "correct line 2",
    "DATA\n1\na -1 -5 NONE 0 1 NONE 0 1 NONE 0 0": "no unsigned number",
    "MICRO\n1\na -1 5 NONE 0 1 NONE 0 1 NONE 9999999999999999999 0": "no 64-bit number",
}


@pytest.mark.parametrize("text", UPSTREAM_REFUSES, ids=range(len(UPSTREAM_REFUSES)))
def test_what_upstream_fails_on_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text(text)
    with pytest.raises(ConfigError) as caught:
        convert_upstream(tmp_path / "w.txt", tmp_path / "w", 2, 1)
    assert UPSTREAM_REFUSES[text] in str(caught.value)
    assert os.listdir(tmp_path) == ["w.txt"]


def test_the_command_writes_traces_and_groups(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "w.txt").write_text(workload(TRANSFORMER).text)
    arguments = ["chakra", "convert", "text", str(tmp_path / "w.txt"), "-o", str(tmp_path / "o/w")]
    assert main([*arguments, "--dims", "8x2"]) == 0
    assert f"wrote 16 traces of 18 nodes: {tmp_path}/o/w.RANK.et" in capsys.readouterr().out
    assert len(list((tmp_path / "o").glob("w.*.et"))) == 16
    assert (tmp_path / "o/w.groups.json").exists()
    assert main([*arguments, "--ranks", "3"]) == 2
    assert "divides 3 ranks" in capsys.readouterr().err


def test_the_command_tells_what_is_left_out(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "w.txt").write_text(workload("DATA").text)
    arguments = ["chakra", "convert", "text", str(tmp_path / "w.txt"), "-o", str(tmp_path / "w")]
    assert main([*arguments, "--ranks", "2", "--passes", "2"]) == 0
    assert "the forward communication of a and 2 more layers is left out" in capsys.readouterr().err


def test_the_command_has_upstreams_output(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "w.txt").write_text(workload("DATA").text)
    convert_upstream(tmp_path / "w.txt", tmp_path / "u", 2, 1)
    arguments = ["chakra", "convert", "text", str(tmp_path / "w.txt"), "-o", str(tmp_path / "w")]
    assert main([*arguments, "--ranks", "2", "--compat", "upstream"]) == 0
    assert (tmp_path / "w.1.et").read_bytes() == (tmp_path / "u.1.et").read_bytes()
    capsys.readouterr()
    assert main([*arguments, "--ranks", "2", "--compat", "upstream", "--dims", "2"]) == 2
    assert "leave the option out" in capsys.readouterr().err
    assert main([*arguments, "--compat", "upstream"]) == 2
