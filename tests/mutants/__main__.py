"""Asks whether the tests notice mistakes: python -m tests.mutants --count 200 (parts.py, rules.py;
--python: python_parts.py, python_rules.py). Status 1 below 95 of 100. Results are kept in
build/mutants/results.json.
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice

from tests.mutants.build import BuildError
from tests.mutants.campaign import (
    RESULTS,
    Campaign,
    Candidate,
    CoreTrials,
    PythonTrials,
    Result,
    Trials,
    sample,
)
from tests.mutants.parts import PARTS
from tests.mutants.python_parts import PYTHON_PARTS

ENOUGH = 0.95
Found = list[tuple[Candidate, Result]]


def main() -> int:
    asked = _arguments()
    parts = PYTHON_PARTS if asked.python else PARTS
    order = sample(asked.seed, asked.part, python=asked.python)
    if asked.list:
        for candidate in islice(order, asked.count):
            mutant = candidate.mutant
            print(f"{candidate.place}: {candidate.part}, {mutant.rule}: {mutant.change}")
        return 0
    campaign = Campaign(fresh=asked.fresh)
    if asked.again:
        campaign.forget_survivors()

    def trials() -> Trials:
        kind = PythonTrials if asked.python else CoreTrials
        made = kind(asked.workers, asked.timeout)
        if not asked.unchecked:
            made.check({asked.part} if asked.part else set(parts))
        return made

    try:
        found = campaign.run(order, asked.count, trials, _Progress(asked.count), asked.workers)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from here", file=sys.stderr)
        return 130
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2
    return _report(found, list(parts))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    add = parser.add_argument
    add("--seed", type=int, default=1, help="draws the sample")
    add("--count", type=int, default=200, help="mutants that compile")
    add("--python", action="store_true", help="of the Python package, not of the core")
    add("--part", choices=[*PARTS, *PYTHON_PARTS], help="of this part alone")
    add("--list", action="store_true", help="only tell what would be tried")
    add("--workers", type=int, default=2)
    add("--timeout", type=int, default=120, metavar="SECONDS", help="for the tests of a mutant")
    add("--again", action="store_true", help="try those that survived again, with today's tests")
    add("--fresh", action="store_true", help="forget all results")
    add("--unchecked", action="store_true", help="do not first run the tests without a change")
    asked = parser.parse_args()
    if asked.part:
        asked.python = asked.part in PYTHON_PARTS
    return asked


class _Progress:
    def __init__(self, count: int) -> None:
        self.count = count
        self.survived = 0

    def __call__(self, candidate: Candidate, result: Result, born: int) -> None:
        if result.fate == "survived":
            self.survived += 1
            print(f"survived: {candidate.place}: {candidate.mutant.change}", flush=True)
        if sys.stderr.isatty():
            line = f"{born} of {self.count}, {self.survived} survived; {candidate.place}"
            print(f"\r{line:<100}", end="", file=sys.stderr, flush=True)


def _report(found: Found, parts: list[str]) -> int:
    print()
    for candidate in (one for one, result in found if result.fate == "survived"):
        print(f"survived ({candidate.part}, {candidate.mutant.rule}): {candidate.place}")
        print(candidate.diff, end="\n\n")
    print(f"{'part':<18}{'mutants':>8}{'killed':>8}{'equivalent':>12}{'survived':>10}")
    for part in parts:
        _row(part, [result for one, result in found if one.part == part])
    killed, counted = _row("all", [result for _, result in found])
    print(f"results: {RESULTS}")
    if counted and killed < ENOUGH * counted:
        print(f"fewer than {ENOUGH:.0%} are killed")
        return 1
    return 0


def _row(part: str, results: list[Result]) -> tuple[int, int]:
    fates = [result.fate for result in results]
    killed, equal, left = map(fates.count, ("killed", "equivalent", "survived"))
    counted = killed + left
    share = f"{killed / counted:8.1%}" if counted else ""
    print(f"{part:<18}{len(fates):>8}{killed:>8}{equal:>12}{left:>10}{share}")
    return killed, counted


if __name__ == "__main__":
    raise SystemExit(main())
