"""A result carries its scenario and the digests of its files, and runs again from them."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from tests.cases import ALL_REDUCE, cluster, collectives, traces
from tests.golden import recorded
from yantra import scenario as scenarios
from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.run.simulate import simulate
from yantra.scenario import ChakraFiles, Custom, Scenario, Traces
from yantra.scenario.origin import changed, digests, scenario_of_result, tree_of

TOPOLOGY = cluster(("ring", 4, 50.0, 500.0))
DATA = Path(recorded.__file__).parent / "data"


def one(builder: TraceBuilder, rank: int) -> None:
    builder.collective(ALL_REDUCE, 1 << 20, after=builder.compute(duration_micros=3 + rank))


def in_files(folder: Path) -> Scenario:
    for rank, trace in enumerate(traces(4, one)):
        trace.write(folder / f"step.{rank}.et")
    workload = ChakraFiles(prefix=str(folder / "step"), groups=((3, (0, 2)),))
    return Scenario(workload=workload, topology=TOPOLOGY, collectives=collectives())


def test_a_result_runs_again_from_its_own_file(tmp_path: Path) -> None:
    first = simulate(in_files(tmp_path))
    first.to_json(tmp_path / "r.json")
    again = simulate(scenarios.load(tmp_path / "r.json"))
    assert again.model.scenario == first.model.scenario
    assert again.as_dict() == first.as_dict()


@pytest.mark.parametrize("file", sorted(DATA.glob("*.jsonl")), ids=lambda file: file.stem)
def test_the_scenario_of_an_astra_sim_input_comes_back_equal(file: Path, tmp_path: Path) -> None:
    case = json.loads(file.read_text().splitlines()[0])
    recorded.write(case, tmp_path)
    for backend in case["expected"]:
        scenario = recorded.model_of(case, backend, tmp_path).scenario
        form = {"format": "yantra-result", "scenario": tree_of(scenario, tmp_path)}
        assert scenario_of_result(json.dumps(form), "r.json", tmp_path) == scenario


def test_relative_paths_start_from_the_folder_of_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.makedirs("traces")
    os.makedirs("results")
    result = simulate(in_files(Path("traces")))
    result.to_json("results/r.json")
    form = json.loads(Path("results/r.json").read_text())
    assert form["scenario"]["workload"]["traces"] == "../traces/step.{rank}.et"
    assert list(form["inputs"]) == [f"../traces/step.{rank}.et" for rank in range(4)]
    monkeypatch.chdir("traces")
    workload = scenarios.load("../results/r.json").workload
    assert workload == ChakraFiles(prefix="../traces/step", groups=((3, (0, 2)),))


def test_the_digest_is_that_of_every_file_the_scenario_names(tmp_path: Path) -> None:
    scenario = in_files(tmp_path)
    for position in range(2):
        (tmp_path / f"own.{position}.et").write_bytes(b"any")
    own = Custom(prefix=str(tmp_path / "own"))
    named = scenario.replace(collectives=collectives().replace(all_reduce=own))
    found = digests(named, tmp_path)
    names = ["own.0.et", "own.1.et", *(f"step.{rank}.et" for rank in range(4))]
    assert sorted(found) == [str(tmp_path / name) for name in names]
    for file, digest in found.items():
        assert digest == hashlib.sha256(Path(file).read_bytes()).hexdigest()


def test_a_file_that_changed_or_is_gone_is_told(tmp_path: Path) -> None:
    found = digests(in_files(tmp_path), tmp_path)
    assert changed(found, tmp_path) == []
    (tmp_path / "step.1.et").write_bytes(b"another")
    (tmp_path / "step.2.et").unlink()
    assert changed(found, tmp_path) == [
        f"{tmp_path}/step.1.et: changed since it was written",
        f"{tmp_path}/step.2.et: no longer there",
    ]


def test_traces_in_memory_are_told_of_and_cannot_be_run_again(tmp_path: Path) -> None:
    workload = Traces(traces=traces(4, one), groups=((3, (0, 2)),))
    result = simulate(in_files(tmp_path).replace(workload=workload))
    result.to_json(tmp_path / "r.json")
    form = json.loads((tmp_path / "r.json").read_text())
    said = "traces of 4 ranks, made in Python and not in a file"
    assert form["scenario"]["workload"] == {"in_memory": said, "groups": {"3": [0, 2]}}
    assert form["inputs"] == {}
    with pytest.raises(ConfigError) as caught:
        scenarios.load(tmp_path / "r.json")
    assert str(caught.value) == (
        f"{tmp_path}/r.json: scenario.workload: cannot be run again: {said}; "
        "write it to files before it runs"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": "yantra-result",', "r.json, line 1, column 28: not JSON: expecting property"),
        (
            '{"format": "yantra-result"}',
            "r.json: scenario: missing; an older version of Yantra wrote",
        ),
        (
            '{"format": "yantra-result", "scenario": 3}',
            "r.json: scenario: expected a mapping, got 3",
        ),
        (
            '{"format": "yantra-result", "scenario": {}}',
            "r.json: scenario.workload: missing; expected a mapping such as {templates: step.yw}",
        ),
    ],
)
def test_a_result_without_a_scenario_says_so(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        scenario_of_result(text, "r.json")
    assert str(caught.value).startswith(said)
