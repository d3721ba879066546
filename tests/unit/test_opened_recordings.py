"""Recordings run as their converted traces do, to the tick, and what was done is told."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import yantra
from tests.oracles.gpu_program import write_pair
from tests.recorded_jobs import Plan, write
from yantra.base.errors import ConfigError, TraceError
from yantra.cli import main
from yantra.scenario import load, recordings
from yantra.scenario.recordings import How, opened
from yantra.tracing import host_time

PROFILES = Path(__file__).resolve().parents[1] / "golden" / "data" / "profiles"
CLUSTER = "hgx-h100"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _finish(name: str) -> list[float]:
    return list(yantra.simulate(load(name, cluster=CLUSTER)).finish_ns)


def _job(ranks: int = 4) -> str:
    write(Plan(ranks=ranks), Path("."))
    return "rank{rank}.json"


def _pairs() -> tuple[str, str]:
    for rank in (0, 1):
        write_pair(Path("."), operators=30, seed=rank)
        device = json.loads(Path("device.json").read_text())
        device["distributedInfo"] |= {"rank": rank}
        Path(f"device.{rank}.json").write_text(json.dumps(device))
        Path("host.json").rename(f"host.{rank}.json")
    return "host.{rank}.json", "device.{rank}.json"


def _profile(name: str) -> str:
    shutil.copy(PROFILES / name, Path(name).name)
    return Path(name).name


MADE: dict[str, Callable[[], tuple[str, ...]]] = {
    "kineto": lambda: (_job(),),
    "pairs": _pairs,
    "xplane": lambda: (_profile("dp_mlp/dp_mlp.xplane.pb"),),
    "nsys": lambda: (_profile("nsys_b/nsys_b.sqlite"),),
    "rocpd": lambda: (_profile("rocpd_b/rocpd_b.db"),),
}


@pytest.mark.parametrize("kind", MADE)
def test_a_recording_runs_as_what_convert_writes(kind: str, capsys: Captured) -> None:
    files = MADE[kind]()
    assert main(["chakra", "convert", *files, "-o", "job"]) == 0
    wanted = _finish("job.{rank}.et")
    capsys.readouterr()
    assert main(["run", *files, "--cluster", CLUSTER, "-o", "result.json"]) == 0
    assert "; converted\n" in capsys.readouterr().err
    result = json.loads(Path("result.json").read_text())
    assert [float(ns) for ns in result["tables"]["ranks"]["finish_ns"]] == wanted
    assert main(["run", "result.json"]) == 0  # its traces stay


def test_it_is_converted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    name = _job()
    first = opened([name])

    def never(*_: object, **__: object) -> None:
        raise AssertionError("converted again")

    monkeypatch.setattr(recordings, "kept_of_each", never)
    assert opened([name]) == first
    shutil.copy("rank0.json", "old")
    Path("rank0.json").write_text(Path("rank0.json").read_text().replace("gemm", "Gemm"))
    with pytest.raises(AssertionError, match="again"):
        opened([name])


def test_one_rank_stands_for_all(capsys: Captured) -> None:
    _job()
    assert main(["chakra", "convert", "pytorch", "rank1.json", "--replicate", "-o", "one.yw"]) == 0
    wanted = _finish("one.yw")
    capsys.readouterr()
    assert main(["run", "rank1.json", "--cluster", CLUSTER, "-o", "result.json"]) == 0
    assert "rank 1 stands for all 4 of its job" in capsys.readouterr().err
    result = json.loads(Path("result.json").read_text())
    assert [float(ns) for ns in result["tables"]["ranks"]["finish_ns"]] == wanted


def test_some_ranks_of_a_job_are_refused_and_leave_nothing(capsys: Captured) -> None:
    _job()
    os.remove("rank2.json")
    assert main(["run", "rank{rank}.json", "--cluster", CLUSTER]) == 2
    assert "3 of the 4 ranks of its job are here (0, 1, 3); give" in capsys.readouterr().err
    assert not list(Path("cache/yantra/recordings").iterdir())


def test_a_step_is_chosen_or_all_are_told(capsys: Captured) -> None:
    _job()
    assert main(["run", "rank{rank}.json", "--cluster", CLUSTER]) == 0
    said = capsys.readouterr().err
    assert "4 ranks; 3 steps (#0 to #2) one after the other, --step 2 takes the last alone" in said
    for step in range(3):
        assert main(["chakra", "convert", "pytorch", "rank{rank}.json", "--step", str(step),
                     "-o", "job"]) == 0  # fmt: skip
        assert _finish(opened(["rank{rank}.json"], How(step))) == _finish("job.{rank}.et")
    capsys.readouterr()
    assert main(["run", "rank{rank}.json", "--cluster", CLUSTER, "--step", "9"]) == 2
    assert "has no step 9; it has the steps 0, 1, 2" in capsys.readouterr().err


def test_host_time_scales_the_host_and_nothing_else(capsys: Captured) -> None:
    _job()
    sums = []
    for factor in ("x1", "0.5", "x3"):
        made = opened(["rank{rank}.json"], How(host_time=host_time.factor_of(factor, "")))
        trace = yantra.chakra.read(made.replace("{rank}", "0"))
        parts: dict[bool, int] = {True: 0, False: 0}
        for node in trace:
            is_host = bool(node.get("is_cpu_op")) and node.name != "delay" and node.type == 4
            parts[is_host] += int(str(node.get("duration_ns", 0)))
        sums.append(parts)
    assert sums[0][False] == sums[1][False] == sums[2][False]
    for at, times in ((1, 0.5), (2, 3.0)):
        assert sums[at][True] == pytest.approx(times * sums[0][True], rel=1e-3)
    capsys.readouterr()
    assert main(["run", "rank{rank}.json", "--cluster", CLUSTER, "--host-time", "x0.5"]) == 0
    assert "host work takes 0.5 times what was recorded" in capsys.readouterr().err
    assert main(["chakra", "convert", "rank{rank}.json", "-o", "job"]) == 0
    assert opened(["job.{rank}.et"], How(host_time=0.5)).endswith("job.{rank}.et")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["s.yaml", "--step", "1"], "s.yaml: expected recordings of one job"),
        (["s.yaml", "rank0.json"], "expected recordings of one job"),
        (["rank0.json", "--host-time", "fast"], "--host-time: expected a factor from 0 to 1000"),
        (["rank0.json", "--host-time", "-1"], "--host-time: expected a factor"),
        (["job.{rank}.et", "--step", "1"], "--step: goes with recordings"),
        (["--step", "1"], "--step goes with a recording; none is given"),
    ],
)
def test_what_is_no_recording_is_told(words: list[str], said: str, capsys: Captured) -> None:
    _job(1)
    Path("s.yaml").write_text("workload: {}\n")
    assert main(["chakra", "convert", "rank0.json", "-o", "job"]) == 0
    capsys.readouterr()
    assert main(["run", *words, "--cluster", CLUSTER]) == 2
    assert said in capsys.readouterr().err


def test_a_recording_needs_a_cluster_before_it_is_converted(capsys: Captured) -> None:
    _job()
    for words in (["rank{rank}.json"], ["rank{rank}.json", "--step", "1"]):
        assert main(["run", *words]) == 2
        assert "a recording, which does not name a cluster" in capsys.readouterr().err
    assert not Path("cache").exists()


def test_host_and_device_traces_that_do_not_pair_are_refused() -> None:
    _pairs()
    with pytest.raises(ConfigError, match=r"2 host traces, beside 1 trace of the profiler"):
        opened(["host.0.json", "host.1.json", "device.0.json"])


def test_a_profile_without_marked_steps_has_none_to_choose() -> None:
    name = _profile("dp_mlp/dp_mlp.xplane.pb")
    with pytest.raises(ConfigError, match="without --step: its operations name no step; record"):
        opened([name], How(step=1))


def test_the_cache_keeps_what_was_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for rank in range(4):
        _job(1)
        Path("rank0.json").rename(f"r{rank}.json")
        text = Path(f"r{rank}.json").read_text().replace("gemm", f"gemm{rank}")
        Path(f"r{rank}.json").write_text(text)
        names.append(Path(opened([f"r{rank}.json"])).parent)
        os.utime(names[-1], (rank, rank))
    size = sum(file.stat().st_size for file in names[0].iterdir())
    monkeypatch.setattr(recordings, "_MOST_BYTES", 5 * size // 2)
    Path("r3.json").write_text(Path("r3.json").read_text().replace("gemm3", "gemm4"))
    last = Path(opened(["r3.json"])).parent
    assert [name.exists() for name in names] == [False, False, False, True] and last.exists()


def test_a_cache_that_cannot_be_written_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    _job(1)
    Path("file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path("file").absolute()))
    with pytest.raises(ConfigError, match="set XDG_CACHE_HOME"):
        opened(["rank0.json"])


def test_a_damaged_recording_leaves_no_cache() -> None:
    _job(1)
    Path("rank0.json").write_bytes(Path("rank0.json").read_bytes()[:-90])
    with pytest.raises(TraceError, match="ends in the middle"):
        opened(["rank0.json"])
    assert not list(Path("cache/yantra/recordings").iterdir())


def test_a_schedule_keeps_its_durations_on_a_named_cluster(capsys: Captured) -> None:
    Path("a.goal").write_text("num_ranks 2\nrank 0 {\nl1: calc 1000\n}\nrank 1 {\nl1: calc 70\n}\n")
    assert main(["run", "a.goal", "--cluster", CLUSTER, "-o", "result.json"]) == 0
    result = json.loads(Path("result.json").read_text())
    assert result["tables"]["ranks"]["finish_ns"] == [1000, 70]
    Path("a.goal").write_text("num_ranks 2\nrank 0 {\nl1: calc 1000\n")
    assert main(["run", "a.goal", "--cluster", CLUSTER]) == 2
    assert "ends within rank 0, before its }" in capsys.readouterr().err
