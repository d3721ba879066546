"""A resumed sweep runs what is not finished, says why, and ends as if never cut off."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

import yantra
from tests.cases import ALL_REDUCE, cluster, scenario, write_result
from tests.sweeps import SCENARIO
from yantra.base.output import remove_leftovers, whole_file
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.run.result_names import result_names
from yantra.scenario import Case, Scenario

Captured = pytest.CaptureFixture[str]
BLOCK = """
from yantra.fabric.topologies.ring import Ring

class Mine(Ring):
    pass

PLUGIN = Mine
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    write_traces(1 << 20)
    names = []
    for size in (2, 4, 8):
        names.append(f"ring-{size}.yaml")
        Path(names[-1]).write_text(SCENARIO.format(kind="ring", size=size))
    assert main(["sweep", *names, "-o", "out"]) == 0
    return names


def write_traces(size_bytes: int) -> None:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, size_bytes)
    for rank in range(8):
        trace.build().write(f"step.{rank}.et")


def resumed(capsys: Captured, *arguments: str, status: int = 0) -> tuple[list[str], str]:
    capsys.readouterr()
    assert main(["sweep", *arguments, "-o", "out", "--resume", "--json"]) == status
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    return [row["scenario"] for row in rows if "skipped" not in row and "error" not in row], err


def contents(folder: str = "out") -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


def test_what_is_finished_is_skipped_and_its_line_is_the_same(
    files: list[str], capsys: Captured
) -> None:
    capsys.readouterr()
    assert main(["sweep", *files]) == 0
    lines = capsys.readouterr().out
    before, times = contents(), {file: os.stat(f"out/{file}").st_mtime_ns for file in contents()}
    assert main(["sweep", *files, "-o", "out", "--resume"]) == 0
    assert capsys.readouterr() == (lines, "skipped: 3 of 3, finished before\n")
    assert contents() == before
    assert {file: os.stat(f"out/{file}").st_mtime_ns for file in before} == times


def test_what_is_missing_runs(files: list[str], capsys: Captured) -> None:
    before = contents()
    os.remove("out/ring-4.json")
    assert resumed(capsys, *files) == (["ring-4.yaml"], "")
    assert contents() == before


def change_input(_: Any) -> None:
    write_traces(1 << 21)


def change_version(form: dict[str, Any]) -> None:
    form["yantra_version"] = "0.0.9"


def forget(form: dict[str, Any]) -> None:
    del form["case"]


def another_file(form: dict[str, Any]) -> None:
    form["case"]["file"] = "../other.yaml"


def another_digest(form: dict[str, Any]) -> None:
    form["case"]["digest"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (change_version, "out/ring-4.json is of Yantra 0.0.9"),
        (forget, "out/ring-4.json does not say which scenario it is of"),
        (another_file, "out/ring-4.json is of ../other.yaml"),
        (another_digest, "out/ring-4.json is older than its scenario"),
        (lambda form: form.pop("tables"), "out/ring-4.json is not whole (missing; expected a map"),
    ],
)
def test_a_result_that_is_not_of_this_scenario_and_version_is_made_again_and_said(
    change: Callable[[dict[str, Any]], Any], why: str, files: list[str], capsys: Captured
) -> None:
    before = contents()
    form = json.loads(before["ring-4.json"])
    change(form)
    write_result(Path("out/ring-4.json"), form)
    ran, said = resumed(capsys, *files)
    assert ran == ["ring-4.yaml"]
    assert f'{{"warning": "ring-4.yaml: {why}' in said and "it is run again" in said
    assert contents() == before


@pytest.mark.parametrize("part", [0, 0.3, 0.99])
def test_a_truncated_result_is_made_again(part: float, files: list[str], capsys: Captured) -> None:
    before = contents()
    os.truncate("out/ring-8.json", int(len(before["ring-8.json"]) * part))
    ran, said = resumed(capsys, *files)
    assert ran == ["ring-8.yaml"]
    assert "out/ring-8.json is not whole (" in said
    assert contents() == before


def test_a_changed_trace_is_another_scenario(files: list[str], capsys: Captured) -> None:
    write_traces(1 << 21)
    ran, said = resumed(capsys, *files)
    assert ran == files
    assert "out/ring-4.json is older than its input ../step.0.et and 3 more" in said
    assert main(["sweep", *files, "-o", "anew"]) == 0
    assert contents() == contents("anew")


def test_a_comment_in_a_scenario_file_changes_nothing(files: list[str], capsys: Captured) -> None:
    Path(files[0]).write_text("# a comment\n" + Path(files[0]).read_text())
    assert resumed(capsys, *files) == ([], "")


def test_other_settings_are_other_results(files: list[str], capsys: Captured) -> None:
    grid = [files[0], "--set", "collectives.chunks=1,2"]
    one, two = (f"{files[0]} collectives.chunks={chunks}" for chunks in (1, 2))
    assert resumed(capsys, *grid)[0] == [one, two]
    assert resumed(capsys, *grid)[0] == []
    form = json.loads(Path("out/ring-2,collectives.chunks=2.json").read_text())
    assert form["case"]["file"] == "../ring-2.yaml"
    assert form["case"]["settings"] == {"collectives.chunks": 2}
    ran, said = resumed(capsys, files[0], "--fold", "off")
    assert ran == [files[0]]
    assert "out/ring-2.json is of ../ring-2.yaml; it is run again" in said


def test_a_plug_in_that_changed_makes_its_results_anew(files: list[str], capsys: Captured) -> None:
    Path("mine.py").write_text(BLOCK)
    Path("own.yaml").write_text(SCENARIO.format(kind="./mine.py", size=4))
    Path("named.yaml").write_text(SCENARIO.format(kind="mine", size=4))
    line = ["own.yaml", "named.yaml", files[0], "--plugin", "mine.py"]
    assert resumed(capsys, *line)[0] == ["own.yaml", "named.yaml", files[0]]
    assert resumed(capsys, *line)[0] == []
    Path("mine.py").write_text(BLOCK + "\n")
    assert resumed(capsys, *line[:2], "--plugin", "mine.py")[0] == ["own.yaml", "named.yaml"]


def test_a_failed_scenario_runs_again(files: list[str], capsys: Captured) -> None:
    assert resumed(capsys, *files, "nowhere.yaml", status=2)[0] == []
    Path("nowhere.yaml").write_text(SCENARIO.format(kind="ring", size=2))
    assert resumed(capsys, *files, "nowhere.yaml")[0] == ["nowhere.yaml"]


def test_resuming_needs_a_folder(files: list[str], capsys: Captured) -> None:
    capsys.readouterr()
    assert main(["sweep", *files, "--resume"]) == 2
    said = "error: yantra sweep: --resume needs -o, the folder of the results; see"
    assert capsys.readouterr().err.startswith(said)
    with pytest.raises(yantra.ConfigError, match="resume: needs output"):
        yantra.sweep(files, resume=True)


def ring(size: int) -> Scenario:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_REDUCE, 10**6)

    return scenario(cluster(("ring", size, 50.0, 500.0)), write)


def test_from_python_what_is_finished_is_read_back(tmp_path: Path) -> None:
    found: list[tuple[int, str]] = []

    def swept(scenarios: list[Any]) -> list[Any]:
        found.clear()
        told = yantra.sweep(
            scenarios, output=tmp_path, resume=True, found=lambda *one: found.append(one)
        )
        return list(told)

    first = swept([ring(2), ring(4)])
    assert found == []
    again = swept([ring(2), ring(4)])
    assert sorted(found) == [(0, ""), (1, "")]
    assert [result.makespan_ns for result in again] == [result.makespan_ns for result in first]
    assert [list(result.ranks["finish_ns"]) for result in again] == [
        list(result.ranks["finish_ns"]) for result in first
    ]
    swept([ring(2), ring(8)])
    assert sorted(found) == [
        (0, ""),
        (1, f"{tmp_path}/scenario_1.json is older than its scenario"),
    ]


def test_a_class_in_no_file_is_never_taken_as_finished(tmp_path: Path) -> None:
    from yantra.fabric.topologies.ring import Ring

    class Mine(Ring):
        pass

    case = scenario(cluster((Mine, 4, 50.0, 500.0)), lambda trace, rank: None)
    list(yantra.sweep([case], output=tmp_path))
    with pytest.warns(UserWarning, match="of a class that is not in a file"):
        list(yantra.sweep([case], output=tmp_path, resume=True))


def test_names_tell_files_and_settings_apart() -> None:
    assert result_names(["s1/ring.yaml", "s2/ring.yaml", "s2/ring-2.yaml"]) == [
        "s1+ring",
        "s2+ring",
        "ring-2",
    ]
    assert result_names(["a/x.yaml", "a/x.yw", "a/../a/x.yw"]) == ["x.yaml", "x.yw", "x.yw"]
    awkward = ["/a+b/c.yaml", "/a/b+c.yaml", "/a/b/c.yaml", "/a/b/c", "/c.yaml", "/scenario 7.yaml"]
    awkward += ["/scenario_7.yaml", "/scenario-7.yaml"]
    values = ["a/b", "a_b", 4, 4.5, [1, "y"], None, True, {"k": "x2"}, "z" * 300, "z" * 301]
    grid = [Case("r.yaml", cluster, {"p": value}) for value in values for cluster in ("h", None)]
    names = result_names([*awkward, *grid])
    assert len(set(names)) == len(awkward) + len(grid)
    assert all(len(name) < 220 and "/" not in name for name in names)
    assert "r,p=[1,y]" in names and "r,cluster=h,p=4" in names


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(
    tmp_path: Path,
) -> None:
    result = tmp_path / "ring.json"
    left, others = tmp_path / "ring.json.0123abcd.tmp", tmp_path / "other.json.0123abcd.tmp"
    for file in (left, others):
        file.write_text("half")
    with whole_file(result) as name:
        remove_leftovers([result])
        assert os.path.exists(name)
        Path(name).write_text("whole")
    assert result.read_text() == "whole"
    assert sorted(tmp_path.iterdir()) == [others, result]


def test_a_full_disk_ends_only_the_scenarios_it_meets(
    files: list[str], capsys: Captured, full_disk: Callable[[int], AbstractContextManager[None]]
) -> None:
    before = contents()
    shutil.rmtree("out")
    most = len(before["ring-4.json"])  # those of 2 and 4 ranks fit, that of 8 does not
    assert len(before["ring-2.json"]) <= most < len(before["ring-8.json"])
    capsys.readouterr()
    with full_disk(most):
        assert main(["sweep", files[2], files[0], files[1], "-o", "out", "--threads", "1"]) == 2
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in out.splitlines()[1:]] == [files[2], *files[:2]]
    assert "failed" in out.splitlines()[1] and out.count("failed") == 1
    assert err == "error: ring-8.yaml: out/ring-8.json: cannot be written: File too large\n"
    assert contents() == {name: before[name] for name in ("ring-2.json", "ring-4.json")}
    assert resumed(capsys, *files)[0] == [files[2]]
    assert contents() == before


def test_local_memory_is_written_before_the_result_that_says_it_is_finished(
    files: list[str], capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path(files[0]).read_text() + "track_local_memory: true\n"
    Path("tracked.yaml").write_text(text)
    os.makedirs("local_mem_trace.1.json")  # so that it cannot be written
    capsys.readouterr()
    assert main(["sweep", "tracked.yaml", "-o", "out"]) == 2
    assert not os.path.exists("out/tracked.json")
