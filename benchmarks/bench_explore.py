"""Judging plans by the closed form, in plans a second on one core, the ten best that fit included.

Goals: 1,000,000 a second for a dense model with its tables there, 50,000 for a mixture of experts,
2,000 with tables to be made, at the speeds of the roofline and on a measured stack. Tables of
deepseek-v3 on 2,048 ranks have the goal of 1 s on a measured stack. The plans of a space are
repeated until they take a while: with tables there a plan costs the same the second time. Processor
time is counted.

All 539,696 legal plans of a 530B model on 512 ranks, judged in a process that has seen none of them
nor the model, have the goal of 2 s: processor seconds without imports, listing the plans included,
the least of five processes. A search for a 405B model on 16,384 ranks of five clusters has the
goal of 60 s.

    python -m benchmarks.bench_explore
"""

from __future__ import annotations

import subprocess
import sys
import time
from itertools import product

import numpy as np

from yantra.explore.answers.best import best_plans
from yantra.explore.answers.runner import Shared
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.space import Columns, PlanSpace
from yantra.workloads.models.catalogue import find

CLUSTER = "hgx-h100"
CASES = (
    ("gpt3-175b", PlanSpace(ranks=1024, global_batch=2048, most_tp=8, cp=(1, 2, 4)), 1e6),
    ("mixtral-8x7b", PlanSpace(ranks=256, global_batch=512, most_tp=8), 5e4),
)
FIVE_MODEL, FIVE_GOAL = "llama3-405b", 60.0
FIVE_SPACE = PlanSpace(ranks=16384, global_batch=2048)
FIVE = ("hgx-h100", "hgx-b200", "gb200-nvl72", "mi300x", "tpu-v5p")
ALL_MODEL, ALL_GOAL, PROCESSES = "gpt-530b", 2.0, 5
ALL_SPACE = PlanSpace(
    ranks=512,
    global_batch=1920,
    most_tp=8,
    cp=(1, 2),
    sequence_parallel=(True, False),
    overlap=(True, False),
)
COLD_GOAL = 2000.0
STACKS = ("roofline", "unknown")
TABLES = ("deepseek-v3", PlanSpace(ranks=2048, global_batch=8192, most_tp=8), 1.0)
LEAST = 400_000
BEST = 10
MEMORY = 80 << 30


def best(form: ClosedForm, columns: Columns, batch: int) -> np.ndarray:
    judged = form.judge(columns, batch)
    fits = np.flatnonzero(judged.memory_bytes <= MEMORY)
    return fits[np.argpartition(judged.time_ns[fits], BEST)[:BEST]]


def _took(form: ClosedForm, columns: Columns, batch: int) -> float:
    start = time.process_time()
    best(form, columns, batch)
    return time.process_time() - start


def judge_all() -> None:
    start = time.process_time()
    model = find(ALL_MODEL)
    columns = ALL_SPACE.columns(model)
    best(ClosedForm(model, Machine(CLUSTER, ALL_SPACE.ranks)), columns, ALL_SPACE.global_batch)
    print(len(columns["tp"]), time.process_time() - start)


def main() -> None:
    if sys.argv[1:] == ["--all"]:
        judge_all()
        return
    command = [sys.executable, "-m", "benchmarks.bench_explore", "--all"]
    done = [
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        for _ in range(PROCESSES)
    ]
    count, took = int(done[0][0]), min(float(seconds) for _, seconds in done)
    print(f"{ALL_MODEL} on {ALL_SPACE.ranks} ranks: {count:,} plans by processes that", end=" ")
    print(f"know none: {took:.2f} s (goal {ALL_GOAL:.0f})")
    for (name, space, goal), stack in product(CASES, STACKS):
        model = find(name)
        columns = space.columns(model)
        count = len(columns["tp"])
        form = ClosedForm(model, Machine(CLUSTER, space.ranks, stack=stack))
        cold = count / _took(form, columns, space.global_batch)
        many = {field: np.tile(of, -(-LEAST // count)) for field, of in columns.items()}
        warm = len(many["tp"]) / min(_took(form, many, space.global_batch) for _ in range(3))
        print(f"{name:14} {stack:8} {count:7,} plans  cold {cold:9,.0f}/s ", end="")
        print(f"(goal {COLD_GOAL:,.0f})  warm {warm:11,.0f}/s (goal {goal:,.0f})")
    name, space, most = TABLES
    columns = space.columns(model := find(name))
    form = ClosedForm(model, Machine(CLUSTER, space.ranks, stack=STACKS[-1]))
    took = _took(form, columns, space.global_batch)
    print(f"{name} on {space.ranks:,} ranks: tables of {len(columns['tp']):,} plans", end=" ")
    print(f"{took:.2f} s (goal {most:.0f})")
    start = time.process_time()
    model, shared = find(FIVE_MODEL), Shared(find(FIVE_MODEL), None)
    answers = [best_plans(model, name, FIVE_SPACE, shared=shared) for name in FIVE]
    legal, simulated = (sum(getattr(a, of) for a in answers) for of in ("legal", "simulated"))
    took = time.process_time() - start
    print(f"{FIVE_MODEL} on {len(FIVE)} clusters: {legal:,} plans, {simulated} simulated,", end=" ")
    print(f"{took:.1f} s (goal {FIVE_GOAL:.0f})")


if __name__ == "__main__":
    main()
