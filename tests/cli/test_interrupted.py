"""Long commands that are interrupted: one line, the right status, whole files and nothing half."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest

from tests.cli.terminals import see
from yantra.chakra import Trace
from yantra.cli import main

pytest.importorskip("pty")
RANKS = 512
LONG = f"""
workload: {{templates: long.yw}}
cluster:
  topology: [{{kind: ring, size: {RANKS}, bandwidth: 50 GB/s, latency: 500 ns}}]
  device: {{memory_bandwidth: 1 TB/s}}
collectives:
  all_reduce: [ring]
  all_gather: [ring]
  reduce_scatter: [ring]
  chunks: 1000
fold: off
"""


@pytest.fixture
def folder(inputs: Path) -> Path:
    """The files, with a scenario that runs for minutes and a workload of many ranks."""
    (inputs / "long.yaml").write_text(LONG)
    for name, replicas in (("long.yw", RANKS // 2), ("many.yw", 8192)):
        line = f"workload train --hf-config config.json --tp 2 --dp {replicas} -o {name}"
        assert main(line.split()) == 0
    return inputs


def unfinished(folder: Path) -> list[Path]:
    return list(folder.rglob("*.tmp"))


@pytest.mark.parametrize(
    ("send", "status", "said"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_run_ends_at_once_and_keeps_what_was_known(
    send: signal.Signals, status: int, said: str, folder: Path
) -> None:
    seen = see(["run", "long.yaml", "-o", "r.json"], folder, at="simulating", send=send)
    assert seen.status == status
    assert seen.terminal.rstrip().endswith(f"error: {said}")
    assert re.search(
        r"PARTIAL: interrupted when the run had come to [\d.]+ \w+\s+[\d,]+ of [\d,]+ nodes done",
        seen.terminal,
    )
    assert "Traceback" not in seen.terminal
    assert not (folder / "r.json").exists() and not unfinished(folder)
    assert json.loads((folder / "r.partial.json").read_text())["partial"] is True


def test_a_sweep_prints_and_keeps_what_is_done(folder: Path) -> None:
    line = ["sweep", "step.yaml", "long.yaml", "other.yaml", "-o", "results"]
    seen = see(line, folder, at="simulating")
    assert seen.status == 130
    assert "step.yaml " in seen.terminal and "Traceback" not in seen.terminal
    assert (folder / "results" / "step.json").exists()
    assert not (folder / "results" / "long.json").exists() and not unfinished(folder)


def test_a_list_of_flows_keeps_those_that_were_through(tmp_path: Path) -> None:
    poisson = "network generate poisson --hosts 64 --load 0.9 --set sizes=hadoop"
    rates = "--set bandwidth=100Gb/s --set duration=20ms -o flows.csv"
    flows = tmp_path / "flows.csv"
    assert main([*poisson.split(), *rates.split()[:-1], str(flows)]) == 0
    fabric = "--topology leaf_spine --set leaves=4 --set ranks_per_leaf=16 --set spines=2"
    line = f"network flows flows.csv {fabric} --set bandwidth=100Gb/s --set latency=1us -o fct.csv"
    seen = see(line.split(), tmp_path, at="simulating")
    assert seen.status == 130 and "Traceback" not in seen.terminal
    assert "fct.partial.csv has the " in seen.terminal
    assert seen.terminal.rstrip().endswith("error: interrupted")
    assert not (tmp_path / "fct.csv").exists() and not unfinished(tmp_path)
    head, *rows = (tmp_path / "fct.partial.csv").read_text().splitlines()
    said = re.search(r"([\d,]+) of ([\d,]+) flows that had ended", seen.terminal)
    assert said is not None
    through, total = (int(number.replace(",", "")) for number in said.groups())
    assert 0 < through == len(rows) < total
    assert {row.count(",") for row in rows} == {head.count(",")}, "no row is torn"
    numbers = [int(row.split(",")[0]) for row in rows]
    assert numbers == sorted(set(numbers))


def test_an_expansion_leaves_whole_traces(folder: Path) -> None:
    seen = see(["workload", "expand", "many.yw", "-o", "many"], folder, at="writing")
    assert seen.status == 130
    traces = sorted((folder / "many").glob("*.et"))
    assert 0 < len(traces) < 2 * 8192
    for trace in (traces[0], traces[-1]):
        assert len(Trace.from_bytes(trace.read_bytes())) > 10
    assert not unfinished(folder) and not (folder / "many" / "comm_group.json").exists()
