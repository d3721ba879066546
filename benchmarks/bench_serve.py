"""Serving a trace of requests: requests per processor second, and whole commands.

The trace is made: 19,366 requests of the rate and the mean lengths of Azure's conversation trace of
2023 (Patel et al., Splitwise, ISCA 2024), lengths lognormal. Goals: 100,000 requests a second for
the loop with a linear cost, 20,000 with measured tables, in vLLM V1 with its prefix cache; 0.5 s
and 2 s for the commands, reading and imports included, with intervals and so three runs with
tables. 23,608 requests with a shared prefix and the lengths of Mooncake's tool and agent trace have
the goal of 2 s, the search for the most that keeps a promise 5 s, a search of over 200 deployments
30 s, one query of the predictor 50 us. Processor time, the least of some repetitions.

    python -m benchmarks.bench_serve
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from benchmarks.speed import process_seconds
from yantra.fabric.clusters import load as load_cluster
from yantra.serving.capacity import capacity
from yantra.serving.fleet import Fleet, Linear, Pool
from yantra.serving.iteration import Predictor
from yantra.serving.measures import Objective
from yantra.serving.requests import Requests, load, write
from yantra.serving.search import search
from yantra.serving.serve import serve
from yantra.workloads.models.catalogue import find
from yantra.workloads.serving.plan import InferencePlan

CONVERSATION = (
    "poisson:rate=5.53/s,count=19366,isl=lognormal:1155:4142,osl=lognormal:211:601,seed=1"
)
AGENTS = (
    "poisson:rate=6.6/s,count=23608,isl=lognormal:8596:60000,osl=lognormal:182:900,system=2000,"
    "seed=1"
)
COST = Linear(5e-3, 20e-6, 1e-8)
KV = {"num_blocks": 60_000.0}
TIMES = 3


def seconds(work: Callable[[], object], times: int = TIMES) -> float:
    """Return the least processor seconds of some repetitions."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def told(what: str, value: float, goal: float, unit: str, *, more_is_better: bool = False) -> bool:
    """Print a figure beside its goal; return whether it is met."""
    met = value >= goal if more_is_better else value <= goal
    print(f"{what:52} {value:12,.3g} {unit:12} goal {goal:10,.3g}  {'met' if met else 'MISSED'}")
    return met


def loops(asked: Requests) -> Iterator[bool]:
    """Time the loop alone, with both costs."""
    linear = Fleet((Pool("vllm", KV, COST),))
    took = seconds(lambda: linear.run(asked))
    yield told("loop, linear cost", len(asked) / took, 100_000, "requests/s", more_is_better=True)
    overlapped = {"kv_tokens": 960_000.0, "overlap": 1.0}
    for what, fleet in (
        ("SGLang that overlaps", Fleet((Pool("sglang", overlapped, COST),))),
        ("two ranks that step together", Fleet((Pool("vllm", KV, COST, lanes=2),), "round_robin")),
        ("more waiting than seats", Fleet((Pool("vllm", KV | {"max_num_seqs": 16.0}, COST),))),
    ):
        took = seconds(lambda fleet=fleet: fleet.run(asked))  # type: ignore[misc]
        yield told(f"loop, {what}", len(asked) / took, 50_000, "requests/s", more_is_better=True)
    served = serve("llama3-70b", "hgx-h100", asked, tp=4, replicas=2, intervals=False)
    took = seconds(lambda: served.fleet.run(asked))
    yield told("loop, measured cost", len(asked) / took, 20_000, "requests/s", more_is_better=True)
    promises = [Objective.of("ttft", "p99 1 s", "ttft"), Objective.of("tpot", "50 ms", "tpot")]
    took = seconds(lambda: capacity(linear, asked, promises), 1)
    yield told("the most that keeps a promise", took, 5, "s")


def commands(asked: Requests, folder: Path) -> Iterator[bool]:
    """Time whole commands on a file."""
    path = folder / "conversation.csv.gz"
    write(asked, path)
    given = [sys.executable, "-m", "yantra", "serve", "--requests", path.name, "--set"]
    linear = [*given, "cost=5 ms, 20 us, 0.01 us"]
    measured = [*given, "tp=4", "--model", "llama3-70b", "--cluster", "hgx-h100", "--replicas", "2"]
    for what, command, goal in (("linear", linear, 0.5), ("measured", measured, 2.0)):
        took = min(process_seconds(command, folder, must_succeed=True) for _ in range(TIMES))
        yield told(f"command, {what} cost", took, goal, "s")


def agents() -> Iterator[bool]:
    """Time a trace with shared prefixes and long prompts."""
    asked = load(AGENTS)
    fleet = Fleet((Pool("vllm", {"num_blocks": 400_000.0}, COST, replicas=4),))
    yield told("23,608 requests of agents", seconds(lambda: fleet.run(asked), 1), 2, "s")


def plans() -> Iterator[bool]:
    """Time a search of deployments, and say how many it considered."""
    asked = load("poisson:rate=30/s,count=600,isl=2000,osl=200,seed=1")
    promises = [Objective.of("ttft", "p99 1 s", "ttft"), Objective.of("tpot", "30 ms", "tpot")]
    clusters = [load_cluster(name) for name in ("hgx-h100", "hgx-b200", "dgx-a100-80gb")]
    begin = time.process_time()
    engines, dtypes = ("vllm", "sglang"), ("bf16", "fp8")
    model = find("llama3-8b")
    found = search(model, clusters, asked, promises, engines=engines, dtypes=dtypes)
    yield told(f"search of {found.considered} deployments", time.process_time() - begin, 30, "s")


def queries() -> Iterator[bool]:
    """Time a warm query of the predictor."""
    predictor = Predictor("llama3-70b", "hgx-h100", InferencePlan(tp=8), engine="vllm")
    batch = [(1, 1000 + at) for at in range(32)]
    predictor.iteration(batch)
    took = seconds(lambda: [predictor.iteration(batch) for _ in range(2000)]) / 2000
    yield told("a query of 32 sequences", took * 1e6, 50, "us")


def report(folder: Path) -> bool:
    """Print every figure beside its goal; return whether all are met."""
    asked = load(CONVERSATION)
    figures = chain(loops(asked), commands(asked, folder), agents(), plans(), queries())
    return all(list(figures))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        raise SystemExit(0 if report(Path(made)) else 1)
