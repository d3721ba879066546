"""Generating training steps: seconds from model and plan to a saved file, and peak memory.

Each case runs in a process of its own; its processor seconds leave out the interpreter's start, its
memory is that of the whole process. The goals: Llama 3 70B on 512 ranks in under 5 s, Llama 3 405B
on 131,072 ranks in under 10 s and 200 MB. STAGE, the generator of ASTRA-sim 2, needs 183 s for
Llama 70B on 8 ranks with one micro-batch, and did not finish it on 512 in 28 minutes (measured on
the same kind of machine).

    python -m benchmarks.bench_workloads
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

MEGABYTE = 1 << 20


class Case(NamedTuple):
    model: str
    plan: dict[str, Any]
    seconds: float
    megabytes: float | None = None


STEP = {"tp": 8, "pp": 8, "dp": 8, "zero": 1}
CASES = {
    "Llama 3 70B, 512 ranks, 16 micro-batches": Case(
        "llama3-70b", STEP | {"global_batch": 128}, 5.0
    ),
    "Llama 3 70B, 512 ranks, 128 micro-batches": Case(
        "llama3-70b", STEP | {"global_batch": 1024}, 5.0
    ),
    "Llama 3 70B, 512 ranks, interleaved, FSDP": Case(
        "llama3-70b",
        STEP | {"vpp": 5, "zero": 3, "global_batch": 128, "schedule": "interleaved"},
        5.0,
    ),
    "DeepSeek-V3, 2048 ranks, DualPipe, 64 experts": Case(
        "deepseek-v3",
        {"pp": 16, "dp": 128, "ep": 64, "zero": 1, "global_batch": 128 * 64}
        | {"schedule": "dualpipe"},
        10.0,
    ),
    "Llama 3 405B, 131072 ranks, 16 micro-batches": Case(
        "llama3-405b",
        {"tp": 8, "pp": 16, "dp": 1024, "zero": 1, "global_batch": 16384},
        10.0,
        200.0,
    ),
}


def generate(case: Case, path: Path) -> float:
    from yantra.workloads.models.catalogue import find
    from yantra.workloads.plan.plan import Plan
    from yantra.workloads.training.train import train

    start = time.process_time()
    train(find(case.model), Plan(**case.plan)).save(path)
    return time.process_time() - start


def measure(name: str, folder: Path) -> tuple[float, float, int]:
    path = folder / "step.yw"
    command = [sys.executable, "-m", "benchmarks.bench_workloads", name, str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{name} failed with status {status}")
    return float(printed), usage.ru_maxrss / 1024, path.stat().st_size


def report(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    met = True
    for name, case in CASES.items():
        seconds, megabytes, size = measure(name, folder)
        met &= seconds < case.seconds and megabytes < (case.megabytes or float("inf"))
        goals = f"under {case.seconds:.0f} s"
        goals += f" and {case.megabytes:.0f} MB" if case.megabytes else ""
        print(
            f"{name:46} {seconds:6.2f} s {megabytes:6.0f} MB, file {size / MEGABYTE:5.1f} MiB "
            f"({goals})",
            flush=True,
        )
    return met


def main() -> int:
    if len(sys.argv) == 3:
        print(generate(CASES[sys.argv[1]], Path(sys.argv[2])))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return 0 if report(Path(folder)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
