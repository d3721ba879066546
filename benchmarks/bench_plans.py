"""Making a training step and simulating it exactly, in plans a second on one core.

Goals: 50 plans a second for Llama 3 8B on 64 ranks, 20 for Llama 3 70B on 256. The plans of each
are drawn with a fixed seed from all legal ones with ZeRO-1 and selective recomputation, interleaved
schedules among them, with two sequences a rank for 8B and one for 70B. Each round runs in a new
process, which has seen none of the plans nor their model, so what they share is made once and
counted. Processor time, the least of all rounds for each part of each plan.

    python -m benchmarks.bench_plans [ROUNDS]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from yantra.compile import compile
from yantra.explore.closed_form.space import PlanSpace
from yantra.run.simulate import run
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

CLUSTER = "hgx-h100"
SEED = 7
PARTS = ("make", "scenario", "compile", "run", "result")
OTHER = ("gpt3-13b", Plan(tp=2, pp=2, dp=2, global_batch=8, zero=1))
"""What a process makes first, so that imports are not counted."""


class Case(NamedTuple):
    model: str
    ranks: int
    global_batch: int
    plans: int
    goal: float


CASES = (Case("llama3-8b", 64, 128, 32, 50.0), Case("llama3-70b", 256, 256, 12, 20.0))


def plans_of(case: Case) -> list[Plan]:
    model = find(case.model)
    space = PlanSpace(
        ranks=case.ranks,
        global_batch=case.global_batch,
        most_tp=8,
        zero=(1,),
        recompute=("selective",),
    )
    columns = space.columns(model)
    rows = np.random.default_rng(SEED).permutation(len(columns["tp"]))[: case.plans]
    return [space.plan(columns, int(row)) for row in rows]


def timed(model: Any, plan: Plan) -> tuple[list[float], float]:
    """Make and simulate a plan; return the seconds of each part, and the length of the step."""
    at = [time.process_time()]
    workload = train(model, plan)
    at.append(time.process_time())
    parts = cluster_parts(CLUSTER, plan.ranks)
    scenario = Scenario(workload=Templates(workload=workload), **parts)
    at.append(time.process_time())
    compiled = compile(scenario)
    at.append(time.process_time())
    result = run(compiled)
    at.append(time.process_time())
    makespan = result.makespan_ns
    at.append(time.process_time())
    return [b - a for a, b in pairwise(at)], makespan


def go_through(case: Case) -> dict[str, Any]:
    plans = plans_of(case)
    timed(find(OTHER[0]), OTHER[1])
    model = find(case.model)
    found = [timed(model, plan) for plan in plans]
    return {"seconds": [seconds for seconds, _ in found], "steps_ns": [ns for _, ns in found]}


def report(case: Case, rounds: int) -> bool:
    command = [sys.executable, "-m", "benchmarks.bench_plans", "--of", case.model]
    done = [
        json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
        for _ in range(rounds)
    ]
    least = np.min([one["seconds"] for one in done], axis=0)
    if any(one["steps_ns"] != done[0]["steps_ns"] for one in done):
        raise RuntimeError(f"{case.model}: the rounds do not agree")
    each = 1e3 * least.mean(axis=0)
    rate = 1e3 / each.sum()
    parts = "  ".join(f"{name} {ms:.1f}" for name, ms in zip(PARTS, each, strict=True))
    print(
        f"{case.model:10} {case.ranks} ranks, {case.plans} plans: {rate:5.1f} plans/s (goal "
        f"{case.goal:.0f}); ms a plan: {parts}; sum of steps {sum(done[0]['steps_ns']):.6g} ns",
        flush=True,
    )
    return bool(rate >= case.goal)


def main() -> int:
    if sys.argv[1:2] == ["--of"]:
        (case,) = (one for one in CASES if one.model == sys.argv[2])
        print(json.dumps(go_through(case)))
        return 0
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    met = [report(case, rounds) for case in CASES]
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
