"""`yantra validate` finds what a run would refuse, and more than the first of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden.astra_sim_inputs import write
from yantra.chakra import Node, NodeType, TraceBuilder
from yantra.cli import main

Captured = pytest.CaptureFixture[str]


def _lines(arguments: list[str], capsys: Captured) -> tuple[int, list[str]]:
    status = main(["validate", *arguments])
    return status, capsys.readouterr().out.splitlines()


def test_valid_inputs_are_counted(tmp_path: Path, capsys: Captured) -> None:
    status, lines = _lines(write("overlap", tmp_path), capsys)
    assert (status, lines[0]) == (0, "valid: 4 ranks, 12 nodes; 0 warnings")
    assert lines[1].startswith("work: about ") and len(lines) == 2


def test_warnings_do_not_make_inputs_invalid(tmp_path: Path, capsys: Captured) -> None:
    status, lines = _lines(write("roofline", tmp_path), capsys)
    assert status == 0
    assert lines[0].startswith("warning: ") and "all-to-all-implementation" in lines[0]
    assert lines[-2] == "valid: 8 ranks, 24 nodes; 1 warning"


def test_every_file_is_looked_at(tmp_path: Path, capsys: Captured) -> None:
    options = write("tutorial", tmp_path)
    (tmp_path / "system.json").write_text("{")
    (tmp_path / "memory.json").write_text('{"memory-type": "CLOUD"}')
    (tmp_path / "workload.3.et").write_bytes(b"not a trace")
    (tmp_path / "workload.5.et").unlink()
    status, lines = _lines(options, capsys)
    assert status == 2
    for name in ("system.json", "memory.json", "workload.3.et", "workload.5.et"):
        assert any(line.startswith("error: ") and name in line for line in lines), name
    assert lines[-1] == "4 errors, 0 warnings"


def test_every_trace_is_looked_at(tmp_path: Path, capsys: Captured) -> None:
    options = write("tutorial", tmp_path)
    for rank in (1, 6):
        trace = TraceBuilder()
        trace.compute(after=100 + rank)
        trace.build().write(tmp_path / f"workload.{rank}.et")
    status, lines = _lines(options, capsys)
    assert status == 2
    assert "workload.1.et" in lines[0] and "101" in lines[0]
    assert "workload.6.et" in lines[1] and "106" in lines[1]


def test_what_the_scenario_does_not_need_is_a_warning(tmp_path: Path, capsys: Captured) -> None:
    options = write("tutorial", tmp_path)
    trace = TraceBuilder()
    trace.add(Node(1, "sum", NodeType.COMM_COLL, 5))
    for rank in range(8):
        trace.build().write(tmp_path / f"workload.{rank}.et")
    system = json.loads((tmp_path / "system.json").read_text())
    assert _lines(options, capsys)[0] == 2
    (tmp_path / "system.json").write_text(json.dumps(system | {"replay-only": 1}))
    status, lines = _lines(options, capsys)
    assert status == 0
    assert lines[0].startswith("warning: ") and "(this scenario does not need it)" in lines[0]


def test_a_scenario_file_is_checked(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "s.yaml").write_text("workload: {traces: 't.{rank}.et'}\nclutser: {}\n")
    status, lines = _lines([str(tmp_path / "s.yaml")], capsys)
    assert status == 2
    assert "did you mean 'cluster'?" in lines[0]


def test_what_no_model_covers_is_status_3(tmp_path: Path, capsys: Captured) -> None:
    options = write("overlap", tmp_path)
    system = json.loads((tmp_path / "system.json").read_text())
    del system["all-reduce-implementation"]
    (tmp_path / "system.json").write_text(json.dumps(system))
    status, lines = _lines(options, capsys)
    assert status == 3
    assert "has no algorithm" in lines[0]


def test_findings_as_json(tmp_path: Path, capsys: Captured) -> None:
    assert main(["validate", "--json", str(tmp_path / "none.yaml")]) == 2
    form = json.loads(capsys.readouterr().out)
    assert form["valid"] is False and form["exit_code"] == 2
    assert [finding["severity"] for finding in form["findings"]] == ["error"]
