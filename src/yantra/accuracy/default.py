"""What the default, stack `unknown`, gives of measured steps: the runs of `yantra run`.

The framework of a step is not known: its mixture is made without all stacks of that framework, and
the profile of its machine is not used, as who runs a step on a named cluster has neither. Each data
set has one vote in the last line, however many steps it has.

The interval is the one that `unknown` ships for a machine and precision, but without the steps of
the row's model. Steps each of which was predicted by a mixture without its own framework say how
wide it is: at least so wide that nine of ten votes of data sets are within, and so wide as
Student's t of the models on this machine, drawn to the data sets of all others, which count as
`NU` models. So it is wide where nothing, or nothing near, was measured on a machine, and as wide as
its steps are off where something was.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import hypot, log, sqrt
from os import path as paths
from statistics import fmean, median
from typing import Any, NamedTuple

from yantra.accuracy.fit import COVERED
from yantra.accuracy.metrics import cells
from yantra.accuracy.mixture import unknown_without
from yantra.accuracy.own_fit import NU, student
from yantra.accuracy.ranking import Ranking, ranking_of
from yantra.accuracy.rows import Row, rows
from yantra.accuracy.with_stack import Step, with_stacks
from yantra.base.documents import read_text
from yantra.fabric.stacks.types import EIGHT_BITS
from yantra.run.interval import bounds

RECORD = paths.join(paths.dirname(__file__), "rows", "default.csv")
_HEAD = ("dataset", "name", "seconds", "beside")
WORST = 4


class Ours(NamedTuple):
    """A row run with the default: its seconds, and what its interval has beside the stack's."""

    row: Row
    seconds: float
    beside: float = 0.0

    @property
    def error(self) -> float:
        """Return predicted / measured - 1."""
        return self.seconds / self.row.seconds - 1.0

    @property
    def off(self) -> float:
        """Return the logarithm of measured / predicted."""
        return log(self.row.seconds / self.seconds)

    @property
    def needs(self) -> float:
        """Return the half-width of a stack that just holds it."""
        return sqrt(max(self.off**2 - self.beside**2, 0.0))

    def within(self, stated: float) -> tuple[float, float]:
        """Return the ends of its interval in s, where the stack states a half-width."""
        low, high = bounds(hypot(stated, self.beside))
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
            (one,) = with_stacks(row._replace(profile=""), [mixtures[framework]])
            known[key] = one if isinstance(one, Step) else None
        step = known[key]
        if step is not None:
            found.append(Ours(row, step.seconds, step.beside))
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
            numbers = f"{one.seconds:.6g}", f"{one.beside:.4g}"
            writer.writerow((one.row.dataset, one.row.name, *numbers))


def recorded() -> list[Ours]:
    """Return what the last recorded run gave."""
    by_name = {(row.dataset, row.name): row for row in rows()}
    lines = [line for line in read_text(RECORD).splitlines() if not line.startswith("#")]
    made = []
    for line in csv.DictReader(lines):
        row = by_name.get((line["dataset"], line["name"]))
        if row is not None:
            made.append(Ours(row, float(line["seconds"]), float(line["beside"])))
    return made


def half_width(found: Sequence[Ours], covered: float = COVERED) -> float:
    """Return the half-width, as a logarithm, within which that share of steps is.

    What is beside it widens each. Each data set has one vote, however many steps it has.
    """
    of_set = Counter(one.row.dataset for one in found)
    share = 0.0
    for size, weight in sorted((one.needs, 1.0 / of_set[one.row.dataset]) for one in found):
        share += weight / len(of_set)
        if share >= covered - 1e-9:
            return size
    raise ValueError("no steps")


def key_of(row: Row) -> tuple[str, bool]:
    """Return whose steps a row is like: those of its machine, in 8 bits or not."""
    return row.machine, row.dtype in EIGHT_BITS


def width_on(key: tuple[str, bool], found: Iterable[Ours]) -> float:
    """Return the half-width that `unknown` states on a machine, in 8 bits or not."""
    alike = [one for one in found if key_of(one.row)[1] == key[1]]
    own, others = defaultdict(list), defaultdict(list)
    for one in alike:
        if key_of(one.row) == key:
            own[one.row.fold].append(one.needs**2)
        else:
            others[one.row.dataset].append(one.needs**2)
    freedom = len(own) + NU
    drawn_to = fmean(map(fmean, (others or own).values()))
    square = sum(map(fmean, own.values())) + NU * drawn_to
    return max(half_width(alike), student(freedom) * sqrt(square / freedom))


def held_out_widths(found: Sequence[Ours]) -> dict[Ours, float]:
    """Return the half-width of each step, from all steps of other models, as found or recorded."""
    every = {(one.row.dataset, one.row.name): one for one in (*recorded(), *found)}
    known: dict[tuple[object, ...], float] = {}
    made = {}
    for one in found:
        key = key_of(one.row), one.row.fold
        if key not in known:
            others = [other for other in every.values() if other.row.fold != one.row.fold]
            known[key] = width_on(key[0], others)
        made[one] = known[key]
    return made


def judge(found: Sequence[Ours]) -> Judgement:
    """Return the figures of runs with the default."""
    widths = held_out_widths(found)
    datasets = _lines(found, widths, lambda row: row.dataset)
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
        _lines(found, widths, lambda row: row.machine),
        _lines(found, widths, lambda row: row.file.framework),
        whole,
        tuple(sorted(found, key=lambda one: -abs(one.error))[:WORST]),
    )


def _lines(
    found: Sequence[Ours], widths: Mapping[Ours, float], of: Callable[[Row], str]
) -> tuple[Line, ...]:
    """Return figures by a property of rows, the largest mean error first."""
    groups: Mapping[str, list[Ours]] = defaultdict(list)
    for one in found:
        groups[of(one.row)].append(one)
    lines = (_line(name, some, widths) for name, some in groups.items())
    return tuple(sorted(lines, key=lambda line: (-line.mean, line.name)))


def _line(name: str, found: Sequence[Ours], widths: Mapping[Ours, float]) -> Line:
    errors = [one.error for one in found]
    ends = ((one.row.seconds, *one.within(widths[one])) for one in found)
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
