"""Runs random jobs on ASTRA-sim's binaries and on Yantra, and counts how they compare.

    YANTRA_REFERENCE_UNAWARE=... YANTRA_REFERENCE_AWARE=... python -m tests.reference --count 5000

`--count` jobs, of each kind in turn, from `--first` on, each on the backends whose binary is named
(the aware one has only networks of one dimension). It ends with status 1 if anything differs. A job
that differs has a name, `KIND SEED BACKEND`; `--job KIND SEED BACKEND --keep FOLDER` writes its
files. Jobs on which the reference takes more than `--limit` seconds of the processor are counted
and named, not compared.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.reference import campaign, jobs
from tests.reference.campaign import Task
from tests.reference.runs import LATE, Verdict, compared

WRONG = (
    "different",
    "different before the reference stops",
    "only the reference completes",
    "no known reason",
    "fault",
)


def _binaries() -> dict[str, Path]:
    names = {"unaware": "YANTRA_REFERENCE_UNAWARE", "aware": "YANTRA_REFERENCE_AWARE"}
    return {
        backend: Path(os.environ[name]) for backend, name in names.items() if name in os.environ
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reference", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=int, default=1, help="of the reference, seconds per job")
    parser.add_argument("--fresh", action="store_true", help="run again what was run")
    parser.add_argument("--job", nargs=3, metavar=("KIND", "SEED", "BACKEND"))
    parser.add_argument("--keep", type=Path, default=Path("build") / "reference-job")
    given = parser.parse_args()
    binaries = _binaries()
    if given.job:
        kind, seed, backend = given.job
        given.keep.mkdir(parents=True, exist_ok=True)
        print(" ".join(jobs.write(kind, int(seed), given.keep.resolve()).options()))
        if backend in binaries:
            print(*compared(kind, int(seed), backend, binaries[backend], given.limit), sep="\n")
        return 0
    if not binaries:
        parser.error("name a binary in YANTRA_REFERENCE_UNAWARE or YANTRA_REFERENCE_AWARE")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    file = campaign.results_file(binaries, given.limit)
    if given.fresh:
        file.unlink(missing_ok=True)
    tasks = campaign.tasks(given.first, given.count, binaries)
    return _campaign(tasks, file, given.limit, given.workers)


def _campaign(tasks: list[Task], file: Path, limit_s: int, workers: int) -> int:
    known = campaign.kept(file)
    verdicts = [known[task.name] for task in tasks if task.name in known]
    todo = [task for task in tasks if task.name not in known]
    if verdicts:
        print(f"{len(verdicts)} of {len(tasks)} are in {file}; --fresh runs them again")
    _report_wrong(verdicts)
    try:
        for verdict in campaign.run(todo, file, limit_s, workers):
            verdicts.append(verdict)
            _report_wrong([verdict])
            if sys.stderr.isatty() or len(verdicts) % 500 == 0:
                print(f"{len(verdicts)} of {len(tasks)}", end="\r", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        _summarize(verdicts, limit_s)
        print(f"interrupted after {len(verdicts)} of {len(tasks)}; the same command goes on")
        return 130
    _summarize(verdicts, limit_s)
    return int(any(verdict.kind in WRONG for verdict in verdicts))


def _report_wrong(verdicts: Iterable[Verdict]) -> None:
    for verdict in verdicts:
        if verdict.kind in WRONG:
            print(f"{verdict.name}: {verdict.kind}: {verdict.text}", flush=True)


def _summarize(verdicts: list[Verdict], limit_s: int) -> None:
    counts = Counter((verdict.name.split()[-1], verdict.kind) for verdict in verdicts)
    for (backend, kind), count in sorted(counts.items()):
        print(f"{backend:8} {count:6}  {kind}")
    ended = [verdict.reference_s for verdict in verdicts if LATE not in verdict.kind + verdict.text]
    print(f"the reference takes {max(ended, default=0.0):.2f} s at most of those that it ends")
    late = sorted(verdict.name for verdict in verdicts if verdict.kind == LATE)
    if late:
        print(f"not compared, the reference takes more than {limit_s} s: {', '.join(late)}")


if __name__ == "__main__":
    sys.exit(main())
