"""Timelines and tables of large runs: processor time and peak memory of writing them.

A training step of Llama 3 8B, run rank by rank on 1,024 ranks for the timelines (646,000 slices;
the goal is five seconds), folded on 8,192 for the tables (5.15 million nodes). The run before the
writing is not counted; reading a recording is shown by itself.

    python -m benchmarks.bench_export
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

GOAL_S = 5.0
TIMELINES = ("run.pftrace", "run.pftrace.gz", "run.json")
TABLES = ("nodes.csv", "nodes.parquet", "nodes.feather")


def step(folder: Path, copies: int, **options: Any) -> Any:
    from yantra.cli import main
    from yantra.compile import compile
    from yantra.run.simulate import run
    from yantra.scenario.on_cluster import on_cluster

    path = str(folder / f"{copies}.yw")
    plan = f"--model llama3-8b --tp 8 --pp 4 --dp {copies} --global-batch {2 * copies}"
    with redirect_stdout(StringIO()):
        if main(["workload", "train", *plan.split(), "-o", path]) != 0:
            raise RuntimeError("the workload could not be made")
    return run(compile(on_cluster(path, "hgx-h100")), **options)


def told(what: str, write: Callable[[Path], object], path: Path) -> float:
    begin = time.process_time()
    write(path)
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size / 1e6
    print(f"{what:24} {seconds:6.2f} s {peak:8.0f} MB peak {size:8.1f} MB written", flush=True)
    return seconds


def read_recording(result: Any) -> None:
    begin = time.process_time()
    recording = result.recording
    parts = (recording.messages, recording.slack_ticks, recording.collective_parts)
    steps = len(result.critical_path.steps)
    print(f"{len(parts[0])} messages, {steps} steps of the critical path")
    print(f"reading the recording    {time.process_time() - begin:6.2f} s", flush=True)


def report(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    tables = step(folder, 256)
    for name in TABLES:
        table, form = name.split(".")
        told(name, lambda path, t=table, f=form: getattr(tables, f"to_{f}")(path, t), folder / name)
    slowest = 0.0
    for record in (False, True):
        result = step(folder, 32, fold="off", record=record)
        if record:
            read_recording(result)
        for name in TIMELINES:
            write = result.to_chrome if name.endswith(".json") else result.to_perfetto
            what = f"{name}, recorded" if record else name
            slowest = max(slowest, told(what, write, folder / name))
    print(f"slowest timeline {slowest:.1f} s; goal {GOAL_S:.0f} s")
    return slowest <= GOAL_S


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        raise SystemExit(0 if report(Path(temporary)) else 1)
