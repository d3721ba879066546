"""Many ranks that do few things: seconds and memory of whole runs, and what not folding costs.

Each case runs in a process of its own. `run` is wall time from a scenario in memory to a result
(compile, classes, run), `process` that of the whole process, with the interpreter and the reading
of the workload file. The goals: a ring all-reduce of 1 MB in 4 chunks on a torus of 4096 NPUs in
under 0.05 s (ASTRA-sim 2.0, ISPASS 2023, section V: 3.14 s); a step of Llama 3 405B on 16,384 ranks
in under 2 s, on 131,072 in under 5 s and 1 GB; a million ranks at all.

    python -m benchmarks.bench_scale
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from yantra.scenario import Scenario

MEGABYTE = 1 << 20
AWARE = "store_and_forward"


class Case(NamedTuple):
    make: Callable[[Path], Scenario]
    run_seconds: float | None = None
    process_seconds: float | None = None
    megabytes: float | None = None
    fold: str = "require"


def torus(*sizes: int, network: str = "analytical") -> Callable[[Path], Scenario]:
    """Return a maker of an all-reduce of 1 MB in 4 chunks, ring by ring on a torus."""

    def make(_: Path) -> Scenario:
        from yantra.chakra import CollectiveType, TraceBuilder
        from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces

        topology = Topology(
            dimensions=tuple(
                Dimension(kind="ring", size=size, bytes_per_ns=50.0, latency_ns=500.0)
                for size in sizes
            )
        )
        builder = TraceBuilder()
        builder.collective(CollectiveType.ALL_REDUCE, 10**6)
        return Scenario(
            workload=Traces(traces=(builder.build(),) * topology.ranks),
            topology=topology,
            collectives=Collectives(all_reduce=("ring",) * len(sizes), chunks=4),
            network=network,
        )

    return make


def step(replicas: int, network: str = "analytical") -> Callable[[Path], Scenario]:
    """Return a maker of a step of Llama 3 405B, TP 8, PP 16, on HGX H100 servers."""

    def make(file: Path) -> Scenario:
        from yantra.scenario.on_cluster import on_cluster

        path = file.with_name(f"step-{replicas}.yw")
        if not path.exists():
            from yantra.workloads.models.catalogue import find
            from yantra.workloads.plan.plan import Plan
            from yantra.workloads.training.train import train

            plan = Plan(tp=8, pp=16, dp=replicas, zero=1, global_batch=16 * replicas)
            train(find("llama3-405b"), plan).save(path)
        return on_cluster(str(path), "hgx-h100", network=network, ignore_memory=True)

    return make


CASES = {
    "all-reduce, torus 16 x 16 x 16, 4096 ranks": Case(torus(16, 16, 16), run_seconds=0.05),
    "all-reduce, torus 32 x 32 x 32, 32768 ranks": Case(torus(32, 32, 32)),
    "Llama 3 405B, 512 ranks": Case(step(4)),
    "Llama 3 405B, 16384 ranks": Case(step(128), process_seconds=2.0),
    "Llama 3 405B, 131072 ranks": Case(step(1024), process_seconds=5.0, megabytes=1000),
    "Llama 3 405B, 1048576 ranks": Case(step(8192)),
    "all-reduce, torus 16 x 16 x 16, every rank": Case(torus(16, 16, 16), fold="off"),
    "Llama 3 405B, 512 ranks, every rank": Case(step(4), fold="off"),
    "all-reduce, torus 16 x 16 x 16, links": Case(torus(16, 16, 16, network=AWARE)),
    "Llama 3 405B, 16384 ranks, links": Case(step(128, AWARE)),
    "Llama 3 405B, 131072 ranks, links": Case(step(1024, AWARE)),
    "all-reduce, torus 16 x 16 x 16, links, every rank": Case(
        torus(16, 16, 16, network=AWARE), fold="off"
    ),
    "Llama 3 405B, 512 ranks, links, every rank": Case(step(4, AWARE), fold="off"),
}


def simulate(case: Case, file: Path) -> float:
    from yantra.run.simulate import simulate

    scenario = case.make(file).replace(fold=case.fold)
    start = time.perf_counter()
    result = simulate(scenario)
    if case.fold == "require" and not result.outcome.folded:
        raise RuntimeError("not folded")
    return time.perf_counter() - start


def measure(name: str, file: Path) -> tuple[float, float, float]:
    CASES[name].make(file)  # the workload file, where there is one
    start = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.bench_scale", name, str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{name} failed with status {status}")
    return float(printed), time.perf_counter() - start, usage.ru_maxrss * 1024 / MEGABYTE


def report(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    met = True
    for name, case in CASES.items():
        measured = measure(name, folder / "step.yw")
        goals = (case.run_seconds, case.process_seconds, case.megabytes)
        units = ("s to run", "s", "MB")
        wanted = [f"under {g:g} {u}" for g, u in zip(goals, units, strict=True) if g is not None]
        met &= all(got < (goal or float("inf")) for got, goal in zip(measured, goals, strict=True))
        run, process, megabytes = measured
        print(
            f"{name:50} run {run:7.3f} s, process {process:6.2f} s {megabytes:6.0f} MB"
            + (f"  ({', '.join(wanted)})" if wanted else ""),
            flush=True,
        )
    return met


def main() -> int:
    if len(sys.argv) == 3:
        print(simulate(CASES[sys.argv[1]], Path(sys.argv[2])))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        return 0 if report(Path(folder)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
