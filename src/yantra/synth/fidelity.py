"""How far drawn traces are from real ones, beside a floor and a baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import NamedTuple

from yantra.scenario.types import Templates
from yantra.synth.markov import markov
from yantra.synth.observe import Observed
from yantra.synth.shapes import Shape, Token, apart, divergence


class Fidelity(NamedTuple):
    """A distance of drawn jobs from real ones, of a half of those from the other, of the baseline;
    `ks` is Kolmogorov-Smirnov's, None where it is not of values.
    """

    what: str
    drawn: float | None
    floor: float | None
    markov: float | None
    ks: float | None


def halves(jobs: Sequence[Observed]) -> tuple[list[int], list[int]]:
    """Two halves of jobs by place: whole families where there are several."""
    families = sorted({job.family for job in jobs})
    if len(families) < 2:
        return list(range(0, len(jobs), 2)), list(range(1, len(jobs), 2))
    first = set(families[::2])
    where = list(range(len(jobs)))
    return [n for n in where if jobs[n].family in first], [
        n for n in where if jobs[n].family not in first
    ]


def baseline(jobs: Sequence[Observed], seed: int = 0) -> list[Shape]:
    """Traces of the baseline, one a job."""
    found = []
    for number, job in enumerate(jobs):
        if isinstance(job.played, Templates):
            made = markov(job.played.workload, Random(f"{seed} {number}"))
            found.append(Shape(made.template("all")))
    return found


def fidelity(
    real: Sequence[Observed], shapes: list[list[Shape]], new: list[list[Shape]]
) -> list[Fidelity]:
    one, other = halves(real)
    a, b = ([s for n in half for s in shapes[n]] for half in (one, other))
    every = [shape for some in shapes for shape in some]
    drawn = [shape for some in new for shape in some]
    chain = baseline(real)
    sides = (every, drawn), (a, b), (every, chain)
    rows = []
    kinds = sorted({kind for shape in every for kind in shape.figures.values})
    for kind in kinds:
        rows.append(
            _row(
                f"size of {kind}, octaves",
                sides,
                partial(_of_kind, kind),
            )
        )
    rows.append(_row("parents of a node", sides, lambda s: s.figures.degrees))
    rows.append(_row("longest path over nodes", sides, lambda s: [s.figures.depth]))
    rows.append(_row("critical path over work", sides, lambda s: [s.figures.critical]))
    far = [divergence(motifs_of(x, 3), motifs_of(y, 3)) for x, y in sides]
    rows.append(Fidelity("motifs of 3, distance", far[0], far[1], far[2], None))
    return rows


def _row(
    what: str,
    sides: Sequence[tuple[list[Shape], list[Shape]]],
    values: Callable[[Shape], Sequence[float]],
) -> Fidelity:
    found = [
        apart((v for s in x for v in values(s)), (v for s in y for v in values(s)))
        for x, y in sides
    ]
    return Fidelity(what, found[0][0], found[1][0], found[2][0], found[0][1])


def motifs_of(shapes: Sequence[Shape], length: int) -> Counter[tuple[Token, ...]]:
    sums: Counter[tuple[Token, ...]] = Counter()
    for shape in shapes:
        sums.update(shape.motifs(length))
    return sums


def _of_kind(kind: str, shape: Shape) -> list[float]:
    return shape.figures.values.get(kind, [])
