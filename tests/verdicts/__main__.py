"""Holds the law of the first line against random steps: python -m tests.verdicts --steps 300."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from tests.verdicts.law import holds, result_of
from tests.workloads.every_model.plans import Trial, trials
from yantra.run import verdict


def _small(seed: int) -> Iterator[Trial]:
    return (trial for trial in trials(seed) if trial.work <= 400)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.verdicts")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seed", type=int, default=3)
    asked = parser.parse_args()
    verdict.MOST_EVENTS = 10**9  # runs, whatever they cost
    begin = perf_counter()
    counts: Counter[str] = Counter()
    for number, trial in enumerate(islice(_small(asked.seed), asked.steps)):
        with TemporaryDirectory() as folder:
            try:
                counts[holds(result_of(trial, Path(folder), number), str(trial))] += 1
            except AssertionError as error:
                counts["failed"] += 1
                print(error, flush=True)
        if number % 50 == 49:
            print(dict(counts), flush=True)
    print(f"{dict(counts)}, {perf_counter() - begin:.0f} s")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
