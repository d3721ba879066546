"""What an attacker finds in drawn jobs: family, layers, width, parallelism, hardware, membership.

He hides jobs that he knows by the same method, as often as he likes, and says what is true of the
nearest: by an aspect of `yantra.tracing.share.fingerprint`, their mean, or `TOTALS`, the sums of
work and bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from yantra.chakra.trace import Trace
from yantra.synth.shapes import Shape, distance
from yantra.tracing.share.fingerprint import ALL, ASPECTS, Fingerprint, alike, fingerprint

TOTALS = "totals"
METHODS = (ALL, TOTALS, *ASPECTS)


class Mark(NamedTuple):
    """What a trace shows."""

    print: Fingerprint
    shape: Shape


def mark(trace: Trace) -> Mark:
    """The mark of a trace."""
    return Mark(fingerprint(trace), Shape(trace))


def near(one: Mark, other: Mark, method: str) -> float:
    """How near two marks are; larger is nearer."""
    if method == TOTALS:
        return -distance(one.shape, other.shape)
    return alike(one.print, other.print, method)


def _mean_near(some: Sequence[Mark], other: Mark, method: str) -> float:
    return sum(near(one, other, method) for one in some) / len(some)


class Found(NamedTuple):
    """Shares guessed by the mean of aspects, the best method, and chance (the commonest)."""

    mean: float
    best: float
    best_method: str
    chance: float
    by_method: dict[str, float]


def found_by(by_method: Mapping[str, float], chance: float) -> Found:
    """`Found` of the shares that each method guesses."""
    best = max(METHODS, key=lambda method: by_method[method])
    return Found(by_method[ALL], by_method[best], best, chance, dict(by_method))


def attack(
    known: Sequence[tuple[Sequence[Mark], Mapping[str, Hashable]]],
    targets: Sequence[tuple[Mark, Mapping[str, Hashable]]],
) -> dict[str, Found]:
    """How often each secret of `targets` is that of the nearest of `known`, by some draws each."""
    hits: dict[str, Counter[str]] = {}
    for target, secrets in targets:
        for method in METHODS:
            nearest = max(known, key=lambda one: _mean_near(one[0], target, method))[1]
            for name, value in secrets.items():
                hits.setdefault(name, Counter())[method] += nearest.get(name) == value
    found = {}
    for name, by_method in hits.items():
        values = Counter(secrets.get(name) for _, secrets in known)
        chance = max(values.values(), default=0) / max(len(known), 1)
        shares = {method: by_method[method] / len(targets) for method in METHODS}
        found[name] = found_by(shares, chance)
    return found


def membership(drawn: Sequence[Mark], members: Sequence[Mark], others: Sequence[Mark]) -> float:
    """The larger area under the curve of nearness to drawn jobs, by two methods; 0.5: chance."""
    areas = []
    for method in (ALL, TOTALS):
        inside = [max(near(one, each, method) for each in drawn) for one in members]
        outside = [max(near(one, each, method) for each in drawn) for one in others]
        areas.append(area(inside, outside))
    return max(areas)


def area(inside: Sequence[float], outside: Sequence[float]) -> float:
    """The share of pairs in which the member's score is larger; ties count half."""
    pairs = [(a > b) + (a == b) / 2 for a in inside for b in outside]
    return sum(pairs) / max(len(pairs), 1)
