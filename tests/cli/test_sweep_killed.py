"""A sweep that is killed again and again and resumed ends as one that never was."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from yantra.chakra import CollectiveType, TraceBuilder

SEED = 20261123
RANKS = 64
COLLECTIVES = 40
SCENARIO = f"""
workload: {{traces: "step.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: {RANKS}, bandwidth: 50 GB/s, latency: 500 ns}}]
  device: {{memory_bandwidth: 1 TB/s}}
collectives: {{all_reduce: [ring]}}
fold: off
"""
State = dict[str, tuple[int, int]]


def write_inputs() -> None:
    trace, last = TraceBuilder(), None
    for _ in range(COLLECTIVES):
        last = trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, after=last or ())
    for rank in range(RANKS):
        trace.build().write(f"step.{rank}.et")
    Path("job.yaml").write_text(SCENARIO)


def begin(scenarios: int, folder: str, *more: str) -> subprocess.Popen[str]:
    values = ",".join(f"{1000 + 3 * at} ns" for at in range(scenarios))
    line = ["sweep", "job.yaml", "--set", f"cluster.topology[0].latency={values}", "-o", folder]
    return subprocess.Popen(
        [sys.executable, "-m", "yantra", *line, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(folder: str) -> State:
    stats = {file.name: file.stat() for file in Path(folder).glob("*.json")}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in stats.items()}


def kill_after(child: subprocess.Popen[str], more_results: int, delay_s: float) -> bool:
    before = len(finished("out"))
    while len(finished("out")) < before + more_results and child.poll() is None:
        time.sleep(0.002)
    time.sleep(delay_s)
    was_at_work = child.poll() is None
    child.kill()
    child.communicate()
    return was_at_work


@pytest.mark.parametrize(
    ("scenarios", "kills"), [(12, 3), pytest.param(200, 20, marks=pytest.mark.slow)]
)
def test_nothing_finished_runs_twice_and_the_results_are_those_of_one_run(
    scenarios: int, kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs()
    dice = random.Random(SEED)
    killed, leftovers = 0, 0
    for kill in range(kills):
        before = finished("out")
        left = scenarios - len(before)
        child = begin(scenarios, "out", "--resume")
        more = dice.randint(0, 2 * left // (kills - kill + 1))
        killed += kill_after(child, more, dice.uniform(0, 0.05 if more else 0.5))
        assert before.items() <= finished("out").items()  # what was finished did not run again
        leftovers += len(list(Path("out").glob("*.tmp")))
    before = finished("out")
    out, err = (child := begin(scenarios, "out", "--resume")).communicate()
    assert child.returncode == 0, err
    assert err == (f"skipped: {len(before)} of {scenarios}, finished before\n" if before else "")
    assert before.items() <= finished("out").items()

    one_out, one_err = begin(scenarios, "one").communicate()
    assert (one_out, one_err) == (out, "")
    assert sorted(os.listdir("out")) == sorted(os.listdir("one")) and len(os.listdir("out")) == (
        scenarios
    )
    for name in os.listdir("one"):
        assert Path("out", name).read_bytes() == Path("one", name).read_bytes()
    assert killed > kills // 2
    print(
        f"{scenarios} scenarios, killed {killed} times at work: {len(before)} finished before the "
        f"last run and kept, {leftovers} half-written files left and removed, all bytes equal"
    )
