"""How far the closed form of plans is from their simulation, on plans drawn at random.

Six models, dense and mixtures of experts, on 16 to 128 devices of four kinds; all plans of a space
are equally likely, whether they fit into memory or not. Prints the median, the nine tenths and the
largest error of each job and of all. The goal is a median of 1 %.

    python -m benchmarks.closed_form_error [PLANS] [SEED]
"""

from __future__ import annotations

import sys

import numpy as np

from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.space import PlanSpace
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.models.catalogue import find
from yantra.workloads.training.train import train

SEQUENCE = 2048
JOBS = (
    ("llama3-8b", 32, 64, "hgx-h100"),
    ("mixtral-8x7b", 32, 32, "hgx-h100"),
    ("gpt3-13b", 16, 32, "hgx-h100"),
    ("llama3-70b", 64, 64, "hgx-b200"),
    ("gpt3-175b", 128, 128, "dgx-a100-80gb"),
    ("qwen3-30b-a3b", 32, 64, "mi300x"),
)
GOAL = 0.01


def errors(name: str, ranks: int, batch: int, cluster: str, plans: int, seed: int) -> np.ndarray:
    """Return the relative errors of the closed form on some plans of a job."""
    model = find(name)
    space = PlanSpace(ranks=ranks, global_batch=batch, most_tp=8, sequence=SEQUENCE)
    columns = space.columns(model)
    judged = ClosedForm(model, Machine(cluster, ranks), SEQUENCE).judge(columns, batch)
    parts = cluster_parts(cluster, ranks)
    found = []
    for row in np.random.default_rng(seed).permutation(len(columns["tp"]))[:plans]:
        workload = train(model, space.plan(columns, int(row)), SEQUENCE)
        result = simulate(Scenario(workload=Templates(workload=workload), **parts))
        found.append(float(judged.time_ns[row]) / result.makespan_ns - 1)
    return np.abs(found)


def _line(name: str, found: np.ndarray) -> str:
    median, most = np.median(found), np.quantile(found, 0.9)
    return (
        f"{name:14} {len(found):4} plans  median {median:.2%}  90 % {most:.2%}  {found.max():.2%}"
    )


def main() -> None:
    """Print a line for each job, and one for all."""
    plans, seed = (int(word) for word in [*sys.argv[1:], *("20", "11")[len(sys.argv) - 1 :]])
    every = []
    for job in JOBS:
        every.append(errors(*job, plans, seed))
        print(_line(job[0], every[-1]), flush=True)
    print(_line("all", np.concatenate(every)), f" (goal: median {GOAL:.0%})")


if __name__ == "__main__":
    main()
