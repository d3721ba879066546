"""Ranks of recordings that do not state them: from names, and never exchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.oracles.small_traces import call, kernel, op
from yantra import chakra
from yantra.base.errors import TraceError
from yantra.cli import main
from yantra.tracing.pytorch.ranks import given, in_order_given, of_names

SHELL = sorted(str(rank) for rank in range(12))  # 0, 1, 10, 11, 2, ...


@pytest.mark.parametrize(
    "form",
    [
        "tp{0}_rank{0}.176270{1}.pt.trace.json",
        "w.{0}.json",
        "host-7.{0}.1700000000{1}.json",
        "Rank-{0}.Apr_03_18_51_38.{1}.pt.trace.json.gz",
        "trace_rank{0}_of_12.json",
        "r{0}-{1}999.json",
        "run7/rank{0}/trace.json",
        "run7/{0}/trace.{1}999.json",
        "/data/rank3_study/w.{0}.json",
    ],
)
def test_names_say_ranks_in_any_order(form: str) -> None:
    names = [form.format(rank, (int(rank) * 7 + 3) % 12 + 1000) for rank in SHELL]
    assert of_names(names) == [int(rank) for rank in SHELL]


@pytest.mark.parametrize(
    "names",
    [
        ["a.json", "b.json"],
        ["host_4711.json", "host_4712.json"],  # process ids
        ["2026-01-02.json", "2026-01-03.json", "2027-01-02.json"],
        ["rank0.json", "rank0.json.gz"],
        ["x.0.1.json", "x.1.0.json"],  # two numbers that could be ranks, and differ
    ],
)
def test_names_that_may_mean_anything_say_no_rank(names: list[str]) -> None:
    assert of_names(names) is None


def test_one_file_alone_is_rank_zero() -> None:
    assert of_names(["rank-34.Jul_15.1074.pt.trace.json.gz"]) == [0]


def test_an_order_that_names_contradict_is_refused() -> None:
    names = [f"host_{pid}.json" for pid in ("1001", "11", "999")]
    with pytest.raises(
        TraceError, match=r"host_1001.json is number 0, .* it would be host_11.json"
    ):
        in_order_given(names)
    assert "as ranks 0 to 1 in the order given" in in_order_given(["b.json", "a.json"])


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for rank in range(12):
        work = kernel(120, 100, 5, name=f"kernel_of_{rank}")
        events = [op(1, "aten::mm", 100, 20), call("cudaLaunchKernel", 105, 4, 5), work]
        text = json.dumps(events)
        for name in (f"tp{rank}_rank{rank}.{1000 - rank}.json", f"d.{rank}.json"):
            Path(name).write_text(text)
        Path(f"{chr(ord('z') - rank)}.json").write_text(text)
    return tmp_path


def kernels(prefix: str) -> list[str]:
    traces = [chakra.read(f"{prefix}.{rank}.et") for rank in range(12)]
    return [node.name for trace in traces for node in trace if node.name.startswith("kernel_of")]


RIGHT = [f"kernel_of_{rank}" for rank in range(12)]


def test_convert_takes_ranks_from_names_and_patterns(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = sorted(path.name for path in job.glob("tp*.json"))
    assert listed[2].startswith("tp11_")
    assert main(["chakra", "convert", "pytorch", *listed, "-o", "a"]) == 0
    assert main(["chakra", "convert", "pytorch", "d.{rank}.json", "-o", "b"]) == 0
    assert "in the order given" not in capsys.readouterr().err
    assert kernels("a") == kernels("b") == RIGHT


def test_link_takes_ranks_from_names(job: Path) -> None:
    listed = sorted(path.name for path in job.glob("tp*.json"))[:4]
    devices = [word for name in listed for word in ("--device", name)]
    assert main(["chakra", "link", *devices, "-o", "l.{rank}.json", "-q"]) == 0
    assert sorted(path.name for path in job.glob("l.*")) == [
        f"l.{rank}.json" for rank in (0, 1, 10, 11)
    ]
    for rank in (1, 10):
        assert f"kernel_of_{rank}" in Path(f"l.{rank}.json").read_text()


def test_convert_says_when_only_the_order_tells(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    letters = sorted(path.name for path in job.glob("?.json"))
    assert main(["chakra", "convert", "pytorch", *letters, "-o", "c"]) == 0
    assert "12 traces do not state their rank, nor do their names" in capsys.readouterr().err
    assert kernels("c") == RIGHT[::-1]


def test_a_pattern_that_names_no_file_is_told(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["chakra", "convert", "pytorch", "none.{rank}.json", "-o", "d"]) == 2
    assert "none.{rank}.json: no file has a name of this form" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--compat", "upstream"]])
def test_several_ranks_never_go_into_one_file(
    job: Path, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["chakra", "convert", "pytorch", "d.{rank}.json", "-o", "one.et", *more]
    assert main(command) == 2
    assert "several traces are written; give a prefix" in capsys.readouterr().err
    assert not Path("one.et").exists()


def test_patterns_and_files_may_be_mixed(job: Path) -> None:
    found = given(["d.{rank}.json"])
    assert [one.rank for one in found] == list(range(12))
    assert found[10].path.endswith("d.10.json")


def test_one_rank_of_many_is_told_with_the_ways_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    args = {"Collective__name": "allreduce", "In__msg__nelems": 64, "dtype": "Float"}
    args |= {"Group__size": 300, "Process__Group__Name": "0"}
    events = [op(1, "record_param_comms", 100, 20, **args), call("cudaLaunchKernel", 105, 4, 5)]
    events.append(kernel(120, 100, 5, name="ncclDevKernel_AllReduce_Sum"))
    info = {"rank": 34, "world_size": 300}
    Path("device.json").write_text(json.dumps({"distributedInfo": info, "traceEvents": events}))
    convert = ["chakra", "convert", "pytorch", "device.json", "-o"]
    on = ["--cluster", "hgx-h100", "--set", "cluster.device.compute=recorded"]
    assert main([*convert, "job"]) == 0
    capsys.readouterr()
    assert main(["run", "job.{rank}.et", *on]) == 2
    said = capsys.readouterr().err
    assert "only rank 34 of 300 is here (job.34.et)" in said and "--replicate" in said
    alone = ["--set", "cluster.ranks=1", "--set", "replay_only=true"]
    assert all(word in said for word in alone)
    assert main([*convert, "one.0.et"]) == 0  # what it advises works
    assert main(["run", "one.{rank}.et", *on, *alone]) == 0
    assert main([*convert, "all", "--replicate", "8"]) == 0
    assert main(["run", "all.{rank}.et", *on]) == 0
