"""What three own steps are worth: a stack moved to them, judged on the others of a data set.

    python -m yantra.accuracy.own_rows           the table of docs/reference/accuracy.md (minutes)
    python -m yantra.accuracy.own_rows --write   and records it for the page
    python -m yantra.accuracy.own_rows ptdp      some data sets, or files like training_steps.csv

Of each data set the first, the middle and the last step by operations are own. Its framework is not
known: stacks that were fitted to any step of the data set are no candidates, and with `--strict`
none of its family (Megatron of all years is one). Nor is the profile of its machine. The nearest of
those left is moved (`own_stack.py`), and all other steps are run with it. Beside it stands what the
nearest stack gives unmoved, and `unknown`, which is no candidate as every framework is in it: here
it is the mixture without the data set's own.

Of the largest data set the plans of every 8th job count. Each data set has one vote in the last
line, whose median is of all steps, each data set weighing the same.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import path as paths
from statistics import fmean, median
from typing import NamedTuple

from yantra.accuracy.mixture import shipped, unknown_without
from yantra.accuracy.own_stack import best_of, own_stack, ranked, run_of
from yantra.accuracy.rows import Row
from yantra.accuracy.splits import family
from yantra.accuracy.suite import chosen_rows
from yantra.accuracy.with_stack import Refused, Step, with_stacks
from yantra.base.documents import read_text
from yantra.fabric.stacks.types import Stack

RECORD = paths.join(paths.dirname(__file__), "rows", "own_judged.csv")
OWN_STEPS = 3
EVERY = 8  # jobs of the largest data set
_LEAST = 5  # steps of a data set
_FILE = "own.yaml"  # never written: what the moved stack is called


class Figures(NamedTuple):
    """Signed errors of the judged steps, by what they were run with, and of the three own steps."""

    dataset: str
    start: str
    scatter: float
    own: tuple[float, ...]
    moved: tuple[float, ...]
    nearest: tuple[float, ...]
    unknown: tuple[float, ...]
    covered: float


def operations(row: Row) -> float:
    """Return the operations of a step's forward pass: its size."""
    return float(row.made_model().flops(causal="megatron")) * row.made_plan().global_batch


def first_middle_last(rows: Sequence[Row]) -> list[Row]:
    """Return the first, the middle and the last step by size."""
    by_size = sorted(rows, key=operations)
    return [by_size[0], by_size[len(by_size) // 2], by_size[-1]]


def candidates(rows: Sequence[Row], every: Iterable[Row], strict: bool = False) -> list[Stack]:
    """Return the shipped stacks of which no step of `rows` was a part.

    `every` are the steps that shipped stacks were fitted to. With `strict` no stack of the family
    of `rows` is returned either. `unknown` never is: steps of `rows` are a part of its mixture.
    """
    own = {row.stack for row in rows}
    of_family = {family(row) for row in rows}
    seen = {row.file.name: row for row in every}

    def is_near(row: Row) -> bool:
        return row.stack in own or (strict and family(row) in of_family)

    near = {name for name, row in seen.items() if is_near(row)}
    return [stack for stack in shipped() if stack.name not in near]


def figures(rows: Sequence[Row], left: Sequence[Stack]) -> Figures:
    """Return the figures of a data set, with the stacks that are left of the shipped ones.

    Raises ConfigError for an own step that cannot be run; others that cannot are not judged.
    """
    bare = [row._replace(profile="") for row in rows]
    own = first_middle_last(bare)
    start = best_of(ranked(own, left, intervals=False), left)
    found = own_stack(own, start, "three steps", _FILE)
    unknown = unknown_without(rows[0].file.framework)
    judged = [
        with_stacks(row, [found.stack]) + with_stacks(row, (start, unknown), intervals=False)
        for row in bare
        if row not in own
    ]
    steps = [one for one in judged if not any(isinstance(step, Refused) for step in one)]
    moved, nearest, plain = (
        [step for of_row in steps for step in (of_row[at],) if isinstance(step, Step)]
        for at in range(3)
    )
    return Figures(
        rows[0].dataset,
        start.name,
        found.moves[0].scatter,
        tuple(run_of(row, found.stack).error for row in own),
        tuple(step.error for step in moved),
        tuple(step.error for step in nearest),
        tuple(step.error for step in plain),
        fmean(bool(step.held) for step in moved),
    )


def table(found: Sequence[Figures]) -> list[str]:
    """Return the figures as lines of Markdown."""
    lines = [
        "| data set | steps | unknown | nearest stack | moved: mean | median | bias | in 90 % "
        "| own three | from | scatter |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in found:
        cells = (
            one.dataset,
            str(len(one.moved)),
            f"{_mean(one.unknown):.1%}",
            f"{_mean(one.nearest):.1%}",
            f"{_mean(one.moved):.1%}",
            f"{median(map(abs, one.moved)):.1%}",
            f"{fmean(one.moved):+.1%}",
            f"{one.covered:.0%}",
            " ".join(f"{error:+.1%}" for error in one.own),
            one.start,
            f"{one.scatter:.1%}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    whole = (
        "each data set one vote",
        str(sum(len(one.moved) for one in found)),
        f"{fmean(_mean(one.unknown) for one in found):.1%}",
        f"{fmean(_mean(one.nearest) for one in found):.1%}",
        f"{fmean(_mean(one.moved) for one in found):.1%}",
        f"{weighed_median([one.moved for one in found]):.1%}",
        f"{fmean(fmean(one.moved) for one in found):+.1%}",
        f"{fmean(one.covered for one in found):.0%}",
    )
    return [*lines, f"| {' | '.join(whole)} | | | |"]


def _mean(errors: Sequence[float]) -> float:
    return fmean(map(abs, errors))


def weighed_median(sets: Sequence[Sequence[float]]) -> float:
    """Return the median size of errors, of which those of each set weigh 1 together."""
    sizes = sorted((abs(error), 1.0 / len(one)) for one in sets for error in one)
    half, weight = len(sets) / 2.0, 0.0
    for size, share in sizes:
        weight += share
        if weight >= half - 1e-9:
            return size
    raise ValueError("no errors")


def _sets(names: Sequence[str]) -> Iterator[list[Row]]:
    """Yield data sets of enough steps: those named, of files too; all recorded ones of no name."""
    from yantra.accuracy.rows import steps_of

    by_name: Mapping[str, list[Row]] = defaultdict(list)
    for row in chosen_rows(EVERY):
        by_name[row.dataset].append(row)
    for name in names or tuple(by_name):
        of_file: Mapping[str, list[Row]] = defaultdict(list)
        for row in () if name in by_name else steps_of(name):
            of_file[row.dataset].append(row)
        found = of_file.values() if of_file else [by_name[name]]
        yield from (rows for rows in found if len(rows) >= _LEAST)


def record(found: Iterable[Figures]) -> None:
    """Write figures; of each data set the errors of all of its steps."""
    with open(RECORD, "w", encoding="utf-8", newline="") as file:
        file.write("# Errors of steps, by python -m yantra.accuracy.own_rows --write\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Figures._fields)
        for one in found:
            lists = (" ".join(f"{error:.4f}" for error in errors) for errors in one[3:7])
            writer.writerow((*one[:2], f"{one.scatter:.4f}", *lists, f"{one.covered:.4f}"))


def recorded() -> list[Figures]:
    """Return the figures of the last recorded run."""
    lines = [line for line in read_text(RECORD).splitlines() if not line.startswith("#")]
    found = []
    for dataset, start, scatter, *lists, covered in list(csv.reader(lines))[1:]:
        own, moved, nearest, unknown = (tuple(map(float, one.split())) for one in lists)
        found.append(
            Figures(dataset, start, float(scatter), own, moved, nearest, unknown, float(covered))
        )
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the table; with --write record it, for all data sets alone."""
    strict = "--strict" in arguments
    names = [one for one in arguments if not one.startswith("--")]
    if "--write" in arguments and (strict or names):
        sys.stderr.write("--write records all data sets, without --strict\n")
        return 2
    every = chosen_rows()
    found = []
    for rows in _sets(names):
        found.append(figures(rows, candidates(rows, every, strict)))
        print(table(found[-1:])[2], file=sys.stderr, flush=True)
    if "--write" in arguments:
        record(found)
    sys.stdout.write("\n".join(table(found)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
