"""How much slower the plan of a search is than the best of all plans, each simulated exactly.

Goals: no slower on spaces of up to 2,000 plans, 0.5 % slower on larger ones. Plans that do not fit
are left out. It takes minutes, as it simulates all plans where a search simulates dozens.

    python -m benchmarks.regret
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from yantra.explore.answers.best import best_plans
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.models.catalogue import find
from yantra.workloads.training.train import train

SEQUENCE = 2048


class Job(NamedTuple):
    model: str
    cluster: str
    ranks: int
    global_batch: int


JOBS = (
    Job("llama3-8b", "hgx-h100", 16, 32),
    Job("mixtral-8x7b", "hgx-h100", 32, 32),
)
SMALL, GOALS = 2_000, {True: 0.0, False: 0.005}


def exact_best(job: Job, space: PlanSpace) -> tuple[float, int, int]:
    model, capacity = find(job.model), clusters.load(job.cluster).memory_bytes
    columns, parts = space.columns(model), cluster_parts(job.cluster, job.ranks)
    form = ClosedForm(model, Machine(job.cluster, job.ranks), SEQUENCE)
    rows = np.flatnonzero(form.memory(columns, job.global_batch) <= capacity)
    best = np.inf
    for row in rows:
        workload = train(model, space.plan(columns, int(row)), SEQUENCE)
        if max(workload.peaks().values()) <= capacity:
            result = simulate(Scenario(workload=Templates(workload=workload), **parts))
            best = min(best, result.makespan_ns)
    return best, len(columns["tp"]), len(rows)


def main() -> int:
    met = True
    for job in JOBS:
        space = PlanSpace(
            ranks=job.ranks, global_batch=job.global_batch, most_tp=8, sequence=SEQUENCE
        )
        start = time.process_time()
        found = best_plans(find(job.model), job.cluster, space, refined=False)
        searched = time.process_time() - start
        best, plans, fitting = exact_best(job, space)
        regret = found.ranked[0].time_ns / best - 1
        goal = GOALS[plans <= SMALL]
        met = met and regret <= goal
        print(
            f"{job.model:14} {job.ranks} ranks: {plans:,} plans, {fitting:,} fit; "
            f"{found.simulated} simulated in {searched:.1f} s; "
            f"regret {regret:.3%} (goal {goal:.1%})",
            flush=True,
        )
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
