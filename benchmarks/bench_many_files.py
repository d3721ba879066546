"""512 distinct traces of 20,000 nodes each, read, compiled and run: seconds and memory.

The traces are those of a step of Llama 3 70B with TP 8, PP 8 and DP 8, one file a rank, 2.7 GB in
all. No two are equal, as the names of their groups differ. The goals count `yantra run` whole on
two idle cores; `--fold off` runs every rank.

    python -m benchmarks.bench_many_files
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MODEL = "llama3-70b"
TP = PP = DP = 8
MICRO_BATCHES = 52  # of each replica, for 20,000 nodes a rank
SCENARIO = """
workload: {traces: "traces/workload.{rank}.et", groups: traces/comm_group.json}
cluster: {name: hgx-h100}
"""
GOAL_S = 4.0
GOAL_MB = 2000.0


def write(folder: Path) -> int:
    from yantra.workloads.models.catalogue import find
    from yantra.workloads.plan.plan import Plan
    from yantra.workloads.training.train import train

    plan = Plan(tp=TP, pp=PP, dp=DP, global_batch=MICRO_BATCHES * DP)
    train(find(MODEL), plan, 4096).save(folder / "step.yw")
    command = [sys.executable, "-m", "yantra", "workload", "expand", "step.yw", "-o", "traces"]
    command += ["--for", "astra-sim"]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (folder / "job.yaml").write_text(SCENARIO)
    return sum(file.stat().st_size for file in (folder / "traces").glob("*.et"))


def measure(folder: Path, fold: str) -> tuple[float, float, float]:
    command = [sys.executable, "-m", "yantra", "run", "job.yaml", "--no-record", "--fold", fold]
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status != 0:
        raise RuntimeError(f"{' '.join(command)} failed")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def report(folder: Path) -> bool:
    total = write(folder)
    print(f"{TP * PP * DP} distinct traces, {total / 1e9:.1f} GB", flush=True)
    met = True
    for fold in ("auto", "off"):
        wall, processor, megabytes = measure(folder, fold)
        line = f"yantra run --fold {fold:5} {wall:6.1f} s wall {processor:6.1f} s processor"
        goal = ""
        if fold == "auto":
            met = wall <= GOAL_S and megabytes <= GOAL_MB
            goal = f" (below {GOAL_S:g} s wall, {GOAL_MB:g} MB)"
        print(f"{line} {megabytes:6.0f} MB{goal}", flush=True)
    return met


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        raise SystemExit(0 if report(Path(made)) else 1)
