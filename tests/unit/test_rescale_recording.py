"""A rescaled recording does what the job does that was recorded at the new setting.

Beside this, six kinds of gloo jobs (a transformer and an MLP under DDP, PyTorch 2.13, 2 and 4
ranks) were recorded at both settings: operations of products and bytes of each group were equal in
13 of 13 changes of dp, layers, micro_batch, micro_batches, sequence and width.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.recorded_jobs import Plan, write
from tests.recorded_steps import Step
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import NodeType, Trace, read
from yantra.cli import main
from yantra.tracing.inspect.diff import diff
from yantra.tracing.inspect.rank_traces import RankTrace, load_job
from yantra.tracing.inspect.validate import check_traces
from yantra.tracing.rescale.rescale import Rescaled, rescale

BASE = Step()


def job(step: Step) -> list[RankTrace]:
    return [RankTrace(rank, f"step.{rank}.et", trace) for rank, trace in enumerate(step.traces())]


def facts(trace: Trace) -> tuple[Counter[Any], list[int]]:
    """How often each operator with its shapes and operations is there, and what is summed."""
    operators: Counter[Any] = Counter()
    sums = []
    for node in trace:
        if node.type == NodeType.COMM_COLL:
            size = node["comm_size"]
            assert isinstance(size, int)
            sums.append(size)
        else:
            shapes = node.inputs.shapes if node.inputs else ""
            operators[node.name, shapes, node.get("num_ops")] += 1
    return operators, sums


def check_like(made: Rescaled, wanted: Step) -> None:
    expected = wanted.traces()
    assert sorted(made.traces) == list(range(len(expected)))
    for rank, trace in made.traces.items():
        assert facts(trace) == facts(expected[rank]), rank
        said = {item.name: item.value for item in trace.metadata.attributes}
        assert (said["rank"], said["world_size"]) == (rank, wanted.dp)
    assert check_traces(list(made.traces.values()), groups=made.groups).valid


CASES = {
    "dp=x2": {"dp": 4},
    "dp=3": {"dp": 3},
    "layers=x2": {"layers": 6},
    "layers=2": {"layers": 2},
    "micro_batches=3": {"micro_batches": 3},
    "sequence=x2": {"sequence": 40},
    "micro_batch=x2": {"batch": 12},
    "width=x2": {"width": 128},
    "width=x0.5": {"width": 32},
}


@pytest.mark.parametrize(("setting", "changed"), CASES.items(), ids=CASES)
def test_a_rescaled_step_is_the_step_at_the_new_setting(
    setting: str, changed: dict[str, int]
) -> None:
    wanted = BASE._replace(**changed)
    made = rescale(job(BASE), [setting])
    check_like(made, wanted)
    assert made.changed == [setting] and made.kept and made.ranks_before == BASE.dp
    name = setting.partition("=")[0]
    old = {"micro_batch": BASE.batch}.get(name) or getattr(BASE, name)
    check_like(rescale(job(wanted), [f"{name}={old}"]), BASE)


def test_settings_may_come_together() -> None:
    settings = ["dp=4", "layers=x2", "width=x2", "sequence=x2", "micro_batches=2"]
    made = rescale(job(BASE), settings)
    check_like(made, Step(dp=4, layers=6, width=128, sequence=40, micro_batches=2))


def test_one_rank_of_one_kind_stands_for_all() -> None:
    made = rescale(job(BASE._replace(dp=8))[3:4], ["dp=x2"])
    check_like(made, BASE._replace(dp=16))
    assert any("every rank" in line for line in made.kept)


def test_replicas_are_those_that_the_generator_makes(tmp_path: Path) -> None:
    """Of a job with tensor and pipeline groups, norms and a loss of all ranks."""
    for dp in (1, 2, 4):
        plan = f"--tp 2 --pp 2 --dp {dp} --global-batch {4 * dp}".split()
        file, folder = str(tmp_path / f"{dp}.yw"), str(tmp_path / str(dp))
        model = ["--model", "llama3-8b", "--n-layer", "4"]
        assert main(["workload", "train", *model, *plan, "-o", file]) == 0
        assert main(["workload", "expand", file, "-o", folder]) == 0
    for old, new in ((2, 4), (4, 2), (4, 1), (2, 1)):
        given = load_job([str(tmp_path / str(old) / "workload.{rank}.et")])
        made = rescale(given, [f"dp={new}"])
        wanted = load_job([str(tmp_path / str(new) / "workload.{rank}.et")])
        names: dict[str, list[int]] = json.loads(
            (tmp_path / str(new) / "comm_group.json").read_text()
        )
        assert len(made.traces) == len(wanted)
        for rank, _, trace in wanted:
            assert diff(made.traces[rank], trace, ["pg_name"]).equal
            for one, other in zip(made.traces[rank], trace, strict=True):
                if one.type == NodeType.COMM_COLL:
                    members = made.groups[str(one["pg_name"])]
                    assert list(members) == names[str(other["pg_name"])]


def test_times_follow_the_work_beyond_what_an_operator_takes_at_least() -> None:
    made = rescale(job(BASE), ["sequence=x2"]).traces[0]
    products = [(node.duration_micros, node.name) for node in made if node.name == "aten::mm"]
    assert {took for took, _ in products} == {2 * BASE.us}
    ends = {node.id: node.start_micros + node.duration_micros for node in made}
    assert all(
        node.start_micros >= ends[parent] for node in made for parent in node.data_deps
    )  # recorded starts are made again


@pytest.mark.parametrize(
    ("step", "setting", "reason"),
    [
        (BASE, "tp=2", "no groups of ranks that split tensors"),
        (BASE, "pp=2", "no messages between stages"),
        (BASE._replace(sequence=64), "sequence=x2", "64 is a size that changes and also a size of"),
        (BASE._replace(layers=1), "layers=x2", "no operators repeat"),
        (BASE._replace(dp=4), "width=x0.3", "whole number"),
    ],
)
def test_what_is_not_determined_is_refused_with_the_reason(
    step: Step, setting: str, reason: str
) -> None:
    with pytest.raises((UnsupportedError, ConfigError), match=reason):
        rescale(job(step), [setting])


def test_a_group_that_would_be_torn_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="no group of ranks only sums"):
        rescale([RankTrace(0, "one.et", Trace())], ["dp=x2"])


def test_the_command_writes_traces_that_run(tmp_path: Path, capsys: Any) -> None:
    pattern, output = BASE.write(tmp_path), str(tmp_path / "more")
    assert main(["trace", "rescale", pattern, "--set", "dp=x2", "-o", output, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ranks_before"], told["ranks"], told["changed"]) == (2, 4, ["dp=x2"])
    assert len(load_job([f"{output}.{{rank}}.et"])) == 4
    assert json.loads((tmp_path / "more.groups.json").read_text()) == {}
    assert read(f"{output}.3.et").metadata is not None
    assert main(["trace", "rescale", pattern, "--set", "ep=2", "-o", output]) == 3
    assert "not determined" in capsys.readouterr().err


def test_of_several_recorded_steps_one_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = write(Plan(ranks=2, steps=3), tmp_path)
    command = ["trace", "rescale", pattern, "--set", "dp=x2", "-o", str(tmp_path / "more")]
    assert main(command) == 3
    assert "3 steps are recorded (#0 to #2): take one alone, such as --step 2" in (
        capsys.readouterr().err
    )
    main([*command, "--step", "2"])
    assert "steps are recorded" not in capsys.readouterr().err
    assert main([*command, "--step", "9"]) == 2
    assert "9" in capsys.readouterr().err
