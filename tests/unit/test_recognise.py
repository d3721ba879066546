"""One argument for everything that runs: a file is recognized by its content."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import yantra
from tests.oracles.small_workloads import standard
from yantra import scenario as scenarios
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.scenario.recognise import recognise

Captured = pytest.CaptureFixture[str]
JOB = "model: llama3-8b\nplan: {tp: 8, dp: 2}\nsequence: 512\n"
IN_SCENARIO = """workload:
  model: llama3-8b
  plan: {tp: 8, dp: 2}
  sequence: 512
cluster: hgx-h100
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    standard(2, 4, 1).save(tmp_path / "step.yw")
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20)
    for rank in range(8):
        trace.build().write(tmp_path / f"step.{rank}.et")
    (tmp_path / "traces.yaml").write_text(
        'workload: {traces: "step.{rank}.et"}\ncluster: hgx-h100\n'
    )
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "model.yaml").write_text(IN_SCENARIO)
    assert main(["run", "traces.yaml", "--no-record", "-o", "result.json"]) == 0
    return tmp_path


def test_a_file_is_told_by_its_content_and_not_by_its_name(folder: Path) -> None:
    kinds = {"step.yw": "workload", "traces.yaml": "scenario", "result.json": "result"}
    for name, kind in (kinds | {"job.yaml": "job"}).items():
        shutil.copy(name, "something.else")
        assert recognise("something.else").kind == kind
    assert recognise("step.{rank}.et").kind == "traces"


def printed(capsys: Captured, *line: str) -> str:
    capsys.readouterr()
    assert main(list(line)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def test_a_workload_runs_as_with_its_option(folder: Path, capsys: Captured) -> None:
    cluster = ("--cluster", "hgx-h100", "--chunks", "2", "--json")
    short = printed(capsys, "run", "step.yw", *cluster)
    assert short == printed(capsys, "run", "--workload", "step.yw", *cluster)


def test_a_pattern_of_traces_runs_as_a_scenario_that_names_it(
    folder: Path, capsys: Captured
) -> None:
    short = printed(capsys, "run", "step.{rank}.et", "--cluster", "hgx-h100")
    assert short == printed(capsys, "run", "traces.yaml")


def test_a_job_file_runs_as_the_workload_made_of_it_and_as_a_scenario_that_holds_it(
    folder: Path, capsys: Captured
) -> None:
    short = printed(capsys, "run", "job.yaml", "--cluster", "hgx-h100")
    printed(capsys, "workload", "train", "--job", "job.yaml", "-o", "made.yw")
    assert short == printed(capsys, "run", "made.yw", "--cluster", "hgx-h100")
    assert short == printed(capsys, "run", "model.yaml")
    assert short == printed(capsys, "run", "traces.yaml", "--set", "workload={model: llama3-8b, "
                            "plan: {tp: 8, dp: 2}, sequence: 512}")  # fmt: skip


def test_a_scenario_with_a_model_reads_back_from_its_text_and_from_its_result(
    folder: Path, capsys: Captured
) -> None:
    scenario = scenarios.load("model.yaml")
    assert scenarios.loads(scenarios.to_yaml(scenario)) == scenario
    first = printed(capsys, "run", "model.yaml", "-o", "model.json", "--report", "model.html")
    assert first == printed(capsys, "run", "model.json")
    assert "llama3-8b" in Path("model.html").read_text()


@pytest.mark.parametrize("command", ["explain", "validate", "sweep"])
@pytest.mark.parametrize("name", ["step.yw", "step.{rank}.et"])
def test_every_command_that_runs_takes_the_same_files(
    folder: Path, capsys: Captured, command: str, name: str
) -> None:
    printed(capsys, command, name, "--cluster", "hgx-h100", "--set", "collectives.chunks=2")
    assert main([command, name]) == 2
    told = capsys.readouterr()
    assert "add --cluster hgx-h100 or another" in told.err + told.out


def test_two_files_that_run_are_compared_as_their_results(folder: Path, capsys: Captured) -> None:
    told = printed(capsys, "compare", "result.json", "step.yw", "--cluster", "hgx-h100")
    assert "result.json takes" in told and "step.yw" in told
    assert main(["compare", "result.json", "result.json", "--cluster", "hgx-h100"]) == 2


def test_a_sweep_names_its_rows_by_what_is_set(folder: Path, capsys: Captured) -> None:
    lines = printed(capsys, "sweep", "traces.yaml", "--set", "collectives.chunks=1,2", "-o", "out")
    assert [line.split()[:2] for line in lines.splitlines()[1:]] == [
        ["traces.yaml", "collectives.chunks=1"],
        ["traces.yaml", "collectives.chunks=2"],
    ]
    names = sorted(path.name for path in Path("out").iterdir())
    assert names == [f"traces,collectives.chunks={chunks}.json" for chunks in (1, 2)]
    rows = list(yantra.sweep(
        scenarios.Case("step.yw", "hgx-h100", {"collectives.chunks": chunks}) for chunks in (1, 2)
    ))  # fmt: skip
    assert not any(isinstance(row, yantra.YantraError) for row in rows)


def test_simulate_takes_a_path_as_sweep_does(folder: Path) -> None:
    ours = yantra.simulate("traces.yaml").makespan_ns
    assert ours == yantra.simulate(scenarios.load("traces.yaml")).makespan_ns


WRONG = {
    "step.0.et": "a trace of one rank; name those of all ranks: 'step.{rank}.et'",
    "page.html": "HTML, as reports are; expected the scenario or the result (-o)",
    "system.json": "the system file of an ASTRA-sim run, which has four files: yantra astra-sim "
    "--system-configuration=system.json and the others (yantra astra-sim --help)",
    "network.yml": "the network file of an ASTRA-sim run, which has four files: yantra astra-sim "
    "--network-configuration=network.yml and the others (yantra astra-sim --help)",
    "loop.txt": "a text workload of ASTRA-sim 1.0; make it a workload first: yantra chakra "
    "convert text loop.txt -o step.yw",
    "bytes": "neither a scenario, a result nor a workload (.yw): not UTF-8 text",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_run_by_itself_is_told_what_it_is(
    folder: Path, capsys: Captured, name: str
) -> None:
    Path("page.html").write_text("<!doctype html>")
    Path("system.json").write_text('{"scheduling-policy": "LIFO"}')
    Path("network.yml").write_text("topology: [Ring]\nnpus_count: [4]\n")
    Path("loop.txt").write_text("DATA\n1\nonly -1 5 NONE 0 4 NONE 0 3 ALLREDUCE 1024 1\n")
    Path("bytes").write_bytes(b"\xff\xfe")
    if name == "step.0.et":
        Path(name).write_bytes(b"\xff" + Path(name).read_bytes())
    for command in ("run", "explain", "validate"):
        capsys.readouterr()
        assert main([command, name]) == 2
        told = capsys.readouterr()
        assert f"{name}: {WRONG[name]}" in told.err + told.out


def test_one_rank_of_many_is_told_how_it_can_stand_for_all(folder: Path, capsys: Captured) -> None:
    Path("alone.34.et").write_bytes(Path("step.0.et").read_bytes())
    capsys.readouterr()
    assert main(["run", "alone.34.et", "--cluster", "hgx-h100"]) == 2
    assert "only rank 34 is here (alone.34.et)" in (said := capsys.readouterr().err)
    assert "--replicate lets one rank stand for all" in said


def test_options_of_a_workload_do_not_go_with_a_scenario(folder: Path, capsys: Captured) -> None:
    assert main(["run", "traces.yaml", "--cluster", "hgx-h100"]) == 2
    problem = "goes with a workload; traces.yaml is a scenario, which names its own cluster"
    assert capsys.readouterr().err == f"error: --cluster: {problem}\n"


def test_missing_traces_are_told_in_one_line(folder: Path, capsys: Captured) -> None:
    for rank in (2, 3, 5):
        Path(f"step.{rank}.et").unlink()
    assert main(["validate", "traces.yaml", "--set", "cluster.ranks=8"]) == 2
    told = capsys.readouterr().out
    assert "step.{rank}.et: no such file for ranks 2, 3, 5 of the 8 ranks of the cluster" in told
    assert "1 error" in told


def test_a_plan_of_other_ranks_than_the_cluster_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"workload.plan: has 16 ranks, the cluster 32"):
        scenarios.load("model.yaml", settings={"cluster.ranks": 32})
