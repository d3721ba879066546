"""The attack that shared traces are held against: which architecture is this, known at another
size?

A trace's fingerprint has a histogram for each aspect that survives without names: pairs of
degrees, trigrams of nodes in order, durations and sizes against their mean, counts. The guess is
the nearest known fingerprint, by the cosine of one aspect or the mean of all. The attacker applies
the method to what he knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log2, sqrt

from yantra.chakra.schema import NodeType
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.paths import critical_path

Histogram = Counter[object]
Fingerprint = dict[str, Histogram]

ALL = "all"
ASPECTS = ("degrees", "trigrams", "durations", "work", "sizes", "counts")
"""What is compared; `ALL` is their mean."""

_STEPS = 2  # buckets an octave


def fingerprint(trace: Trace) -> Fingerprint:
    """The histograms of a trace, by aspect."""
    columns = Columns(trace)
    kinds = [_kind(columns, at) for at in range(columns.count)]
    spans = [columns.child_begin[at + 1] - columns.child_begin[at] for at in range(columns.count)]
    into = [end - begin for begin, end in pairwise(columns.parent_begin)]
    path = critical_path(columns)
    work = [(value or 0) for value in columns.integers("num_ops")]
    counts: Histogram = Counter()
    for kind, number in Counter(kinds).items():
        counts[kind] = _level(number)
    counts["edges"] = _level(len(columns.parent))
    counts["depth"], counts["width"] = _level(path.depth), _level(path.width)
    return {
        "degrees": Counter(zip(into, spans, strict=True)),
        "trigrams": Counter(zip(kinds, kinds[1:], kinds[2:], strict=False)),
        "durations": _against_mean(columns.duration),
        "work": _against_mean(work),
        "sizes": _against_mean([size or 0 for size in columns.comm_size]),
        "counts": counts,
    }


def alike(one: Fingerprint, other: Fingerprint, aspect: str = ALL) -> float:
    """From 0 to 1: the cosine of an aspect; two empty ones are alike."""
    if aspect == ALL:
        return sum(alike(one, other, each) for each in ASPECTS) / len(ASPECTS)
    a, b = one[aspect], other[aspect]
    if not a or not b:
        return 1.0 if not a and not b else 0.0
    product = sum(count * b[key] for key, count in a.items())
    return product / sqrt(_square(a) * _square(b))


def guesses(known: Mapping[str, Sequence[Fingerprint]], target: Fingerprint) -> dict[str, str]:
    """For each aspect and `ALL`, the name whose fingerprint is nearest to the target's."""
    return {
        aspect: max(known, key=lambda name: max(alike(one, target, aspect) for one in known[name]))
        for aspect in (ALL, *ASPECTS)
    }


def _kind(columns: Columns, at: int) -> str:
    if columns.type[at] == NodeType.COMM_COLL:
        return f"collective {columns.comm_type[at]}"
    if columns.type[at] != NodeType.COMP:
        return f"type {columns.type[at]}"
    lane = "thread" if columns.is_cpu[at] else "stream"
    return f"{lane} {columns.name(at)}"


def _against_mean(values: Sequence[int]) -> Histogram:
    positive = [value for value in values if value > 0]
    if not positive:
        return Counter()
    mean = sum(positive) / len(positive)
    return Counter(round(log2(value / mean) * _STEPS) for value in positive)


def _level(number: int) -> int:
    return round(log2(number + 1) * _STEPS)


def _square(histogram: Histogram) -> int:
    return sum(count * count for count in histogram.values())
