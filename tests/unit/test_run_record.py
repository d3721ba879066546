"""When `yantra run` records, and what of it is in the result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import ALL_REDUCE, traces
from yantra.chakra import TraceBuilder
from yantra.cli import main, recording

SCENARIO = """
workload: {traces: "step.{rank}.et"}
cluster:
  topology: [{kind: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]
collectives: {all_reduce: [ring]}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(builder: TraceBuilder, rank: int) -> None:
        builder.collective(ALL_REDUCE, 1 << 20, after=builder.compute(duration_micros=9))

    monkeypatch.chdir(tmp_path)
    for rank, trace in enumerate(traces(4, step)):
        trace.write(f"step.{rank}.et")
    Path("s.yaml").write_text(SCENARIO)


def form(*options: str) -> dict[str, Any]:
    assert main(["run", "s.yaml", "-o", "r.json", *options]) == 0
    read: dict[str, Any] = json.loads(Path("r.json").read_text())
    return read


def test_a_result_in_json_is_recorded_and_no_time_changes() -> None:
    recorded, plain = form(), form("--no-record")
    assert recorded["recorded"] and not plain["recorded"]
    path = recorded.pop("critical_path")
    assert path["length_ns"] == recorded["makespan_ns"]
    assert path["by_kind"]["compute"] == 9000
    for name, table in plain.pop("tables").items():
        of_recorded = recorded["tables"][name]
        assert {column: of_recorded[column] for column in table} == table
    del plain["sealed"]
    plain |= {"recorded": True, "events": recorded["events"]}  # a plain one may take shortcuts
    assert {key: recorded[key] for key in plain} == plain


def test_json_on_standard_output_is_recorded_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "s.yaml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["critical_path"]["by_kind"]["compute"] == 9000


def test_a_recording_beyond_the_bound_is_left_out_and_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("s.yaml").write_text(SCENARIO.replace("[ring]}", "[ring], chunks: 8192}"))
    monkeypatch.setattr(recording, "MOST_BYTES", 1024)
    assert not form()["recorded"]
    assert capsys.readouterr().err == (
        "warning: not recorded, so there is no critical path: it takes more than 1 KiB; --record "
        "keeps it anyway\n"
    )
    assert form("--record")["recorded"]


def test_a_result_runs_again_and_tells_of_files_that_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = form()
    assert main(["run", "r.json", "--json"]) == 0
    printed = capsys.readouterr().out
    again = json.loads(printed[printed.index("{") :])
    assert again["critical_path"] == first["critical_path"]
    Path("step.1.et").unlink()
    assert main(["run", "r.json"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("warning: r.json: step.1.et: no longer there\nerror: step.1.et: no such")
