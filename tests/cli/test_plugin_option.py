"""`--plugin FILE` gives a plug-in's name to every command that reads a scenario."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import ASTRA_SIM_SYSTEM
from yantra.cli import main

PLUGINS = ["--plugin", "my_chords.py", "--plugin=my_back.py"]


@pytest.fixture
def folder(inputs: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["new", "topology", "my_chords"]) == 0
    assert main(["new", "collective", "my_back"]) == 0
    scenario = (inputs / "step.yaml").read_text()
    named = scenario.replace("kind: ring", "kind: my_chords").replace("[ring]", "[my_back]")
    (inputs / "named.yaml").write_text(named)
    by_path = named.replace("my_chords", "./my_chords.py").replace("my_back", "./my_back.py")
    (inputs / "by_path.yaml").write_text(by_path)
    capsys.readouterr()
    return inputs


def test_a_name_and_a_path_give_the_same_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "by_path.yaml"]) == 0
    by_path = capsys.readouterr().out
    assert main(["run", "named.yaml", *PLUGINS]) == 0
    assert capsys.readouterr().out == by_path
    assert "my_chords 4" in by_path
    assert main(["run", "named.yaml"]) == 2
    assert "no topology is named 'my_chords'" in capsys.readouterr().err


def test_a_result_runs_again_without_the_option(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "out").mkdir()
    assert main(["run", "named.yaml", *PLUGINS, "-o", "out/result.json"]) == 0
    first = capsys.readouterr().out
    form = json.loads((folder / "out" / "result.json").read_text())
    assert form["scenario"]["cluster"]["topology"][0]["kind"] == "../my_chords.py"
    assert form["scenario"]["collectives"]["all_reduce"] == ["../my_back.py"]
    assert {"../my_chords.py", "../my_back.py"} < set(form["inputs"])
    assert main(["run", "out/result.json"]) == 0
    assert capsys.readouterr().out == first
    assert main(["explain", "out/result.json"]) == 0


@pytest.mark.parametrize("command", ["validate", "sweep", "explain"])
def test_every_command_of_scenarios_takes_it(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "named.yaml"]) == 2
    assert main([command, "named.yaml", *PLUGINS]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("command", ["astra-sim", "validate"])
def test_astra_sim_takes_plug_ins_by_name_and_by_path(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        "--workload-configuration=job",
        "--system-configuration=own.json",
        "--network-configuration=own.yml",
        "--remote-memory-configuration=memory.json",
    ]
    for kind, algorithm, plugins in (
        ("my_chords", "my_back", PLUGINS),
        ("./my_chords.py", "./my_back.py", []),
    ):
        network = (folder / "network.yml").read_text().replace("Ring", kind)
        (folder / "own.yml").write_text(network)
        system = ASTRA_SIM_SYSTEM | {"all-reduce-implementation": [algorithm]}
        (folder / "own.json").write_text(json.dumps(system))
        assert main([command, *files, *plugins]) == 0, capsys.readouterr().err
        if plugins:
            assert main([command, *files]) == 2
    capsys.readouterr()


def test_a_file_that_is_wrong_ends_the_command(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "broken.py").write_text("x = 1\nraise ValueError('no')\n")
    assert main(["run", "named.yaml", "--plugin", "broken.py"]) == 2
    assert capsys.readouterr().err == (
        "error: broken.py: cannot be imported: ValueError: no (line 2)\n"
    )
