"""Drawn jobs judged beside real ones: fidelity, behaviour, privacy, and what an attacker finds.

Beside fidelity are a floor, half of the real jobs (by families) against the other, and `markov`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from yantra.synth.attack import Found, Mark, attack, mark, membership
from yantra.synth.clusters import CLUSTERS, Ran, group_bytes, run_on
from yantra.synth.copies import copied, ratio
from yantra.synth.fidelity import Fidelity, fidelity
from yantra.synth.observe import Observed
from yantra.synth.settings import NUMBERS
from yantra.synth.shapes import Shape, distance

TINY_BYTES = 1 << 16  # of a group: what is less is not compared


class Behaviour(NamedTuple):
    """Medians of relative errors on a cluster, of jobs that have the settings of a real one."""

    cluster: str
    makespan: float
    exposed: float
    spearman: float


class Privacy(NamedTuple):
    """As in `copies`; `membership`: None without jobs that were not fitted."""

    ratio: float | None
    copied: float
    copied_of_one: float
    membership: float | None


class Judged(NamedTuple):
    """`pairs`: jobs of equal settings; `ordered`: the share that keeps the order of clusters;
    `group_bytes`: the median of largest errors.
    """

    real: int
    drawn: int
    fidelity: list[Fidelity]
    pairs: int
    behaviour: list[Behaviour]
    ordered: float
    group_bytes: float
    privacy: Privacy
    guessed: dict[str, Found]


def judge(
    real: Sequence[Observed], drawn: Sequence[Observed], others: Sequence[Observed] = ()
) -> Judged:
    """Judge drawn jobs; `others` are real ones that were not fitted."""
    shapes = [[Shape(trace) for trace in job.traces] for job in real]
    new = [[Shape(trace) for trace in job.traces] for job in drawn]
    paired = pairs_of(real, drawn)
    runs = [([run_on(c, a) for c in CLUSTERS], [run_on(c, b) for c in CLUSTERS]) for a, b in paired]
    bytes_off = [bytes_apart(a, b) for a, b in paired]
    marks = [mark(job.traces[0]) for job in real]
    new_marks = [mark(job.traces[0]) for job in drawn]
    held = [mark(job.traces[0]) for job in others]
    return Judged(
        len(real),
        len(drawn),
        fidelity(real, shapes, new),
        len(paired),
        behaviours(runs),
        sum(is_ordered(a, b) for a, b in runs) / max(len(runs), 1),
        median(bytes_off) if bytes_off else 0.0,
        _privacy(real, shapes, new, marks, new_marks, held),
        _guessed(real, drawn, marks, new_marks),
    )


def pairs_of(
    real: Sequence[Observed], drawn: Sequence[Observed]
) -> list[tuple[Observed, Observed]]:
    """Each drawn job with the nearest real one of its settings, if any."""
    found = []
    for job in drawn:
        same = [one for one in real if one.settings == job.settings]
        if same:
            shape = Shape(job.traces[0])
            nearest = min(same, key=lambda one: distance(Shape(one.traces[0]), shape))
            found.append((nearest, job))
    return found


def behaviours(runs: Sequence[tuple[list[Ran], list[Ran]]]) -> list[Behaviour]:
    """By cluster; real before drawn."""
    if not runs:
        return []
    found = []
    for at, cluster in enumerate(CLUSTERS):
        both = [(a[at], b[at]) for a, b in runs]
        makespan = [abs(b.makespan_ns / a.makespan_ns - 1) for a, b in both]
        exposed = [abs(b.exposed_ns - a.exposed_ns) / a.makespan_ns for a, b in both]
        columns = [a.makespan_ns for a, _ in both], [b.makespan_ns for _, b in both]
        found.append(Behaviour(cluster.name, median(makespan), median(exposed), spearman(*columns)))
    return found


def is_ordered(real: Sequence[Ran], drawn: Sequence[Ran]) -> bool:
    """Whether clusters are in the same order, ties within a hundredth."""
    order = sorted(range(len(real)), key=lambda at: real[at].makespan_ns)
    times = [drawn[at].makespan_ns for at in order]
    return all(a <= b * 1.01 for a, b in pairwise(times))


def bytes_apart(real: Observed, drawn: Observed) -> float:
    """The largest relative difference of a group's bytes."""
    before, after = group_bytes(real), group_bytes(drawn)
    off = [
        abs(after.get(name, 0.0) - before.get(name, 0.0)) / max(before.get(name, 0.0), TINY_BYTES)
        for name in {*before, *after}
        if max(before.get(name, 0.0), after.get(name, 0.0)) > TINY_BYTES
    ]
    return max(off, default=0.0)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation; 1 for fewer than two."""
    if len(one) < 2:
        return 1.0
    a, b = _ranks(one), _ranks(other)
    mean = (len(a) - 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    below = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return top / below**0.5 if below else 1.0


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def _privacy(
    real: Sequence[Observed],
    shapes: list[list[Shape]],
    new: list[list[Shape]],
    marks: list[Mark],
    new_marks: list[Mark],
    held: list[Mark],
) -> Privacy:
    drawn = [shape for some in new for shape in some]
    every, of_one = copied([job.family for job in real], shapes, drawn)
    firsts, news = [some[0] for some in shapes], [some[0] for some in new]
    far = ratio(news, firsts, [one.shape for one in held])
    return Privacy(far, every, of_one, membership(new_marks, marks, held) if held else None)


def _guessed(
    real: Sequence[Observed], drawn: Sequence[Observed], marks: list[Mark], new: list[Mark]
) -> dict[str, Found]:
    names = [name for name in NUMBERS if len({getattr(job.settings, name) for job in real}) > 1]
    known = [
        ([m], {n: getattr(j.settings, n) for n in names}) for m, j in zip(marks, real, strict=True)
    ]
    targets = [
        (m, {n: getattr(j.settings, n) for n in names}) for m, j in zip(new, drawn, strict=True)
    ]
    return attack(known, targets) if names else {}
