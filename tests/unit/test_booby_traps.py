"""A stranger's folder is data: no command runs the code that a file of it names. Each file names
code by another key, and the code leaves a mark where it runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest

from tests import traps
from tests.cli import tree
from tests.traps import MARK
from yantra.cli import main

RUNS_NEVER = ("collectives.all_gather",)
"""Keys of what this job does not do: not even trusted code runs."""

OF_A_SCENARIO = (
    "run F",
    "run F --json",
    "run F --record -o again.json",
    "validate F",
    "explain F",
    "explain F --no-runs",
    "sweep F -o out",
    "plot gantt F -o gantt.svg",
    "compare F F",
    "network compare F",
    "chakra obfuscate step.{rank}.et -o hidden --level 1 --key k --scenario F",
)
MODELS = {
    "job.yaml": traps.STEP | {"model": "./evil.py"},
    "schedule.yaml": traps.STEP | {"plan": {"pp": 4, "global_batch": 8, "schedule": "./evil.py"}},
    "alias.yaml": traps.STEP
    | {"plan": {"pipeline_parallel_degree": 4, "pipeline_parallel_schedule": "./evil.py"}},
    "config.json": {"model_type": "./evil.py", "hidden_size": 8},
}
OF_A_MODEL = (
    "run F --cluster hgx-h100",
    "validate F --cluster hgx-h100",
    "explain F --cluster hgx-h100",
    "network compare F --cluster hgx-h100",
    "workload train --job F -o x.yw",
    "workload train --hf-config F --tp 2 -o x.yw",
    "workload train --model F --tp 2 -o x.yw",
    "workload infer --model F --tp 2 --phase decode -o x.yw",
    "workload show F",
    "plan --model F --clusters hgx-h100 --ranks 8 --global-batch 8",
    "sweep F --cluster hgx-h100 -o out",
)
STUDY = {"model": "./evil.py", "global_batch": 8, "clusters": ["hgx-h100"], "ranks": [8]}
OF_A_STUDY = ("explore run F -o found", "explore breaks F --vary peak")
OF_TRIALS = (
    "explore why found --not tp=2",
    "explore odds found",
    "explore next found --offer 'peak=2'",
    "explore report found -o page.html",
    "explore breaks found --vary peak",
    "explore run study.yaml -o found --resume",
)
OF_A_CLUSTER = (
    "cluster show F",
    "cluster show F --ranks 8",
    "topology show F --infragraph x.infragraph.yaml",
    "run job.yaml --cluster F",
    "collective bench --cluster F",
    "plan --model llama3-8b --clusters F --ranks 8 --global-batch 8",
    "network compare --cluster F --all-reduce 1MiB",
    "explore run clusters.yaml -o found",
    "contract cluster F",
)
ASTRA_SIM = (
    "--workload-configuration=step --system-configuration=system.json "
    "--network-configuration=network.yml --remote-memory-configuration=memory.json"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    monkeypatch.chdir(stranger)
    traps.lay(stranger)
    return stranger


def write(name: str, form: Any) -> None:
    Path(name).write_text(json.dumps(form))


def status_of(line: str, file: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    words = [file if word == "F" else word.strip("'") for word in line.split()]
    status = main(words)
    return status, "".join(capsys.readouterr())


def silent(lines: Iterator[str] | tuple[str, ...], file: str, capsys: Any) -> dict[str, str]:
    said = {}
    for line in lines:
        status, said[line] = status_of(line, file, capsys)
        assert not Path(MARK).exists(), line
        assert status in (0, 2, 3), (line, said[line])
    return said


@pytest.mark.parametrize("key", traps.KEYS)
def test_no_command_runs_what_a_scenario_or_a_result_names(
    folder: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    write("step.yaml", traps.scenario(key))
    write("result.json", traps.result(key))
    write("jobs.yaml", {**traps.scenario(key), "jobs": ["step.yaml"]})
    for file in ("step.yaml", "result.json", "jobs.yaml"):
        said = silent(OF_A_SCENARIO, file, capsys)
        if file == "jobs.yaml":
            continue
        for line in ("run F", "validate F", "explain F"):
            assert "not trusted" in said[line], said[line]
            assert f"error: {file}: " in said[line]
            assert "yantra trust " in said[line]
            field = key.partition(" ")[0].replace("topology.", "topology[0].")
            assert field.replace("devices.", "devices[0].") in said[line]


@pytest.mark.parametrize("key", traps.KEYS)
def test_what_the_user_trusts_runs(
    folder: Path, capsys: pytest.CaptureFixture[str], key: str
) -> None:
    traps.arm(folder, key)
    write("step.yaml", traps.scenario(key))
    assert main(["trust", "."]) == 0
    status_of("run F", "step.yaml", capsys)
    assert Path(MARK).exists() == (key not in RUNS_NEVER)


@pytest.mark.parametrize("file", MODELS)
def test_no_command_runs_what_a_model_or_a_job_names(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str
) -> None:
    write(file, MODELS[file])
    said = silent(OF_A_MODEL, file, capsys)
    named = [text for text in said.values() if "evil.py is not trusted" in text]
    assert named
    assert all(file in text for text in named)


def test_no_command_runs_what_a_study_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from yantra.explore.study.study_file import study_of

    write("study.yaml", STUDY)
    said = silent(OF_A_STUDY, "study.yaml", capsys)
    assert "study.yaml: model: " in said["explore run F -o found"]
    known = study_of(STUDY | {"model": "llama3-8b"}, "study.yaml")._replace(model="./evil.py")
    first = {"study": known.digest, "of": known}
    Path("found").mkdir(exist_ok=True)
    Path("found/trials.jsonl").write_text(json.dumps(first) + "\n")
    said = silent(OF_TRIALS, "study.yaml", capsys)
    assert "found/trials.jsonl: model: ./evil.py is not trusted" in said["explore odds found"]


@pytest.mark.parametrize(
    ("told", "trap"),
    [
        ("kind: switch", "kind: ./evil.py"),
        ("kind: switch", "kind: ./evil.py:8"),
        ("all_reduce: [", "all_reduce: [./evil.py, "),
    ],
)
def test_no_command_runs_what_a_cluster_names(
    folder: Path, capsys: pytest.CaptureFixture[str], told: str, trap: str
) -> None:
    from yantra.fabric.clusters.find import path_of

    text = Path(path_of("hgx-h100")).read_text()
    if told not in text:
        told, trap = "  algorithms:\n", "  algorithms: {all_reduce: [./evil.py]}\n  was:\n"
    Path("mine.yaml").write_text(text.replace(told, trap, 1))
    write("job.yaml", traps.STEP)
    write("clusters.yaml", STUDY | {"model": "llama3-8b", "clusters": ["./mine.yaml"]})
    silent(OF_A_CLUSTER, "./mine.yaml", capsys)


@pytest.mark.parametrize("of", ["system", "network"])
def test_no_command_runs_what_a_file_of_astra_sim_names(
    folder: Path, capsys: pytest.CaptureFixture[str], of: str
) -> None:
    algorithm = "./evil.py" if of == "system" else "ring"
    kind = "./evil.py" if of == "network" else "Ring"
    network = f"topology: [ {kind} ]\nnpus_count: [ 4 ]\nbandwidth: [ 50 ]\nlatency: [ 500 ]\n"
    Path("network.yml").write_text(network)
    write("memory.json", {"memory-type": "NO_MEMORY_EXPANSION"})
    system: dict[str, Any] = {"scheduling-policy": "LIFO", "endpoint-delay": 10}
    system |= {"active-chunks-per-dimension": 1, "preferred-dataset-splits": 1}
    system |= {f"{one}-implementation": [algorithm] for one in ("all-reduce", "all-gather")}
    write("system.json", system | {"collective-optimization": "baseline"})
    said = silent((f"astra-sim {ASTRA_SIM}", f"validate {ASTRA_SIM}"), "", capsys)
    for text in said.values():
        assert "evil.py is not trusted, so its code was not run" in text
        assert f"{of}." in text.split(":")[1]


def leaves() -> list[tree.Found]:
    return [one for one in tree.COMMANDS if one.words and one.words[0] not in ("ui", "service")]


def lines_of(found: tree.Found, file: str, out: str) -> Iterator[list[str]]:
    needed: list[str] = []
    takes: list[list[str]] = []
    for parameter in found.command.params:
        option = next((name for name in parameter.opts if name.startswith("--")), None)
        is_code = option in ("--plugin", "--command", "--export", "--backend", "--network")
        if isinstance(parameter, click.Argument):
            takes.append([file])
        elif option is None or is_code or getattr(parameter, "is_flag", False):
            continue
        elif option == "--output":
            needed += [option, out]
        elif isinstance(parameter.type, click.Path) or parameter.required:
            takes.append([option, file])
    if len(takes) > 1:
        yield [*found.words, *needed, *(word for words in takes for word in words)]
    for words in takes:
        yield [*found.words, *needed, *words]


@pytest.mark.parametrize("found", leaves(), ids=tree.name)
def test_no_command_at_all_runs_what_files_name(
    folder: Path, capsys: pytest.CaptureFixture[str], found: tree.Found
) -> None:
    write("step.yaml", traps.scenario("network"))
    write("result.json", traps.result("network.options.command"))
    write("study.yaml", STUDY)
    for name, form in MODELS.items():
        write(name, form)
    for file in ("step.yaml", "result.json", "study.yaml", *MODELS):
        for words in lines_of(found, file, "out.json"):
            if words[0] == "trust":
                continue
            with suppress(SystemExit):
                main(words)
            capsys.readouterr()
            assert not Path(MARK).exists(), words


def installed(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "yantra", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_fresh_process_starts_no_program_of_a_result(folder: Path) -> None:
    write("result.json", traps.result("network.options.command"))
    done = installed("explain", "result.json")
    assert done.returncode == 2
    assert done.stderr.partition("\n")[2].startswith(
        "error: result.json: scenario.network.options.command: result.json is not trusted, so the "
        f"program touch {MARK} was not started; if you trust it, type: yantra trust ., or add --set"
    )
    assert done.stderr.endswith("; --no-runs explains what the result holds\n")
    assert not Path(MARK).exists()


def test_python_m_yantra_imports_nothing_of_the_folder(folder: Path) -> None:
    for name in ("json", "click", "numpy", "rich", "msgspec"):
        Path(f"{name}.py").write_text(Path("evil.py").read_text())
    info = Path("evil-1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[yantra.networks]\nevil = evil:PLUGIN\n")
    write("step.yaml", traps.SCENARIO | {"network": "evil"})
    command = [sys.executable, "-m", "yantra", "run", "step.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    assert "no network is named 'evil'" in done.stderr
    assert not Path(MARK).exists()


def test_a_server_runs_not_even_what_is_trusted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from yantra.base import trust
    from yantra.scenario import load

    for key in ("network", "network.options.command"):
        traps.arm(folder, f"server {key}")
        write("step.yaml", traps.scenario(key))
        assert main(["trust", "."]) == 0
        with trust.Command(asks_store=False), pytest.raises(trust.NotTrustedError) as caught:
            load("step.yaml")
        assert "a server " in str(caught.value)
        assert not Path(MARK).exists()
