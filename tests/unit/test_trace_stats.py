"""Worked cases of the statistics: names, parallelism, the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, Node, NodeType, Trace, TraceBuilder
from yantra.cli import main
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.names import normalised
from yantra.tracing.inspect.paths import issue_order
from yantra.tracing.inspect.rank_traces import RankTrace, find_traces, load_job
from yantra.tracing.inspect.stats import JobStats, job_stats, report
from yantra.tracing.inspect.stats.steps import Steps

AR, AG, RS = CollectiveType.ALL_REDUCE, CollectiveType.ALL_GATHER, CollectiveType.REDUCE_SCATTER
A2A = CollectiveType.ALL_TO_ALL


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("aten::conv2d", "aten::conv2d"),
        ("aten::flatten_dense_tensors(0)", "aten::flatten_dense_tensors"),
        (
            "void at::native::reduce_kernel<512, 1, at::X<float, 4>>(at::X<float, 4>)",
            "at::native::reduce_kernel",
        ),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 1>(float*)",
            "at::native::CatArrayBatchedCopy",
        ),
        (
            "ncclKernel_AllReduce_RING_LL(ncclDevComm*, unsigned long)",
            "ncclKernel_AllReduce_RING_LL",
        ),
        ("ProfilerStep#4", "ProfilerStep*"),
        ("send to 3", "send to *"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD"),
        ("mb0.transformer.12.ffn@1_COMP", "mb0.transformer.*.ffn@*_COMP"),
        ("(a)", "(a)"),
        ("", ""),
    ],
)
def test_names_without_what_differs_from_call_to_call(name: str, plain: str) -> None:
    assert normalised(name) == plain


def job(ranks: int, groups: dict[str, tuple[int, ...]], layers: int = 8) -> JobStats:
    traces = []
    for rank in range(ranks):
        tensor = next(name for name in "12" if rank in groups[name])
        data = next(name for name in "34" if rank in groups[name])
        trace = TraceBuilder()
        last: Node | tuple[()] = ()
        for _ in range(2 * layers):
            work = trace.compute("mlp", duration_micros=10, after=last)
            last = trace.collective(AR, 1 << 20, group=tensor, duration_micros=3, after=work)
            if len(trace.nodes) > 2 * layers:
                trace.collective(AR, 1 << 22, group=data, duration_micros=3, after=work)
        traces.append(trace.build())
    return job_stats([RankTrace(r, "", trace) for r, trace in enumerate(traces)], groups)


def test_tensor_and_data_parallelism_are_told_apart() -> None:
    groups = {"1": (0, 1), "2": (2, 3), "3": (0, 2), "4": (1, 3)}
    found = job(4, groups).parallelism
    splits = {finding.split: finding for finding in found.findings}
    assert set(splits) == {"tensor", "data"}
    assert splits["tensor"].degree == splits["data"].degree == 2
    assert splits["tensor"].groups == ["1", "2"] and splits["data"].ranks == (0, 2)
    assert any("neighbouring" in reason for reason in splits["tensor"].evidence)
    assert found.remarks == ["2 x 2 = 4, the number of ranks (4)"]


def test_a_pipeline_is_a_chain_of_messages() -> None:
    traces = []
    for rank in range(3):
        trace = TraceBuilder(rank=rank)
        if rank:
            trace.recv(rank - 1, 64)
        if rank < 2:
            trace.send(rank + 1, 64)
        traces.append(RankTrace(rank, "", trace.build()))
    (finding,) = job_stats(traces).parallelism.findings
    assert (finding.split, finding.degree, finding.ranks) == ("pipeline", 3, (0, 1, 2))


def step_of(*calls: tuple[str, CollectiveType, int]) -> TraceBuilder:
    trace = TraceBuilder()
    last: Node | tuple[()] = ()
    for at in range(10):
        last = trace.compute(duration_micros=5, after=last)
        for where, kind, size in calls:
            if str(at) in where:
                last = trace.collective(kind, size, after=last)
    return trace


@pytest.mark.parametrize(
    ("calls", "split"),
    [
        ([("0123456789", AG, 64), ("6789", RS, 256)], "data with sharded weights"),
        ([("89", AR, 64)], "data"),
        ([("0369", AR, 64)], "tensor"),
        ([("2468", A2A, 64)], "expert or embedding"),
        ([("0", CollectiveType.BROADCAST, 64)], "control"),
        ([("0", AR, 64)], "unclear"),
    ],
)
def test_the_split_is_read_from_what_is_called_when(
    calls: list[tuple[str, CollectiveType, int]], split: str
) -> None:
    trace = step_of(*calls).build()
    found = job_stats([RankTrace(rank, "", trace) for rank in range(2)]).parallelism
    assert [finding.split for finding in found.findings] == [split]
    if split == "unclear":
        assert found.findings[0].confidence == "unclear"


def test_steps_are_parted_where_the_profiler_marks_them() -> None:
    nodes = []
    last: list[int] = []
    for step in range(3):
        for at in range(10):
            builder = TraceBuilder(first_id=len(nodes))
            if at == 9:
                node = builder.collective(AR, 64)
            else:
                node = builder.compute(f"ProfilerStep#{step}" if at == 0 else "work")
            nodes.append(node.depends_on(*last))
            last = [node.id]
    trace = Trace(nodes)
    found = job_stats([RankTrace(rank, "", trace) for rank in range(2)]).parallelism
    assert [finding.split for finding in found.findings] == ["data"]


def test_a_step_is_measured_by_its_starts_up_to_the_update() -> None:
    """A gradient at 27 % of the nodes, but at half of the time before the optimizer's update."""
    names = ["ProfilerStep#2", *["work"] * 2, "gradient", *["work"] * 2, "Optimizer.step#A"]
    names += ["work"] * 5
    starts = [10, 20, 30, 60, 70, 80, 110, *range(120, 170, 10)]
    nodes = []
    for id, (name, start) in enumerate(zip(names, starts, strict=True)):
        node = Node(id, name, NodeType.COMP, 5, [id - 1] if id else [], start_micros=start)
        if name == "gradient":
            node.type = NodeType.COMM_COLL
            node["comm_type"], node["comm_size"] = AR, 64
        nodes.append(node)
    columns = Columns(Trace(nodes))
    steps = Steps(columns, issue_order(columns))
    assert [steps.of(at)[1] for at in (0, 3, 6, 11)] == [0.0, 0.5, 1.0, 1.0]
    found = job_stats([RankTrace(rank, "", columns.trace) for rank in range(2)]).parallelism
    assert [finding.split for finding in found.findings] == ["data"]


def test_one_rank_alone_leaves_degrees_open() -> None:
    found = job_stats([RankTrace(0, "", step_of(("89", AR, 64)).build())]).parallelism
    assert found.findings[0].degree is None
    assert "only one rank" in found.remarks[0]


def test_the_report_tells_work_and_span() -> None:
    trace = TraceBuilder()
    first = trace.compute("a", duration_micros=100, cpu=True)
    for _ in range(2):
        trace.compute("b", duration_micros=50, num_ops=7, tensor_size=10, after=first)
    text = report(job_stats([RankTrace(0, "x.0.et", trace.build())]))
    assert "3 nodes: 3 COMP" in text
    assert "150.000 us in 2 nodes: 100.000 us CPU, 50.000 us GPU compute" in text
    assert "work / span = 1.33" in text
    assert "14 operations (num_ops) on 20 B (tensor_size)" in text


def test_files_tell_their_ranks(tmp_path: Path) -> None:
    for name in ("a.0.et", "a.1.et.gz", "a.10.et", "a.x.et", "plain.et", "other.et"):
        TraceBuilder().build().write(tmp_path / name)
    found = find_traces([str(tmp_path / "a.{rank}.et")])
    assert [file.rank for file in found] == [0, 10]
    assert [file.rank for file in find_traces([tmp_path / "a.10.et", tmp_path / "a.1.et.gz"])] == [
        1,
        10,
    ]
    named = [tmp_path / "plain.et", tmp_path / "other.et"]
    assert [file.rank for file in find_traces(named)] == [0, 1]
    with pytest.raises(ConfigError, match="no rank"):
        find_traces([tmp_path / "a.0.et", tmp_path / "plain.et"])
    job = load_job([tmp_path / "a.0.et", tmp_path / "a.10.et"])
    assert job[0].trace is job[1].trace


def test_the_command_prints_text_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(2):
        trace = step_of(("0369", AR, 1024))
        trace.compute("last", duration_micros=rank)
        trace.build().write(tmp_path / f"job.{rank}.et")
    pattern = str(tmp_path / "job.{rank}.et")
    assert main(["chakra", "stats", pattern, "--top", "2"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("2 ranks\n") and "tensor 2" in text
    assert main(["chakra", "stats", pattern, "--json", "--top", "2"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["groups"][0]["bytes_per_rank"] == 4096 and len(form["operators"]) == 2
    assert form["ranks"][1]["span_us"] == 50 and form["ranks"][0]["average_parallelism"] == 1.0
    assert main(["chakra", "stats", str(tmp_path / "job.7.et")]) == 2
