"""`yantra workload` and `yantra run --workload`: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.oracles.small_workloads import standard
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.run.simulate import simulate
from yantra.scenario import load, loads, to_yaml
from yantra.workloads.describe import as_dict, report
from yantra.workloads.templates import Workload

Captured = pytest.CaptureFixture[str]

GIB = 1 << 30
SECTIONS = {
    "about": {"model": "small", "plan": {"tp": 2, "pp": 2}},
    "memory": {
        "stage0": {
            "weights": 10 * GIB,
            "activations": 90 * GIB,
            "timeline": [0, 45, 90],
            "peak": 100 * GIB,
        },
        "stage1": {
            "weights": 10 * GIB,
            "activations": 5 * GIB,
            "timeline": [5, 90, 0],
            "peak": 15 * GIB,
        },
    },
    "schedule": "0 F F B\n1  F B",
    "notes": ["made for a test"],
}


def _saved(folder: Path, **sections: Any) -> str:
    plain = standard(2, 2, 2)
    templates = {name: plain.template_bytes(name) for name in plain.templates}
    path = folder / "w.yw"
    Workload(
        grids=plain.grids,
        groups=plain.groups,
        classes=plain.classes,
        templates=templates,
        sections=SECTIONS | sections,
    ).save(path)
    return str(path)


def test_a_workload_is_shown_from_its_manifest(tmp_path: Path, capsys: Captured) -> None:
    path = _saved(tmp_path)
    assert main(["workload", "show", path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{path}: 8 ranks"
    assert "  plan: tp 2, pp 2" in lines
    assert "  grid train, dense: tp 2, cp 1, dp 2, pp 2" in lines
    assert any(line.startswith("stage0") and line.endswith("100 GiB") for line in lines)
    assert "over the step, what comes and goes; full height 90 B" in lines
    assert "  stage0  ▄█" in lines
    assert "  stage1 ▁█" in lines
    assert lines[lines.index("schedule") + 1 :][:2] == ["0 F F B", "1  F B"]
    assert lines[-1] == "note: made for a test"


def test_sums_over_all_ranks_weigh_templates_by_their_ranks(
    tmp_path: Path, capsys: Captured
) -> None:
    path = _saved(tmp_path)
    assert main(["workload", "show", path, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["templates"] == {"stage0": 4, "stage1": 4}
    for kind in ("compute", "communication"):
        for at in (-2, -1):
            one_of_each = sum(row[at] for total in shown["totals"].values() for row in total[kind])
            name = {-1: "bytes", -2: "operations" if kind == "compute" else "nodes"}[at]
            assert sum(row[name] for row in shown[kind]) == 4 * one_of_each


def test_totals_of_another_form_are_refused() -> None:
    workload = standard(2, 1, 1)
    for totals in ({}, {"stage0": {"nodes": 1}}, {"stage0": {"nodes": 1, "compute": [[1, 2]]}}, 3):
        workload._sections["totals"] = totals
        with pytest.raises(ConfigError, match=r"workload: totals\.stage0: not in the form"):
            as_dict(workload)


def test_sections_of_any_form_are_shown_or_left_out() -> None:
    for value in (None, 3, "x", [1, {}], {"a": 1}, {"a": {"peak": -1}}, {"a": {"peak": True}}):
        workload = standard(2, 1, 1)
        workload._sections |= {"about": value, "memory": value, "schedule": value, "notes": value}
        assert report(workload)
        json.dumps(as_dict(workload))
    workload._sections["memory"] = {"a": {"peak": 5, "timeline": ["x"]}}
    assert "memory of one rank" in report(workload)


def test_a_workload_is_expanded(tmp_path: Path, capsys: Captured) -> None:
    path = _saved(tmp_path)
    out = tmp_path / "et"
    assert main(["workload", "expand", path, "-o", str(out), "--ranks", "0,6-7"]) == 0
    assert sorted(entry.name for entry in out.iterdir()) == [
        "comm_group.json",
        "workload.0.et",
        "workload.6.et",
        "workload.7.et",
    ]
    assert main(["workload", "expand", path, "-o", str(out), "--ranks", "0,8"]) == 2
    assert capsys.readouterr().err == "error: --ranks: expected 0 to 7, got 8\n"
    assert main(["workload", "expand", path, "-o", str(out), "--prefix", "a/b"]) == 2
    assert "prefix: expected the beginning of file names" in capsys.readouterr().err


def test_a_workload_runs_on_a_named_cluster(tmp_path: Path, capsys: Captured) -> None:
    path = _saved(tmp_path)
    line = ["run", "--workload", path, "--cluster", "hgx-h200", "--json"]
    assert main(line) == 0
    usual = json.loads(capsys.readouterr().out)
    assert len(usual["tables"]["ranks"]) if "tables" in usual else usual
    assert main([*line, "--chunks", "1", "--all-reduce", "ring", "--semantics", "astra-sim"]) == 0
    assert json.loads(capsys.readouterr().out) != usual


def test_what_the_memory_cannot_hold_is_refused_unless_ignored(
    tmp_path: Path, capsys: Captured
) -> None:
    line = ["run", "--workload", _saved(tmp_path), "--cluster", "hgx-h100"]
    assert main(line) == 3
    assert capsys.readouterr().err == (
        "error: --cluster: hgx-h100 has 80 GiB on each device; the ranks of stage0 need 104 GiB "
        "(weights 10 GiB, activations 90 GiB, reserved 4 GiB); shard more, recompute or offload, "
        "or run it all the same with --ignore-memory\n"
    )
    assert main([*line, "--ignore-memory"]) == 0
    capsys.readouterr()
    assert main(["run", "--workload", _saved(tmp_path, memory={}), "--cluster", "hgx-h100"]) == 0


def test_a_plan_that_cannot_fit_is_refused_by_the_command_and_warned_of_in_python(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(
        "workload: {model: llama3-70b, plan: {tp: 8, dp: 2}, sequence: 128}\n"
        "cluster: {name: hgx-h100}\n"
    )
    need = "hgx-h100 has 80 GiB on each device; the ranks of stage0 need "
    assert main(["run", str(path)]) == 3
    refusal = capsys.readouterr().err
    assert refusal.startswith(f"error: workload: {need}")
    assert refusal.endswith("or run it all the same with --ignore-memory\n")
    assert main(["run", str(path), "--ignore-memory"]) == 0
    assert capsys.readouterr().err.startswith(f"warning: workload: {need}")
    (warning,) = simulate(path).warnings
    assert warning.startswith(f"workload: {need}")
    fits = {"workload.plan.zero": 3, "workload.plan.dp": 16}
    assert simulate(load(str(path), settings=fits)).warnings == []


REFUSED = {
    "nothing": ((), "expected a FILE, or --workload and --cluster; see"),
    "no cluster": (("--workload", "w.yw"), "--workload and --cluster; --cluster is missing; see"),
    "no workload": (
        ("--cluster", "tpu-v4"),
        "--workload and --cluster; --workload is missing; see",
    ),
    "a file and a workload": (
        ("s.yaml", "--workload", "w.yw"),
        "expected s.yaml or --workload w.yw, not both",
    ),
    "a file and an option": (
        ("s.yaml", "--all-reduce", "ring"),
        "--all-reduce goes with a workload; s.yaml is a scenario, which names its own cluster",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_command_lines_that_say_too_little_or_too_much(
    why: str, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, text = REFUSED[why]
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text("cluster: hgx-h100\n")
    assert main(["run", *arguments]) == 2
    assert text in capsys.readouterr().err


def test_a_number_of_ranks_that_the_cluster_lacks_is_refused_with_what_fits(
    tmp_path: Path, capsys: Captured
) -> None:
    standard(3, 3, 1).save(tmp_path / "w.yw")
    assert main(["run", "--workload", str(tmp_path / "w.yw"), "--cluster", "hgx-h100"]) == 2
    told = capsys.readouterr().err
    assert "9 ranks cannot be had on hgx-h100" in told
    assert "nearest possible: 8 and 16" in told


def test_a_scenario_file_names_a_workload_and_a_cluster(tmp_path: Path) -> None:
    _saved(tmp_path)
    (tmp_path / "s.yaml").write_text("workload: {templates: w.yw}\ncluster: hgx-h100\n")
    scenario = load(tmp_path / "s.yaml")
    assert scenario.topology.ranks == 8
    assert simulate(scenario).model.ranks == 8
    assert loads(to_yaml(scenario, tmp_path), tmp_path) == scenario


def test_traces_and_templates_exclude_each_other() -> None:
    text = 'workload: {templates: w.yw, traces: "t.{rank}.et"}\ncluster: hgx-h100\n'
    with pytest.raises(ConfigError, match="no such file"):
        loads(text)
    text = text.replace("hgx-h100", "{name: hgx-h100, ranks: 8}")
    with pytest.raises(ConfigError) as caught:
        loads(text)
    assert str(caught.value) == (
        "workload.traces: not together with templates, which says what runs"
    )
