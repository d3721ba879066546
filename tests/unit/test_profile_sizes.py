"""Sizes that a profile did not record may be given, and count then as recorded ones do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from yantra import chakra
from yantra.cli import main

NSYS = Path(__file__).parents[1] / "golden" / "data" / "profiles" / "nsys_b" / "nsys_b.sqlite"


def test_given_sizes_make_collectives_of_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = ["chakra", "convert", str(NSYS), "-o", "job"]
    assert main([*line, "--sizes", "all_reduce=3MiB"]) == 0
    assert "4 collectives of all ranks" in capsys.readouterr().err  # sends and receives stay
    for rank in (0, 1):
        trace = chakra.read(f"job.{rank}.et")
        sizes = [node.get("comm_size") for node in trace if node.type == chakra.NodeType.COMM_COLL]
        assert sizes == [3 << 20] * 4
    assert main(["chakra", "validate", "job.{rank}.et"]) == 0
    assert main(["run", "job.{rank}.et", "--cluster", "hgx-h100"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sizes", "send=1MiB"], "--sizes: expected KIND=SIZE, such as all_reduce=64MiB"),
        (["--sizes", "all_reduce=much"], "--sizes: not a quantity; expected a size"),
        (["--sizes", "all_reduce=1MiB", "--sizes", "allreduce=2MiB"], "allreduce: given twice"),
        (["--sizes", "all_reduce=0B"], "--sizes: expected a size of 1 B to 1 EiB"),
        (["--step", "4"], "has no step 4; it marks no steps: record ranges ProfilerStep#N"),
        (["--replicate", "8"], "holds 2 ranks, and one stands for all; convert it to one trace a"),
    ],
)
def test_wrong_ones_are_told(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chakra", "convert", str(NSYS), "-o", str(tmp_path / "job"), *words]) == 2
    assert said in capsys.readouterr().err


GOAL = "num_ranks 2\nrank 0 {\nl1: send 10b to 1 tag 1\n}\nrank 1 {\nl1: recv 10b from 0 tag 1\n}\n"
CALL = {"name": "MPI_Barrier", "ph": "X", "ts": 1, "dur": 1, "pid": 0, "tid": 0, "args": {}}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("--step", ["--step", "1", "-o", "job"]),
        ("--replicate", ["--replicate", "8", "-o", "job"]),
        ("--sizes", ["--sizes", "all_reduce=1MiB", "-o", "job"]),
        ("--step", ["--step", "1", "--replicate", "8", "-o", "job.yw"]),
        ("--replicate", ["-o", "job.yw"]),
        ("--replicate", ["--replicate", "8", "--sizes", "all_reduce=1MiB", "-o", "job.yw"]),
    ],
)
def test_others_refuse_what_they_do_not_have_by_name(
    said: str,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.goal").write_text(GOAL)
    Path("mpi.json").write_text(json.dumps({"traceEvents": [CALL]}))
    xplane = NSYS.parents[1] / "dp_mlp" / "dp_mlp.xplane.pb"
    for file in (str(xplane), "a.goal", "mpi.json"):
        assert main(["chakra", "convert", file, *words]) == 2
        found = capsys.readouterr().err
        assert re.search(rf"{file}: .* goes without {said}: .*[;,] \w+", found), found
    assert not list(Path().glob("job*"))


def test_a_size_that_is_used_by_nothing_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["chakra", "convert", str(NSYS), "-o", str(tmp_path / "job")]
    assert main([*line, "--sizes", "gather=1MiB", "--sizes", "all_reduce=1MiB"]) == 0
    said = capsys.readouterr().err
    assert "--sizes: no gather lacks its size, so gather=1048576 changes nothing" in said
    assert "no allreduce lacks" not in said


def test_one_rank_of_a_profile_stands_for_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "start_timestamp": begin,
            "end_timestamp": begin + 80_000,
            "stream_id": {"handle": 0},
            "correlation_id": {"internal": at},
            "dispatch_info": {"kernel_id": 1, "agent_id": {"handle": 5}},
        }
        for at, begin in enumerate((1000, 91_000), start=1)
    ]
    tool: dict[str, Any] = {"metadata": {"pid": 7}, "agents": [{"id": {"handle": 5}, "type": 2}]}
    tool["kernel_symbols"] = [{"kernel_id": 1, "formatted_kernel_name": "gemm"}]
    tool["buffer_records"] = {"kernel_dispatch": rows}
    Path("results.json").write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    line = ["chakra", "convert", "results.json", "--replicate", "4"]
    assert main([*line, "-o", "job.yw"]) == 0
    assert main([*line, "-o", "job"]) == 0
    capsys.readouterr()
    spans = []
    for name in ("job.yw", "job.{rank}.et"):
        assert main(["run", name, "--cluster", "mi300x", "--json"]) == 0
        form = json.loads(capsys.readouterr().out)
        spans.append((form["makespan_ns"], form["what_ran"]["ranks"]))
    assert spans[0] == spans[1] and spans[0][1] == 4
    assert main(["chakra", "convert", "results.json", "-o", "job.yw"]) == 2
    assert "give --replicate RANKS" in capsys.readouterr().err
    assert main(["chakra", "convert", str(NSYS), "--replicate", "4", "-o", "two.yw"]) == 2
    assert "holds 2 ranks, and one stands for all" in capsys.readouterr().err
