"""Interrupted long commands: one line, the right status, no half-written files."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.terminals import COMMAND, see
from yantra.chakra import CollectiveType, Trace, TraceBuilder
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
    seen = see(line, folder, at="step.yaml ")
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


FABRIC = "--set leaves=12 --set ranks_per_leaf=32 --set spines=16"
LONG_COMMANDS = {
    "collective bench": f"collective bench leaf_spine {FABRIC} --collective all_to_all "
    "--sizes 64MiB --algorithms direct --routing ecmp",
    "collective bench, folded": f"collective bench leaf_spine {FABRIC} --collective all_to_all "
    "--sizes 64MiB --algorithms pairwise",
    "topology show": "topology show torus --set sizes=[12,12,12] --bounds 1GiB",
    "collective synthesize": "collective synthesize torus --set sizes=[6,6,6] "
    "--collective all_reduce --size 64MiB",
    "network generate": "network generate poisson --hosts 512 --load 0.9 --set sizes=hadoop "
    "--set bandwidth=400Gb/s --set duration=200ms -o many.csv",
    "network flows": f"network flows all.csv --topology leaf_spine {FABRIC}",
    "network flows, packets": f"network flows all.csv --network packet "
    f"--topology leaf_spine {FABRIC}",
    "plan": "plan --model deepseek-v3 --ranks 2048 --cluster hgx-h100 --global-batch 4096",
    "workload train": "workload train --model llama3-405b --tp 8 --pp 16 --vpp 8 --dp 128 "
    "--embedding-as-layer --loss-as-layer --global-batch 2048 --micro-batch 1 -o big.yw",
}
"""Commands that take many seconds in the core, each in another part of it."""


@pytest.mark.parametrize("name", LONG_COMMANDS)
def test_sigterm_ends_every_command_within_a_second(name: str, tmp_path: Path) -> None:
    if "all.csv" in LONG_COMMANDS[name]:
        line = "network generate all_to_all --hosts 384 --set size=128KiB -o"
        assert main([*line.split(), str(tmp_path / "all.csv")]) == 0
    _ends_within_a_second(LONG_COMMANDS[name], tmp_path)


CROSSING = """
workload: {traces: "step.{rank}.et"}
cluster:
  topology: [{kind: switch, size: 384, bandwidth: 50 GB/s, latency: 500 ns}]
  fabric: {kind: leaf_spine, leaves: 12, ranks_per_leaf: 32, spines: 16, bandwidth: 50 GB/s,
           latency: 500 ns}
  routing: ecmp
  device: {memory_bandwidth: 1 TB/s}
collectives: {all_to_all: [direct], chunks: 8}
network: flow
"""
"""A million events of this take many seconds."""


def test_sigterm_ends_a_sweep_in_the_midst_of_its_runs(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.collective(CollectiveType.ALL_TO_ALL, 1 << 26)
    for rank in range(384):
        builder.build().write(tmp_path / f"step.{rank}.et")
    for name in ("one.yaml", "other.yaml"):
        (tmp_path / name).write_text(CROSSING)
    _ends_within_a_second("sweep one.yaml other.yaml -o results", tmp_path, after=2.0)


def test_sigterm_ends_a_sweep_while_its_threads_run_python(folder: Path) -> None:
    code = f"""
import sys, time
import yantra.run.backends.local as local
def perform(task, tell):
    end = time.process_time() + 60
    while time.process_time() < end:
        pass
local.perform = perform
{COMMAND}
"""
    _ends_within_a_second("sweep step.yaml long.yaml other.yaml -o results", folder, code=code)


def _ends_within_a_second(line: str, folder: Path, after: float = 1.0, code: str = COMMAND) -> None:
    command = [sys.executable, "-c", code, *line.split()]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    used = _cpu_seconds(process.pid)
    while process.poll() is None and (used := _cpu_seconds(process.pid)) < after:
        time.sleep(0.02)
    if process.poll() is not None:
        pytest.skip("this machine was done before it could be interrupted")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=120)[1]
    then = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = then.ru_utime + then.ru_stime - before.ru_utime - before.ru_stime
    assert process.returncode == 143, said
    assert said.rstrip().endswith("error: terminated") and "Traceback" not in said
    assert whole - used < 1.0
    assert not unfinished(folder)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
