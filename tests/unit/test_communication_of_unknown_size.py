"""A kernel that communicates and has no size counts as communication, at its recorded time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_traces import call, kernel, op
from yantra import chakra
from yantra.cli import main
from yantra.result.parts import NAMES
from yantra.tracing.inspect.rank_traces import load_job
from yantra.tracing.inspect.stats import job_stats

ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevComm*)"
FOREIGN = "void deep_ep::intranode::dispatch<8>(int4*)"


def events(name: str, begin: int = 150) -> list[dict[str, Any]]:
    """Return a product of 70 us, from 120 us on, and a kernel of 30 us, without arguments."""
    return [
        op(1, "aten::mm", 100, 20),
        call("cudaLaunchKernel", 105, 4, 5),
        kernel(120, 70, 5, name="gemm"),
        op(2, "c10d::allgather_into_tensor_coalesced_", 130, 20),
        call("cudaLaunchKernel", 135, 4, 6),
        kernel(begin, 30, 6, stream=20, name=name),
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def convert(name: str, *options: str, ranks: int = 2, begin: int = 150) -> None:
    for rank in range(ranks):
        info = {"rank": rank, "world_size": 2}
        trace = {"distributedInfo": info, "traceEvents": events(name, begin)}
        Path(f"d.{rank}.json").write_text(json.dumps(trace))
    files = [f"d.{rank}.json" for rank in range(ranks)]
    assert main(["chakra", "convert", "pytorch", *files, "-o", "job", *options]) == 0


@pytest.mark.parametrize(
    ("name", "kind"),
    [(ALL_GATHER, "all_gather"), (SEND, "all_gather"), (FOREIGN, "all_to_all")],
)
def test_statistics_count_it_as_communication(
    folder: Path, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(name)
    stats = job_stats(load_job(["job.{rank}.et"]))
    for _, _, one in stats.ranks:
        assert (one.time_us["communication"], one.time_us["gpu_compute"]) == (30, 70)
        assert [(row.what, row.calls, row.time_us) for row in one.unsized] == [(kind, 1, 30)]
    capsys.readouterr()
    assert main(["chakra", "stats", "job.{rank}.et"]) == 0
    shown = capsys.readouterr().out
    assert "no communication between ranks" not in shown
    assert "communication of unknown size or members: how it splits the work is not told" in shown
    assert "communication at its recorded duration 1, kernels 1" in shown


def test_computation_alone_is_no_communication(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert("softmax")
    capsys.readouterr()
    assert main(["chakra", "stats", "job.{rank}.et"]) == 0
    assert "no communication between ranks" in capsys.readouterr().out


def test_the_recorded_duration_stays_and_the_node_is_a_computation(folder: Path) -> None:
    convert(ALL_GATHER)
    (node,) = [node for node in chakra.read("job.0.et") if node.get("communication")]
    assert (node.type.name, node.duration_micros, node.get("stream")) == ("COMP", 30, 20)


def test_a_mark_is_read_from_a_file_as_from_its_records(folder: Path) -> None:
    convert(FOREIGN)
    trace = chakra.read("job.0.et")
    graph = trace.graph()
    marked = [node.id for node in trace if node.get("communication")]
    assert [graph.id[at] for at in range(len(graph)) if graph.communicates(at)] == marked
    assert len(marked) == 1


def test_a_run_says_that_it_counts_it_as_communication(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(ALL_GATHER)
    capsys.readouterr()
    on = ["--cluster", "hgx-h100", "--set", "cluster.device.compute=recorded"]
    assert main(["run", "job.{rank}.et", *on]) == 0
    said = capsys.readouterr().err
    assert "1 kernel of communication whose size is not known (ncclDevKernel_AllGather" in said
    assert "30.000 us of 100.000 us of kernels; a run counts them as communication" in said


ON = ("--cluster", "hgx-h100", "--set", "cluster.device.compute=recorded")


def ranks_of_run(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, list[int]]:
    capsys.readouterr()
    assert main(["run", "job.{rank}.et", *ON, "--json", *options]) == 0
    ranks: dict[str, list[int]] = json.loads(capsys.readouterr().out)["tables"]["ranks"]
    return ranks


@pytest.mark.parametrize("name", [ALL_GATHER, FOREIGN, "rcclGenericKernel(ncclDevComm*)"])
@pytest.mark.parametrize(
    ("begin", "exposed"),
    [(150, 0), (180, 20_000), (190, 30_000), (250, 30_000)],
    ids=["beside the product", "over its end", "behind it", "later"],
)
def test_a_run_keeps_its_time_as_communication_exposed_where_nothing_computes(
    folder: Path, name: str, begin: int, exposed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(name, begin=begin)
    ranks = ranks_of_run(capsys)
    for at in range(2):
        assert ranks["communication_ns"][at] == 30_000
        assert ranks["exposed_communication_ns"][at] == exposed
        assert ranks["overlap_ns"][at] == 30_000 - exposed
        spent = sum(ranks[f"{part}_ns"][at] for part in NAMES)
        assert spent == ranks["finish_ns"][at]


def test_no_network_changes_its_time_and_a_run_without_communication_has_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(ALL_GATHER, begin=190)
    usual = ranks_of_run(capsys)
    slow = ranks_of_run(capsys, "--set", "cluster.topology[0].bandwidth=1 MB/s")
    assert slow["finish_ns"] == usual["finish_ns"]
    assert main(["run", "job.{rank}.et", *ON, "-o", "result.json"]) == 0
    capsys.readouterr()
    assert main(["explain", "result.json", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    (free,) = [row for row in shown["what_if"] if row["name"] == "communication"]
    assert usual["finish_ns"][0] - free["makespan_ns"] == 30_000


def test_kernels_asked_of_a_model_leave_it_at_its_recorded_time(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(ALL_GATHER, "--no-gaps", begin=250)
    model = ["--set", "cluster.device.compute={kind: fixed_efficiency}"]
    capsys.readouterr()
    on = ["--cluster", "hgx-h100", *model, "--json"]
    assert main(["run", "job.{rank}.et", *on]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["tables"]["ranks"]["communication_ns"] == [30_000, 30_000]
    assert "kernels without FLOPs or bytes (100 % of kernel time)" in said.out


def test_upstream_s_semantics_counts_it_as_compute(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(ALL_GATHER)
    ranks = ranks_of_run(capsys, "--set", "semantics=astra-sim")
    assert ranks["communication_ns"] == [0, 0]


def test_a_name_means_nothing_in_a_trace_that_was_made(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(2):
        builder = chakra.TraceBuilder()
        builder.compute("ncclDevKernel_AllGather", duration_micros=30)
        builder.build().write(f"job.{rank}.et")
    ranks = ranks_of_run(capsys)
    assert (ranks["compute_ns"], ranks["communication_ns"]) == ([30_000, 30_000], [0, 0])


def test_one_rank_for_all_keeps_it_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convert(ALL_GATHER, "--replicate", "4", ranks=1)
    assert "all_gather" in capsys.readouterr().err.replace("allgather", "")
    for rank in range(4):
        kinds = [node.get("communication") for node in chakra.read(f"job.{rank}.et")]
        assert kinds.count("all_gather") == 1


def test_one_trace_for_all_keeps_the_mark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convert(FOREIGN, ranks=1, begin=190)
    line = ["chakra", "convert", "pytorch", "d.0.json", "-o", "job.yw", "--replicate", "4"]
    assert main(line) == 0
    capsys.readouterr()
    assert main(["run", "job.yw", *ON, "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["tables"]["ranks"]["exposed_communication_ns"] == [30_000] * 4
    assert any("counts them as communication" in text for text in form["warnings"])
