"""Tries many plans of all models: python -m tests.workloads.every_model --plans 1200.

Every model is taken in turn, with all of its layers in one of ten plans; what fails is printed with
its plan.
"""

from __future__ import annotations

import argparse
import traceback
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.workloads.every_model.plans import Trial, pairs, trials
from tests.workloads.every_model.trying import tried


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.workloads.every_model")
    parser.add_argument("--plans", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--first", type=int, default=0, help="plans to skip")
    asked = parser.parse_args()
    begin = perf_counter()
    counts: Counter[str] = Counter()
    seen: set[object] = set()
    chosen = islice(_mixed(asked.seed), asked.first, asked.plans)
    for number, trial in enumerate(chosen, asked.first):
        counts["plans"] += 1
        seen |= pairs(trial)
        counts += _counted(trial, number)
        if counts["plans"] % 50 == 0:
            print(f"{dict(counts)}, {perf_counter() - begin:.0f} s", flush=True)
    print(f"{dict(counts)}, {len(seen)} pairs of values, {perf_counter() - begin:.0f} s")
    return 1 if counts["failed"] else 0


def _mixed(seed: int) -> Iterator[Trial]:
    whole, few = trials(seed, full=True, most_work=6000), trials(seed)
    while True:
        yield next(whole)
        yield from islice(few, 9)


def _counted(trial: Trial, number: int) -> Counter[str]:
    with TemporaryDirectory() as folder:
        try:
            outcome = tried(trial, Path(folder), number)
        except Exception:
            print(f"{number}: {trial}\n{traceback.format_exc(limit=-2)}", flush=True)
            return Counter(failed=1)
    return Counter({"ranks": trial.plan.ranks, "nodes": outcome.nodes, outcome.cluster: 1})


if __name__ == "__main__":
    raise SystemExit(main())
