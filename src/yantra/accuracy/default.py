"""What the default, stack `unknown`, gives of measured steps: the runs of `yantra run`.

The framework of a step is not known: its mixture is made without all stacks of that framework, and
the profile of its machine is not used, as who runs a step on a named cluster has neither. Each data
set has one vote in the last line, however many steps it has.

The interval is the one that `unknown` ships. Its width follows from what is recorded here: from
steps each of which was predicted by a mixture without its own framework. Trade-off: those that it
is judged by are among them, as three frameworks are too few to leave one out of that, too.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import log
from os import path as paths
from statistics import fmean, median
from typing import Any, NamedTuple

from yantra.accuracy.fit import COVERED
from yantra.accuracy.metrics import cells
from yantra.accuracy.mixture import unknown_without
from yantra.accuracy.ranking import Ranking, ranking_of
from yantra.accuracy.rows import Row, rows
from yantra.accuracy.with_stack import Step, with_stacks
from yantra.base.documents import read_text
from yantra.fabric import stacks
from yantra.fabric.stacks.choice import UNKNOWN
from yantra.run.interval import bounds

RECORD = paths.join(paths.dirname(__file__), "rows", "default.csv")
_HEAD = ("dataset", "name", "seconds")
WORST = 4


class Ours(NamedTuple):
    """A row run with the default: its seconds."""

    row: Row
    seconds: float

    @property
    def error(self) -> float:
        """Return predicted / measured - 1."""
        return self.seconds / self.row.seconds - 1.0

    @property
    def off(self) -> float:
        """Return the logarithm of measured / predicted."""
        return log(self.row.seconds / self.seconds)

    def within(self, stated: float) -> tuple[float, float]:
        """Return the ends of its interval in s, where the stack states a half-width."""
        low, high = bounds(stated)
        return low * self.seconds, high * self.seconds


class Line(NamedTuple):
    """Figures of the steps of a data set, a machine or a framework; errors as shares."""

    name: str
    rows: int
    mean: float
    median: float
    bias: float
    covered: float
    ranking: Ranking | None


class Judgement(NamedTuple):
    """All figures; `whole` has one vote for each data set, `worst` are the steps furthest off."""

    datasets: tuple[Line, ...]
    machines: tuple[Line, ...]
    frameworks: tuple[Line, ...]
    whole: Line
    worst: tuple[Ours, ...]


def default_now(
    chosen: Sequence[Row], told: Callable[[int, int], None] = lambda *_: None
) -> list[Ours]:
    """Run rows with the default; those of one model, plan and machine once.

    A row that is refused is left out; the report of stacks says which.
    """
    mixtures = {name: unknown_without(name) for name in {row.file.framework for row in chosen}}
    known: dict[tuple[object, ...], Step | None] = {}
    found = []
    for done, row in enumerate(chosen):
        framework = row.file.framework
        key = row.cluster, row.dtype, row.ranks, row.model, row.plan, framework
        if key not in known:
            (one,) = with_stacks(row._replace(profile=""), [mixtures[framework]], intervals=False)
            known[key] = one if isinstance(one, Step) else None
        step = known[key]
        if step is not None:
            found.append(Ours(row, step.seconds))
        told(done + 1, len(chosen))
    return found


def record(found: Iterable[Ours]) -> None:
    """Write what a run gave."""
    with open(RECORD, "w", encoding="utf-8", newline="") as file:
        file.write(
            "# Seconds of each row with unknown, by python -m yantra.accuracy.suite --write\n"
        )
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEAD)
        for one in found:
            writer.writerow((one.row.dataset, one.row.name, f"{one.seconds:.6g}"))


def recorded() -> list[Ours]:
    """Return what the last recorded run gave."""
    by_name = {(row.dataset, row.name): row for row in rows()}
    lines = [line for line in read_text(RECORD).splitlines() if not line.startswith("#")]
    made = []
    for line in csv.DictReader(lines):
        row = by_name.get((line["dataset"], line["name"]))
        if row is not None:
            made.append(Ours(row, float(line["seconds"])))
    return made


def half_width(found: Sequence[Ours], covered: float = COVERED) -> float:
    """Return the half-width, as a logarithm, within which that share of steps is.

    Each data set has one vote, however many steps it has.
    """
    of_set = Counter(one.row.dataset for one in found)
    share = 0.0
    for size, weight in sorted((abs(one.off), 1.0 / of_set[one.row.dataset]) for one in found):
        share += weight / len(of_set)
        if share >= covered - 1e-9:
            return size
    raise ValueError("no steps")


def judge(found: Sequence[Ours]) -> Judgement:
    """Return the figures of runs with the default."""
    datasets = _lines(found, lambda row: row.dataset)
    whole = Line(
        "each data set one vote",
        len(found),
        fmean(one.mean for one in datasets),
        fmean(one.median for one in datasets),
        fmean(one.bias for one in datasets),
        fmean(one.covered for one in datasets),
        None,
    )
    return Judgement(
        datasets,
        _lines(found, lambda row: row.machine),
        _lines(found, lambda row: row.file.framework),
        whole,
        tuple(sorted(found, key=lambda one: -abs(one.error))[:WORST]),
    )


def _lines(found: Sequence[Ours], of: Callable[[Row], str]) -> tuple[Line, ...]:
    """Return figures by a property of rows, the largest mean error first."""
    groups: Mapping[str, list[Ours]] = defaultdict(list)
    for one in found:
        groups[of(one.row)].append(one)
    lines = (_line(name, some) for name, some in groups.items())
    return tuple(sorted(lines, key=lambda line: (-line.mean, line.name)))


def _line(name: str, found: Sequence[Ours]) -> Line:
    errors = [one.error for one in found]
    stated = stacks.load(UNKNOWN).terms()[1].interval.value
    ends = ((one.row.seconds, *one.within(stated)) for one in found)
    return Line(
        name,
        len(found),
        fmean(map(abs, errors)),
        median(map(abs, errors)),
        fmean(errors),
        fmean(low <= seconds <= high for seconds, low, high in ends),
        ranking_of((one.row, one.seconds) for one in found),
    )


def as_dict(found: Judgement) -> dict[str, Any]:
    """Return the figures for JSON; times in s, errors as shares."""
    return {
        "whole": _plain(found.whole),
        **{
            key: [_plain(one) for one in getattr(found, key)]
            for key in ("datasets", "machines", "frameworks")
        },
        "worst": [
            {
                "dataset": one.row.dataset,
                "name": one.row.name,
                "cluster": one.row.machine,
                "measured_s": one.row.seconds,
                "predicted_s": one.seconds,
            }
            for one in found.worst
        ],
    }


def _plain(line: Line) -> dict[str, Any]:
    of = line.ranking
    told = None if of is None else of._asdict() | {"regret": of.regret._asdict()}
    return line._asdict() | {"ranking": told}


def table(found: Judgement) -> list[str]:
    """Return the figures as lines of Markdown."""
    lines = [
        "| with the default | rows | mean | median | bias | in 90 % | tau | regret |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in (*found.datasets, found.whole, *found.machines, *found.frameworks):
        ranked = ("-", "-") if one.ranking is None else one.ranking.words()
        row = (
            one.name,
            str(one.rows),
            *cells(one.mean, one.median, one.bias, one.covered),
            *ranked,
        )
        lines.append(f"| {' | '.join(row)} |")
    lines.append("")
    lines += [
        f"* among the {WORST} worst steps: {one.row.dataset} {one.row.name} on {one.row.machine}: "
        f"{one.seconds:.4g} s for {one.row.seconds:.4g} s ({one.error:+.0%})"
        for one in found.worst
    ]
    return lines
