"""A kernel that communicates and has no size counts as communication, at its recorded time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_traces import call, kernel, op
from yantra import chakra
from yantra.cli import main
from yantra.tracing.inspect.rank_traces import load_job
from yantra.tracing.inspect.stats import job_stats

ALL_GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevComm*)"
FOREIGN = "void deep_ep::intranode::dispatch<8>(int4*)"


def events(name: str) -> list[dict[str, Any]]:
    """Return a product of 70 us and a kernel of 30 us beside it, without arguments."""
    return [
        op(1, "aten::mm", 100, 20),
        call("cudaLaunchKernel", 105, 4, 5),
        kernel(120, 70, 5, name="gemm"),
        op(2, "c10d::allgather_into_tensor_coalesced_", 130, 20),
        call("cudaLaunchKernel", 135, 4, 6),
        kernel(150, 30, 6, stream=20, name=name),
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def convert(name: str, *options: str, ranks: int = 2) -> None:
    for rank in range(ranks):
        info = {"rank": rank, "world_size": 2}
        trace = {"distributedInfo": info, "traceEvents": events(name)}
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


def test_a_run_says_that_it_counts_it_as_compute(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    convert(ALL_GATHER)
    capsys.readouterr()
    on = ["--cluster", "hgx-h100", "--set", "cluster.device.compute=recorded"]
    assert main(["run", "job.{rank}.et", *on]) == 0
    said = capsys.readouterr().err
    assert "1 kernel of communication whose size is not known (ncclDevKernel_AllGather" in said
    assert "30.000 us of 100.000 us of kernels" in said


def test_one_rank_for_all_keeps_it_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convert(ALL_GATHER, "--replicate", "4", ranks=1)
    assert "all_gather" in capsys.readouterr().err.replace("allgather", "")
    for rank in range(4):
        kinds = [node.get("communication") for node in chakra.read(f"job.{rank}.et")]
        assert kinds.count("all_gather") == 1
