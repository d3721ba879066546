"""What a drawn job must tell because it behaves as the real one: families found from makespans,
exposed communication and bytes of groups alone, or from sums of work and bytes, by tolerance.

An attacker who looks there alone knows each family at another size. Trade-off: what is drawn within
a tolerance moves each number by chance, or all of them to what misleads most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log2
from random import Random

from yantra.synth.clusters import CLUSTERS, group_bytes, run_on
from yantra.synth.judge import TINY_BYTES
from yantra.synth.observe import Observed
from yantra.synth.shapes import Shape

TOLERANCES = (0.0, 0.05, 0.25, 1.0, 3.0, 7.0)
"""By how much of itself a number may grow; it may fall by the same factor."""

_TRIES = 10

Numbers = Mapping[str, float]
"""log2 of what is kept, by name."""


def by_utility(job: Observed) -> Numbers:
    """What equal utility keeps, over the first makespan."""
    runs = [run_on(cluster, job) for cluster in CLUSTERS]
    found = {name: size for name, size in group_bytes(job).items() if size > TINY_BYTES}
    for at, run in enumerate(runs):
        found |= {f"makespan {at}": run.makespan_ns, f"exposed {at}": run.exposed_ns}
    return {name: log2(value / runs[0].makespan_ns) for name, value in found.items() if value}


def by_sums(job: Observed) -> Numbers:
    """Sums of work and bytes by class."""
    return Shape(job.traces[0]).totals


def told(numbers: Sequence[Sequence[Numbers]], tolerance: float, misled: bool = False) -> float:
    """The share of families found; `numbers` by family and size. `misled`: what is shared moves to
    the family that it is taken for most easily, else all numbers by chance.
    """
    octaves = log2(1 + tolerance)
    random = Random(0)
    right = []
    for size in (0, 1) * (1 if misled else _TRIES):
        for family, pair in enumerate(numbers):
            known = [other[1 - size] for other in numbers]
            if misled:
                shown = [_toward(pair[size], other, octaves) for other in known]
            else:
                known = [_moved(one, random, octaves) for one in known]
                shown = [_moved(pair[size], random, octaves)]
            right.append(all(_nearest(known, one) == family for one in shown))
    return sum(right) / len(right)


def _nearest(known: Sequence[Numbers], one: Numbers) -> int:
    far = [_apart(other, one) for other in known]
    return far.index(min(far))


def _apart(one: Numbers, other: Numbers) -> float:
    names = {*one, *other}
    return sum(abs(one.get(n, 0.0) - other.get(n, 0.0)) for n in names) / len(names)


def _moved(one: Numbers, random: Random, octaves: float) -> Numbers:
    return {name: value + random.uniform(-octaves, octaves) for name, value in one.items()}


def _toward(one: Numbers, other: Numbers, octaves: float) -> Numbers:
    return {
        name: value + min(max(other.get(name, value) - value, -octaves), octaves)
        for name, value in one.items()
    }


def curve(jobs: Sequence[Sequence[Observed]]) -> list[tuple[str, list[tuple[float, float]]]]:
    """Families found by each kind of numbers: by chance and misled, at each of `TOLERANCES`."""
    kinds: dict[str, Callable[[Observed], Numbers]] = {
        "makespans, exposed communication, bytes of groups": by_utility, "sums": by_sums
    }  # fmt: skip
    found = []
    for kind, look in kinds.items():
        numbers = [[look(job) for job in pair] for pair in jobs]
        rows = [(told(numbers, at), told(numbers, at, misled=True)) for at in TOLERANCES]
        found.append((kind, rows))
    return found
