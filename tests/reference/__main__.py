"""Runs random jobs on ASTRA-sim's binaries and on Yantra, and counts how they compare.

    YANTRA_REFERENCE_UNAWARE=... YANTRA_REFERENCE_AWARE=... python -m tests.reference --count 5000

`--count` jobs, of each kind in turn, from `--first` on, each on the backends whose binary is named
(the aware one has networks of one dimension alone). It ends with status 1 if anything differs. A
job that differs has a name, `KIND SEED BACKEND`; `--job KIND SEED BACKEND --keep FOLDER` writes its
files.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

from tests.reference import jobs
from tests.reference.runs import Verdict, compared

WRONG = (
    "different",
    "different before the reference stops",
    "only the reference completes",
    "fault",
)


def _binaries() -> dict[str, Path]:
    names = {"unaware": "YANTRA_REFERENCE_UNAWARE", "aware": "YANTRA_REFERENCE_AWARE"}
    return {
        backend: Path(os.environ[name]) for backend, name in names.items() if name in os.environ
    }


def _run(task: tuple[str, int, str, Path]) -> Verdict:
    return compared(*task)


def _tasks(first: int, count: int, binaries: dict[str, Path]) -> list[tuple[str, int, str, Path]]:
    tasks = []
    for seed in range(first, first + count):
        kind = list(jobs.KINDS)[seed % len(jobs.KINDS)]
        one = len(jobs.Job(Random(f"{kind} {seed}")).blocks) == 1
        tasks += [
            (kind, seed, backend, binary)
            for backend, binary in binaries.items()
            if backend == "unaware" or one
        ]
    return tasks


def main() -> int:
    """Run the campaign; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.reference", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--job", nargs=3, metavar=("KIND", "SEED", "BACKEND"))
    parser.add_argument("--keep", type=Path, default=Path("build") / "reference-job")
    given = parser.parse_args()
    binaries = _binaries()
    if given.job:
        kind, seed, backend = given.job
        given.keep.mkdir(parents=True, exist_ok=True)
        print(" ".join(jobs.write(kind, int(seed), given.keep.resolve()).options()))
        if backend in binaries:
            print(*compared(kind, int(seed), backend, binaries[backend]), sep="\n")
        return 0
    if not binaries:
        parser.error("name a binary in YANTRA_REFERENCE_UNAWARE or YANTRA_REFERENCE_AWARE")
    return _campaign(_tasks(given.first, given.count, binaries), given.workers)


def _campaign(tasks: list[tuple[str, int, str, Path]], workers: int) -> int:
    counts: Counter[tuple[str, str]] = Counter()
    with ProcessPoolExecutor(workers) as pool:
        for at, verdict in enumerate(pool.map(_run, tasks, chunksize=8), start=1):
            counts[verdict.name.split()[-1], verdict.kind] += 1
            if verdict.kind in WRONG:
                print(f"{verdict.name}: {verdict.kind}: {verdict.text}", flush=True)
            if sys.stderr.isatty() or at % 500 == 0:
                print(f"{at} of {len(tasks)}", end="\r", file=sys.stderr, flush=True)
    for (backend, kind), count in sorted(counts.items()):
        print(f"{backend:8} {count:6}  {kind}")
    return int(any(kind in WRONG for _, kind in counts))


if __name__ == "__main__":
    sys.exit(main())
