"""Converting one rank: nodes and attributes, CPU collectives, batches; and the command lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.linked_jobs import Rank, io, record, tensor
from yantra.base.errors import TraceError
from yantra.chakra import CollectiveType, Kind, Node, NodeType, Trace, read
from yantra.cli import main
from yantra.cli.upstream import converter
from yantra.run.simulate import simulate
from yantra.scenario import load
from yantra.tracing.pytorch import linked_file
from yantra.tracing.pytorch.convert import ConvertOptions, convert_job, convert_linked
from yantra.tracing.pytorch.linked import Linked, ProcessGroup
from yantra.workloads import templates as workloads

PAIR = ProcessGroup("0", "default_pg", "gloo", [0, 1])


def named(trace: Trace, name: str) -> Node:
    (node,) = [node for node in trace if node.name == name and "part" not in node]
    return node


# ------------------------------------------------------------------------------ nodes


def test_nodes_carry_what_upstream_writes_and_exact_times() -> None:
    rank = Rank(0, 1)
    rank.now = 1234
    matrices = io(
        (tensor(6), "Tensor(float)"), (tensor(15), "Tensor(float)"), shapes=[[2, 3], [3, 5]]
    )
    mm = rank.operator("aten::mm", 1, 2500, inputs=matrices, rf_id=9, op_schema="mm(x)", scope=0)
    rank.launch("gemm", mm, 1700)
    trace = convert_linked(rank.linked)
    node, kernel = named(trace, "aten::mm"), named(trace, "gemm")
    kinds = [(item.name, item.kind) for item in node.attributes]
    assert kinds[:9] == [
        *((n, Kind.INT64) for n in ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid")),
        ("op_schema", Kind.STRING),
        ("is_cpu_op", Kind.BOOL),
        ("stream", Kind.INT64),
    ]
    assert (node["rf_id"], node["op_schema"], node["num_ops"]) == (9, "mm(x)", 60)
    assert (node["start_time_ns"], node.start_micros) == (1234, 1)
    assert (kernel["start_time_ns"], kernel["duration_ns"]) == (2234, 1700)
    assert (kernel["is_cpu_op"], kernel["stream"], kernel["num_ops"]) == (False, 7, 60)
    assert kernel.inputs == node.inputs and node.inputs is not None
    assert node.inputs.types == "['Tensor(float)', 'Tensor(float)']"
    about = {item.name: item.value for item in trace.metadata.attributes}
    assert about["schema"] == "1.1.1-chakra.0.0.4" and about["finish_ts"] == 2
    assert (about["rank"], about["world_size"]) == (0, 1)


def test_copies_are_computations_or_memory_nodes() -> None:
    rank = Rank(0, 1)
    for name in ("Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)", "Memset"):
        op = rank.launch(name, rank.operator("aten::copy_", 1, 900), 100, cat="gpu_memcpy")
        op.bytes = 512
        rank.now += 900
    usual = convert_linked(rank.linked)
    assert {n.type for n in usual if n.get("tensor_size") == 512} == {NodeType.COMP}
    typed = convert_linked(rank.linked, ConvertOptions(memory_nodes=True))
    types = [n.type for n in typed if n.get("tensor_size") == 512]
    assert types == [NodeType.MEM_LOAD, NodeType.MEM_STORE, NodeType.COMP]


def test_gaps_are_nodes_unless_left_out() -> None:
    rank = Rank(0, 1)
    rank.compute()
    rank.now += 50_000
    rank.compute()
    with_gaps = convert_linked(rank.linked)
    without = convert_linked(rank.linked, ConvertOptions(gaps=False))
    assert any(node.get("part") == "delay" for node in with_gaps)
    assert not any(node.get("part") == "delay" for node in without)


@pytest.mark.parametrize(
    ("exact", "kind"), [(False, CollectiveType.ALL_REDUCE), (True, CollectiveType.REDUCE)]
)
def test_a_reduce_is_written_as_what_astra_sim_runs(exact: bool, kind: CollectiveType) -> None:
    rank = Rank(0, 2, [PAIR])
    rank.talk("reduce", "0", 10, 1)
    trace = convert_linked(rank.linked, ConvertOptions(exact_collectives=exact))
    (node,) = [node for node in trace if node.type is NodeType.COMM_COLL]
    assert (node["comm_type"], node["comm_name"], node["pg_name"]) == (kind, "reduce", "0")


def test_a_batch_becomes_several_nodes_that_all_must_end() -> None:
    rank = Rank(1, 3, [ProcessGroup("0", "", "nccl", [0, 1, 2])])
    for name, peer in (("recv", 0), ("send", 2), ("send", 0)):
        text = record(name, 8, "0", 9, peer)
        rank.operator("record_param_comms", 1, 4, inputs=text)
        rank.now += 5
    rank.launch("ncclDevKernel_SendRecv", rank.operator("nccl:coalesced", 1, 900), 7000)
    rank.now += 900
    rank.synchronize()
    trace = convert_linked(rank.linked)
    parts = [node for node in trace if node.name == "ncclDevKernel_SendRecv"]
    assert [(n.type.name, n["comm_src"], n["comm_dst"]) for n in parts] == [  # type: ignore[union-attr]
        ("COMM_SEND", 1, 2),
        ("COMM_SEND", 1, 0),
        ("COMM_RECV", 0, 1),
    ]
    assert [n.duration_micros for n in parts] == [7, 0, 0]
    (wait,) = [node for node in trace if node.get("part") == "wait"]
    assert {n.id for n in parts} <= set(wait.data_deps)
    assert [node.id for node in trace] == list(range(len(trace)))


def test_uneven_all_to_alls_run_as_what_each_pair_exchanges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    everybody = ProcessGroup("0", "", "nccl", [0, 1, 2, 3])
    matrices = (
        ((0, 9000, 10, 10), (0, 0, 500, 0), (20, 0, 0, 7), (1, 1, 1, 0)),
        ((5, 5, 5, 5), (0, 40, 0, 9), (6000, 7000, 8000, 9), (1, 0, 0, 0)),
    )
    for number in range(4):
        rank = Rank(number, 4, [everybody])
        for at, sent in enumerate(matrices):
            gets = [row[number] for row in sent]
            rank.exchange("0", at, sent[number], gets)
        rank.synchronize()
        linked_file.write(rank.linked, f"linked.{number}.json")
    pairs = [
        (s, d, sent[s][d])
        for sent in matrices
        for s in range(4)
        for d in range(4)
        if s != d and sent[s][d]
    ]
    files = [f"linked.{number}.json" for number in range(4)]
    assert main(["chakra", "convert", "pytorch", *files, "-o", "whole"]) == 0
    assert "2 uneven all-to-alls can be split" in capsys.readouterr().err
    assert main(["chakra", "convert", "pytorch", *files, "--split-all-to-alls", "-o", "out"]) == 0
    assert f"0 collectives, {2 * len(pairs)} sends and receives" in capsys.readouterr().err
    Path("run.yaml").write_text(
        "workload: {traces: 'out.{rank}.et'}\ncluster:\n  device: {compute: recorded}\n  topology:"
        " [{kind: switch, size: 4, bandwidth: 1 GB/s, latency: 0 ns}]\n"
    )
    result = simulate(load("run.yaml"))
    assert result.messages == len(pairs)
    assert result.makespan_ns >= 400 * (9000 + 7000)


# ------------------------------------------------------------------------------ CPU collectives


def gloo(noted: bool) -> Linked:
    rank = Rank(0, 2, [PAIR])
    inputs = io(([tensor(100)], "GenericList[Tensor(float)]"))
    api = rank.operator("c10d::allreduce_", 1, 2000, inputs=inputs)
    if noted:
        text = "{'op':'all_reduce','pg':'0','ranks':[0,1],'bytes':400,'id':3,'async':true}"
        rank.operator(f"chakra::comm|{text}", api.id, 1500, scope=7)
    rank.now += 1000
    body = rank.operator("gloo:all_reduce", 1, 40_000, scope=7)
    body.tid = 2
    rank.now += 1000
    rank.operator("aten::mul", 1, 8000)
    rank.now += 8000
    if noted:
        rank.operator("chakra::wait|{'id':3}", 1, 32_000, scope=7)
    rank.now += 32_000
    rank.operator("aten::add", 1, 5000)
    return rank.linked


@pytest.mark.parametrize("noted", [False, True])
def test_a_cpu_collective_lies_between_who_issued_it_and_who_waits(noted: bool) -> None:
    trace = convert_linked(gloo(noted))
    node = named(trace, "gloo:all_reduce")
    assert (node.type, node["is_cpu_op"], node["comm_size"]) == (NodeType.COMM_COLL, False, 400)
    assert (node.start_micros, node.duration_micros) == (1, 40)
    reach: dict[int, set[int]] = {}
    for one in trace:
        reach[one.id] = {up for parent in one.data_deps for up in {parent, *reach[parent]}}
    assert named(trace, "c10d::allreduce_").id in reach[node.id]
    assert node.id in reach[named(trace, "aten::add").id]
    assert node.id not in reach[named(trace, "aten::mul").id]
    (wait,) = [one for one in trace if one.get("part") == "wait"]
    assert wait.start_micros + wait.duration_micros == 42
    assert wait.duration_micros == 1


def test_a_trace_without_collectives_is_left_as_it_is() -> None:
    from yantra.tracing.pytorch.cpu_collectives import with_cpu_collectives

    rank = Rank(0, 1)
    rank.compute()
    assert with_cpu_collectives(rank.linked) is rank.linked


# ------------------------------------------------------------------------------ refusals


def test_two_traces_of_one_rank_are_refused() -> None:
    with pytest.raises(TraceError, match="rank 0: two of the traces"):
        convert_job([lambda: Rank(0, 2).linked] * 2, lambda rank, pieces: None)


def test_one_rank_stands_for_all_only_alone() -> None:
    sources = [lambda rank=rank: Rank(rank, 2).linked for rank in range(2)]  # type: ignore[misc]
    with pytest.raises(TraceError, match="replicate"):
        convert_job(sources, lambda rank, pieces: None, ConvertOptions(replicate=0))


def _broken(**changes: Any) -> Linked:
    rank = Rank(0, 1)
    rank.compute()
    for name, value in changes.items():
        setattr(
            rank.linked.operators[-1] if name in ("dur_ns", "parent") else rank.linked, name, value
        )
    return rank.linked


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"rank": -1}, "expected a rank"),
        ({"world_size": 1 << 40}, "expected a rank"),
        ({"groups": [ProcessGroup("x", "", "", [1 << 40])]}, "group x"),
        ({"dur_ns": -1}, "impossible time"),
        ({"dur_ns": 1 << 62}, "impossible time"),
        ({"parent": 2}, "below itself"),
    ],
)
def test_impossible_traces_are_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(TraceError, match=problem):
        convert_linked(_broken(**changes))


# ------------------------------------------------------------------------------ command lines


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for number in range(2):
        rank = Rank(number, 2, [PAIR])
        rank.compute()
        rank.talk("allreduce", "0", 1000, 1)
        rank.synchronize()
        linked_file.write(rank.linked, f"linked.{number}.json")
    return tmp_path


def test_the_ranks_of_a_job_are_converted_in_one_call(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["chakra", "convert", "pytorch", "linked.0.json", "linked.1.json", "-o", "out"]
    assert main(line) == 0
    assert json.loads((job / "out.groups.json").read_text()) == {}
    traces = [read(job / f"out.{rank}.et") for rank in range(2)]
    assert all(any(node.type is NodeType.COMM_COLL for node in trace) for trace in traces)
    assert "2 collectives" in capsys.readouterr().err


def test_one_rank_goes_to_one_file_or_stands_for_all(job: Path) -> None:
    start = ["chakra", "convert", "pytorch", "linked.0.json", "-o"]
    assert main([*start, "one.et.gz"]) == 0
    assert main([*start, "one.et", "--no-gaps", "--reduce"]) == 0
    assert main([*start, "all", "--replicate"]) == 0
    assert main([*start, "eight", "--replicate", "8"]) == 0
    assert len(list(job.glob("all.*.et"))) == 2
    assert len(list(job.glob("eight.*.et"))) == 8
    assert len(read(job / "one.et")) < len(read(job / "one.et.gz"))
    assert not (job / "one.groups.json").exists()


def test_a_workload_of_one_rank_runs_as_its_traces_do(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = ["chakra", "convert", "pytorch", "linked.0.json", "--replicate", "8", "-o"]
    assert main([*start, "eight.yw"]) == 0
    assert main([*start, "eight"]) == 0
    recorded = {"cluster.device.compute": "recorded", "stack": "roofline"}
    runs = [
        simulate(load(what, cluster="hgx-h100", settings=recorded))
        for what in ("eight.yw", "eight.{rank}.et")
    ]
    made, traces = (run.ranks for run in runs)
    assert list(made.rows()) == list(traces.rows())
    assert runs[0].messages == runs[1].messages > 0
    assert all("not of hgx-h100" in run.warnings[-1] for run in runs)


def test_groups_and_neighbours_of_one_rank_are_those_of_every_rank(job: Path) -> None:
    quarter = ProcessGroup("2", "tp", "gloo", [0, 2])
    world = ProcessGroup("0", "default_pg", "gloo", [0, 1, 2, 3])
    rank = Rank(0, 4, [world, quarter, ProcessGroup("3", "me", "gloo", [0])])
    rank.compute()
    rank.talk("allreduce", "2", 1000, 1)
    rank.talk("allreduce", "0", 1000, 2)
    rank.talk("allreduce", "3", 1000, 3)
    rank.talk("send", "0", 500, 4, peer=1)
    rank.talk("recv", "0", 500, 5, peer=3)
    rank.synchronize()
    linked_file.write(rank.linked, "linked.json")
    line = ["chakra", "convert", "pytorch", "linked.json", "--replicate", "16", "-o"]
    assert main([*line, "job.yw"]) == 0
    made = workloads.load("job.yw")
    for number in (0, 5, 15):
        nodes = list(made.trace(number))
        (send,) = (node for node in nodes if node.type is NodeType.COMM_SEND)
        (receive,) = (node for node in nodes if node.type is NodeType.COMM_RECV)
        assert (send["comm_dst"], receive["comm_src"]) == ((number + 1) % 16, (number - 1) % 16)
        assert send["comm_tag"] == receive["comm_tag"]
        of = [node.get("pg_name") for node in nodes if node.type is NodeType.COMM_COLL]
        assert len(of) == 2 and of[1] is None
        first = number // 4 * 4 + number % 2
        assert made.communicators()[int(str(of[0]))] == (first, first + 2)


def test_a_template_of_a_stage_of_a_pipeline_is_refused(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rank = Rank(0, 2, [PAIR])
    rank.talk("send", "0", 500, 1, peer=1)
    linked_file.write(rank.linked, "linked.json")
    line = ["chakra", "convert", "pytorch", "linked.json", "--replicate", "4", "-o", "x.yw"]
    assert main(line) == 3
    assert "linked.json: rank 0: its messages have no counterpart" in capsys.readouterr().err


def test_copies_of_a_rank_that_never_communicates_are_told(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rank = Rank(0, 1)
    rank.compute()
    linked_file.write(rank.linked, "alone.json")
    assert main(["chakra", "convert", "pytorch", "alone.json", "--replicate", "4", "-o", "x"]) == 0
    assert "replicate: no communication was recorded" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["linked.0.json", "-o", "one.yw"], "one trace and --replicate"),
        (["linked.0.json", "linked.1.json", "-o", "one.et"], "give a prefix"),
        (["linked.0.json", "-o", "one.et", "--replicate"], "give a prefix"),
        (["linked.0.json", "-o", "x", "--compat", "upstream", "--reduce"], "none of the other"),
        (["nothing.json", "-o", "x"], "nothing.json"),
        (["linked.0.json", "linked.0.json", "-o", "x"], "two of the traces"),
    ],
)
def test_mistakes_are_told(
    job: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], problem: str
) -> None:
    assert main(["chakra", "convert", "pytorch", *arguments]) == 2
    assert problem in capsys.readouterr().err


HOST = {
    "schema": "1.1.1-chakra.0.0.4",
    "pid": 1,
    "time": "t",
    "start_ts": 1,
    "nodes": [
        {
            "id": id,
            "name": name,
            "ctrl_deps": parent,
            "inputs": {"values": [], "shapes": [], "types": []},
            "outputs": {"values": [], "shapes": [], "types": []},
            "attrs": [
                *(
                    {"name": key, "type": "uint64", "value": 0}
                    for key in ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid")
                ),
                {"name": "op_schema", "type": "string", "value": ""},
            ],
        }
        for id, name, parent in (
            (4, "aten::add", 2),
            (3, "aten::mul", 2),
            (2, "[pytorch|profiler|execution_trace|thread]", 1),
            (1, "[pytorch|profiler|execution_trace|process]", 1),
        )
    ],
    "finish_ts": 2,
}


def test_a_host_trace_converts_without_times(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text(json.dumps(HOST))
    line = ["chakra", "convert", "pytorch", str(tmp_path / "host.json"), "-o"]
    assert main([*line, str(tmp_path / "host.et")]) == 0
    trace = read(tmp_path / "host.et")
    assert [node.name for node in trace][2:] == ["aten::mul", "aten::add"]
    assert all(node.duration_micros == 0 and "start_time_ns" not in node for node in trace)
    assert main([*line, str(tmp_path / "old"), "--compat", "upstream"]) == 0
    assert [n.name for n in read(tmp_path / "old.0.et")] == [
        HOST["nodes"][2]["name"],
        "aten::mul",
        "aten::add",
    ]  # type: ignore[index]


def test_a_file_linked_by_upstream_is_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [{**node, "cat": "kernel"} for node in HOST["nodes"]]  # type: ignore[dict-item, attr-defined]
    (tmp_path / "linked.json").write_text(json.dumps({**HOST, "nodes": nodes}))
    assert main(["chakra", "convert", "pytorch", str(tmp_path / "linked.json"), "-o", "x"]) == 2
    assert "--compat upstream" in capsys.readouterr().err


def test_upstreams_command_line(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job / "host.json").write_text(json.dumps(HOST))
    line = ["PyTorch", "--input", "host.json", "--output", "a.et"]
    assert converter.run([*line, "--compat", "upstream", "--simul"]) == 0
    assert "Issuing node 3" in (job / "debug.log").read_text()
    assert "Output file is available at a.et" in capsys.readouterr().err
    assert len(read(job / "a.et")) == 3
    assert converter.run(["--log-filename", "/dev/null", *line]) == 0
    assert len(read(job / "a.et")) == 4
    assert converter.run([]) == 0
    assert "PyTorch" in capsys.readouterr().out


@pytest.mark.parametrize("schema", ["1.0.1-chakra.0.0.4", "1.1.1-chakra.1.0.0", "", None])
def test_compatibility_refuses_the_schemas_upstream_refuses(tmp_path: Path, schema: Any) -> None:
    from yantra.tracing.pytorch.upstream.convert import convert

    path = tmp_path / "host.json"
    path.write_text(json.dumps({**HOST, "schema": schema}))
    with pytest.raises(TraceError, match="does not read schema"):
        convert(path)
