"""Judges steps of post-training by measured ones, and records the figures for the page.

    python -m yantra.rl.accuracy.judged            judges
    python -m yantra.rl.accuracy.judged --write    and records

Twice: as predicted, with nothing fitted; and with one factor each for generation,
log-probabilities, training and what is around, fitted on some models and judged on the others.
A factor of 1 counts as a measurement with an error of 0.3 against 0.1 of a row, so that what rows
do not tell stays as predicted; rows far off pull no more than others (least absolute errors).
"""

from __future__ import annotations

import csv
import sys
from math import exp, log
from os import path as paths
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.accuracy.metrics import errors
from yantra.accuracy.simplex import simplex
from yantra.base.documents import read_text
from yantra.rl.accuracy.rows import Row, rows
from yantra.rl.answer import answered
from yantra.rl.parts import Parts, Widths
from yantra.rl.step import ends_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Factors = dict[tuple[str, ...], tuple[float, ...]]
RECORD = paths.join(paths.dirname(__file__), "judged.csv")
HALVES = (("deepseek-v3", "qwen3-235b-a22b", "qwen3-32b"), ("llama3-8b", "qwen3-30b-a3b"))
"""Models by the alphabet, in turn."""
_PRIOR, _ERROR = 0.3, 0.1
_PHASES = (
    ("generation",),
    ("policy", "reference", "critic"),
    ("training",),
    ("reward", "refit", "to_training", "to_generation", "reference_moves", "controller"),
)
_NONE = Widths(0.0, 0.0, 0.0)


class Ran(NamedTuple):
    """A row predicted: seconds, the 90 % interval, and the parts of the middle draw."""

    row: Row
    seconds: float
    low: float
    high: float
    parts: Parts


class Judged(NamedTuple):
    """A row's figures in s; `fitted` with factors of the other half of the models."""

    title: str
    gpus: int
    measured: float
    seconds: float
    low: float
    high: float
    fitted: float

    @property
    def held(self) -> bool:
        """Whether the interval holds the measured time."""
        return self.low <= self.measured <= self.high

    @property
    def error(self) -> float:
        """Share by which the prediction is off."""
        return self.seconds / self.measured - 1


def ran(row: Row) -> Ran:
    """Predict a row."""
    answer = answered(row.question())
    return Ran(row, answer.seconds, answer.low, answer.high, answer.steps[0].parts)


def scaled(one: Ran, factors: Sequence[float]) -> float:
    """A row's seconds with a factor for each kind of phase."""
    changed = {
        name: getattr(one.parts, name) * factor
        for names, factor in zip(_PHASES, factors, strict=True)
        for name in names
    }
    return ends_of(one.row.given["mode"], one.parts._replace(**changed), _NONE)[0]


def fit(some: Sequence[Ran]) -> tuple[float, ...]:
    """Factors of generation, log-probabilities, training and what is around."""

    def loss(logs: NDArray[np.float64]) -> float:
        factors = [exp(one) for one in logs]
        off = sum(abs(log(scaled(one, factors) / one.row.seconds)) for one in some) / _ERROR
        return off + float(((logs / _PRIOR) ** 2).sum()) / 2

    return tuple(exp(one) for one in simplex(loss, np.zeros(len(_PHASES)), 0.1))


def judge(runs: Sequence[Ran]) -> tuple[list[Judged], Factors]:
    """Return figures of all rows, and the factors fitted to each half of the models."""
    factors: Factors = {
        half: fit([one for one in runs if one.row.model in half]) for half in HALVES
    }
    found = []
    for one in runs:
        others = next(of for half, of in factors.items() if one.row.model not in half)
        given = one.row.given
        found.append(
            Judged(
                one.row.title,
                int(given["gpus"]),
                one.row.seconds,
                one.seconds,
                one.low,
                one.high,
                scaled(one, others),
            )
        )
    return found, factors


def ratios(found: Sequence[Judged]) -> list[tuple[str, float, float]]:
    """One step off over synchronous, of jobs that have both on equal GPUs: measured, predicted."""
    by_pair: dict[tuple[str, int], dict[str, Judged]] = {}
    for one in found:
        job, _, mode = one.title.rpartition(" ")
        by_pair.setdefault((job, one.gpus), {})[mode] = one
    return [
        (job, after.measured / before.measured, after.seconds / before.seconds)
        for (job, _), of in by_pair.items()
        for before, after in [(of.get("sync"), of.get("one-off"))]
        if before is not None and after is not None
    ]


def record(found: Iterable[Judged], path: str = RECORD) -> None:
    """Write figures."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("# Steps of NeMo-RL 0.5, by python -m yantra.rl.accuracy.judged --write\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Judged._fields)
        writer.writerows((*one[:3], *(f"{value:.1f}" for value in one[3:])) for one in found)


def recorded(path: str = RECORD) -> list[Judged]:
    """Return the figures of the last recorded run."""
    lines = [line for line in read_text(path).splitlines() if not line.startswith("#")]
    return [
        Judged(title, int(gpus), *map(float, of))
        for title, gpus, *of in list(csv.reader(lines))[1:]
    ]


def table(found: Sequence[Judged]) -> list[str]:
    """Return figures as lines of Markdown, a row for each job and number of GPUs."""
    cells: dict[str, dict[str, str]] = {}
    for one in found:
        *job, mode = one.title.split()
        text = f"{one.measured:g}: {one.seconds:.0f} ({one.low:.0f}-{one.high:.0f})"
        text += "" if one.held else " not held"
        named = [word for word in job if word not in ("bf16", "grpo")]
        cells.setdefault(f"{one.gpus} {' '.join(named)}", {})[mode] = text
    lines = ["| GPUs and job | `sync`, s | `one-off`, s |", "| --- | --- | --- |"]
    lines += [
        f"| {job} | {of.get('sync', '-')} | {of.get('one-off', '-')} |" for job, of in cells.items()
    ]
    return [*lines, "", *said(found)]


def said(found: Sequence[Judged]) -> list[str]:
    """Return the figures over all rows in words."""
    plain = errors([one.seconds / one.measured for one in found])
    fitted = errors([one.fitted / one.measured for one in found])
    widest = max(one.high / one.low for one in found)
    lines = [
        f"* nothing fitted: {plain.mean:.1%} off in the mean, {sum(one.held for one in found)} of "
        f"{len(found)} within the interval, which is a factor {widest:.2f} wide at most",
        f"* with factors of other models: {fitted.mean:.1%}, at most "
        f"{max(fitted.high, -fitted.low):.0%}",
    ]
    for job, measured, ours in ratios(found):
        lines.append(f"* {job}: one step off / sync {measured:.3f}, predicted {ours:.3f}")
    return lines


def main(arguments: Sequence[str]) -> int:
    """Judge all rows, and record the figures with --write."""
    runs = [ran(row) for row in rows()]
    found, factors = judge(runs)
    if "--write" in arguments:
        record(found)
    lines = table(found)
    for half, of in factors.items():
        names = "generation, log-probabilities, training, around"
        lines.append(f"* {', '.join(half)}: {names} x {', '.join(f'{one:.2f}' for one in of)}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
