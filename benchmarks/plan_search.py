"""Whether `plan` loses to a search by simulation: the goal is that nothing is 0.5 % faster.

A search starts at the best plan of `plan` and at random plans that fit, changes one field or two of
those that `workload train` takes, simulates, and keeps what is faster. What is trained stays: the
model, its sequences and batch, types of products, optimizer and routing.

    python -m benchmarks.plan_search [--small] [--jobs N] [--first N] [--plans N] [--workers N]
"""

from __future__ import annotations

import argparse
import random
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from yantra.base.divisors import divisors
from yantra.base.errors import YantraError
from yantra.explore.answers.best import best_plans
from yantra.explore.closed_form.exact import Budget
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

GOAL = 0.005
STARTS = 5
JOBS = 50
SMALL = (2, 8, 10, 16, 20, 26, 28, 32, 33, 49)
"""Jobs of 64 to 256 ranks that are searched in a minute."""
MODELS = (
    ("llama3-8b", 64), ("llama3-70b", 64), ("gpt3-13b", 64), ("mixtral-8x7b", 64),
    ("qwen3-30b-a3b", 64), ("gpt3-175b", 256), ("deepseek-v3", 512), ("llama3-405b", 1024),
)  # fmt: skip
CLUSTERS = ("hgx-h100", "hgx-b200", "dgx-a100-80gb", "mi300x", "gb200-nvl72")


class Job(NamedTuple):
    model: str
    cluster: str
    ranks: int
    global_batch: int


def job_of(seed: int) -> Job:
    draw = random.Random(seed)
    model, least = MODELS[seed % len(MODELS)]
    cluster = CLUSTERS[seed // len(MODELS) % len(CLUSTERS)]
    ranks = least * draw.choice((1, 2, 4, 16))
    return Job(model, cluster, ranks, ranks * draw.choice((1, 2, 4)))


def values_of(name: str, plan: Plan, job: Job, layers: int) -> tuple[Any, ...]:
    copies = plan.dp * plan.cp
    return {
        "tp": (1, 2, 4, 8), "cp": (1, 2, 4), "pp": (1, 2, 4, 8, 16, 32), "ep": (1, 2, 4, 8, 16, 32),
        "etp": (1, 2, 4), "vpp": (1, 2, 3, 4, 6, 8), "zero": (0, 1, 2, 3),
        "micro_batch": (1, 2, 4, 8), "recompute": ("none", "selective", "operators", "full"),
        "sequence_parallel": (True, False), "gradient_dtype": ("fp32", "bf16"),
        "schedule": (None, "gpipe", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipev",
                     "interleaved-rounds"),
        "cp_kind": ("p2p", "all_gather", "a2a"), "messages": ("whole", "sliced", "scattered"),
        "bucket_elements": (None, 10_000_000, 100_000_000, 250_000_000, 1_000_000_000),
        "shard": (None, *(n for n in divisors(copies) if 1 < n < copies)),
        "order": ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "tp-dp-cp-ep-pp", "dp-tp-cp-ep-pp"),
        "prefetch": (1, 2, 4), "reshard_after_forward": (True, False),
        "overlap_gradients": (True, False), "overlap_parameters": (True, False),
        "overlap_p2p": (True, False), "overlap_tensor": (True, False),
        "gather_again": (True, False), "offload_optimizer": (True, False),
        "offload_activations": (True, False), "fused_loss": (True, False),
        "embedding_as_layer": (True, False), "loss_as_layer": (True, False),
        "first_stage_layers": (None, *range(max(layers // plan.pp - 2, 1), layers // plan.pp + 2)),
        "last_stage_layers": (None, *range(max(layers // plan.pp - 2, 1), layers // plan.pp + 2)),
    }[name]  # fmt: skip


FIELDS = (
    "tp", "cp", "pp", "ep", "etp", "vpp", "zero", "micro_batch", "recompute", "sequence_parallel",
    "gradient_dtype", "schedule", "cp_kind", "messages", "bucket_elements", "shard", "order",
    "prefetch", "reshard_after_forward", "overlap_gradients", "overlap_parameters", "overlap_p2p",
    "overlap_tensor", "gather_again", "offload_optimizer", "offload_activations", "fused_loss",
    "embedding_as_layer", "loss_as_layer", "first_stage_layers", "last_stage_layers",
)  # fmt: skip


class Search:
    def __init__(self, job: Job, stack: str, seed: int) -> None:
        self.job, self.draw = job, random.Random(seed)
        self.model, self.cluster = find(job.model), clusters.load(job.cluster)
        self.parts = parts_for(self.cluster, job.ranks, "bf16", stack)
        self.known: dict[Plan, float | None] = {}

    def time(self, plan: Plan) -> float | None:
        """Return the time of a step in ns; None if it is not legal, does not fit or is too long."""
        if plan not in self.known:
            self.known[plan] = self._time(plan)
        return self.known[plan]

    def _time(self, plan: Plan) -> float | None:
        try:
            check(plan, self.model)
            workload = train(self.model, plan)
            if max(workload.peaks().values()) > self.cluster.usable_bytes:
                return None
            scenario = Scenario(workload=Templates(workload=workload), **self.parts)
            exact = Budget(10_000_000).simulate(scenario)
        except YantraError:
            return None
        return None if exact.result is None else float(exact.result.makespan_ns)

    def changed(self, plan: Plan) -> Plan | None:
        """Return a plan with one field or two changed; dp is what is left of the ranks."""
        layers = len(self.model.layers)
        new = dict(plan.given) | {"global_batch": self.job.global_batch}
        for name in self.draw.sample(FIELDS, self.draw.choice((1, 2))):
            new[name] = self.draw.choice(values_of(name, plan, self.job, layers))
        if new["vpp"] != plan.vpp and new["schedule"] == plan.schedule:
            new["schedule"] = None
        split = new["tp"] * new["cp"] * new["pp"]
        if self.job.ranks % split or new["tp"] == 1:
            new["sequence_parallel"] = None
        try:
            return Plan(**new | {"dp": max(self.job.ranks // split, 1)})
        except YantraError:
            return None

    def climb(self, start: Plan, plans: int) -> tuple[Plan, float]:
        """Return the best plan of so many changes, each simulated, and its time in ns."""
        best, least = start, self.time(start) or float("inf")
        tried, asked = 0, 0
        while tried < plans and asked < 50 * plans:
            asked += 1
            plan = self.changed(best)
            if plan is None or plan.ranks != self.job.ranks or plan in self.known:
                continue
            time_ns = self.time(plan)
            tried += time_ns is not None
            if time_ns is not None and time_ns < least:
                best, least = plan, time_ns
        return best, least


def random_plans(search: Search, space: PlanSpace, number: int) -> list[Plan]:
    columns = space.columns(search.model)
    rows = list(range(len(columns["tp"])))
    search.draw.shuffle(rows)
    plans = (space.plan(columns, row) for row in rows[:200])
    fitting = (plan for plan in plans if search.time(plan) is not None)
    return [plan for plan, _ in zip(fitting, range(number), strict=False)]


def regret(job: Job, stack: str, plans: int, seed: int) -> tuple[float, Plan, Plan]:
    space = PlanSpace(ranks=job.ranks, global_batch=job.global_batch, most_tp=8)
    search = Search(job, stack, seed)
    own = best_plans(search.model, search.cluster, space, stack=stack).ranked[0]
    starts = [own.plan, *random_plans(search, space, STARTS)]
    ends = [search.climb(plan, plans // len(starts)) for plan in starts]
    best, least = min(ends, key=lambda end: end[1])
    return 1 - least / own.time_ns, own.plan, best


def told(stack: str, plans: int, seed: int) -> tuple[bool, str]:
    """Return whether a job meets the goal, and a line on it, with what is changed if it does not.

    A job that `plan` answers with an error misses the goal.
    """
    job, start = job_of(seed), time.process_time()
    words = f"{seed} {job.model} on {job.ranks} of {job.cluster}, batch {job.global_batch}"
    try:
        gain, own, best = regret(job, stack, plans, seed)
    except YantraError as error:
        return False, f"{words}: {error}"
    words = f"{words}: {gain:+.2%}, {time.process_time() - start:.0f} s"
    if gain > GOAL:
        new = {k: v for k, v in best.given.items() if v != own.given[k]}
        words += f"\n    {new} in place of {[own.given[k] for k in new]}"
    return gain <= GOAL, words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the jobs of few ranks alone")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--plans", type=int, default=300)
    parser.add_argument("--stack", default="unknown")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    seeds = SMALL if given.small else range(given.first, given.first + given.jobs)
    missed = 0
    with ProcessPoolExecutor(given.workers) as pool:
        for meets, words in pool.map(partial(told, given.stack, given.plans), seeds):
            missed += not meets
            print(words, flush=True)
    print(f"{missed} of {len(seeds)} jobs have a plan that is over {GOAL:.1%} faster")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
