"""What an obfuscated job still reveals without the key, with evidence.

Each line: what someone may want to know, how much shows (`exactly`, `roughly`, `no longer`), and
where.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from math import gcd
from typing import NamedTuple

from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns, collective_name
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.paths import critical_path, issue_order
from yantra.tracing.inspect.stats.parallelism import find_parallelism
from yantra.tracing.obfuscate.quantise import BUCKETS_PER_OCTAVE

_LONGEST_SEQUENCE = 1000
_SHOWN = 4


class Leak(NamedTuple):
    what: str
    shows: str
    evidence: list[str]


def find_leaks(
    before: Mapping[int, Columns], after: Mapping[int, Columns], groups: Groups, level: int
) -> list[Leak]:
    rank = min(after)
    old, new = before[rank], after[rank]
    return [
        _operators(new, level),
        _layers(new),
        _hidden_size(old, new, level),
        _degrees(after, groups),
        _durations(old, new, level),
        _operations(old, new),
        _shape(old, new, level),
    ]


def repetition(sequence: Sequence[Hashable]) -> tuple[int, int]:
    """Period and count of the repetition that covers most of a sequence.

    (0, 0) if nothing repeats.
    """
    text = sequence[:_LONGEST_SEQUENCE]
    best = (0, 0, 0)
    for period in range(1, len(text) // 2 + 1):
        run = longest = 0
        for at in range(period, len(text)):
            run = run + 1 if text[at] == text[at - period] else 0
            longest = max(longest, run)
        times = 1 + longest // period
        if times > 1 and times * period > best[0]:
            best = times * period, period, times
    return best[1:]


def _operators(new: Columns, level: int) -> Leak:
    counts = Counter(new.name(node) for node, type in enumerate(new.type) if type == NodeType.COMP)
    if level >= 4:
        return Leak("operators", "no longer", [f"{counts.total()} computations of one class"])
    shown = ", ".join(f"{count} {name}" for name, count in counts.most_common(2 * _SHOWN))
    return Leak("operators", "roughly", [f"classes remain: {shown}"])


def _layers(new: Columns) -> Leak:
    calls: dict[str, list[Hashable]] = {}
    classes: list[Hashable] = []
    for node in issue_order(new):
        if new.type[node] == NodeType.COMM_COLL:
            call = (new.comm_type[node], new.comm_size[node])
            calls.setdefault(new.group[node], []).append(call)
        elif new.type[node] == NodeType.COMP:
            classes.append(new.name(node))
    evidence = []
    for group, made in sorted(calls.items()):
        period, times = repetition(made)
        if times > 1:
            evidence.append(f"group {group} repeats a block of {period} calls {times} times")
    period, times = repetition(classes) if len(set(classes)) > 1 else (0, 0)
    if times > 1:
        evidence.append(f"the computations repeat a block of {period} nodes {times} times")
    none = ["no block of communications or computations repeats"]
    return Leak(
        "number of layers or steps", "roughly" if evidence else "no longer", evidence or none
    )


def _hidden_size(old: Columns, new: Columns, level: int) -> Leak:
    pairs = Counter(
        (collective_name(type), size)
        for type, size, kind in zip(new.comm_type, new.comm_size, new.type, strict=True)
        if kind == NodeType.COMM_COLL and size
    )
    before = {size for size in old.comm_size if size}
    same = sum(count for (_, size), count in pairs.items() if size in before)
    evidence = [
        f"{count} {what} of {size} bytes" for (what, size), count in pairs.most_common(_SHOWN)
    ]
    if pairs:
        divisor = gcd(*(size for _, size in pairs))
        evidence.append(f"{same} of {pairs.total()} calls have a size that the original had")
        if level < 3:
            evidence.append(f"all sizes are multiples of {divisor} bytes")
    if level == 1 and any(new.trace.native.inputs(record) for record in new.record):
        evidence.append("the nodes have shapes of tensors")
    if not evidence:
        return Leak("hidden size", "no longer", ["nothing is communicated"])
    return Leak("hidden size", "exactly" if level < 3 or same else "roughly", evidence)


def _degrees(after: Mapping[int, Columns], groups: Groups) -> Leak:
    found = find_parallelism(after, groups)
    evidence = [
        f"{finding.split}{'' if finding.degree is None else f' {finding.degree}'} "
        f"({finding.confidence}): {finding.evidence[0]}"
        for finding in found.findings
    ]
    evidence.append(f"{len(after)} ranks")
    return Leak("parallel degrees", "exactly" if found.findings else "roughly", evidence)


def _durations(old: Columns, new: Columns, level: int) -> Leak:
    if not any(new.duration):
        return Leak("durations", "no longer", ["the traces hold none"])
    total = f"their sum is {sum(new.duration)} us, as in the original"
    if level < 3:
        starts = ["starts are kept"] if any(new.start) else []
        return Leak("durations", "exactly", [total, *starts])
    width = 2 ** (1 / BUCKETS_PER_OCTAVE) - 1
    kept = f"in buckets of {width:.0%}, scaled to the total of their lane"
    lanes = f"{len(set(new.lane))} lanes, each with its total"
    return Leak("durations", "roughly", [kept, total if sum(old.duration) else "", lanes])


def _operations(old: Columns, new: Columns) -> Leak:
    values = [sum(value or 0 for value in side.integers("num_ops")) for side in (old, new)]
    if not values[1]:
        return Leak("operations in all", "no longer", ["no node has num_ops"])
    shows = "exactly" if values[0] == values[1] else "roughly"
    return Leak("operations in all", shows, [f"num_ops add up to {values[1]}"])


def _shape(old: Columns, new: Columns, level: int) -> Leak:
    path = critical_path(new)
    evidence = [
        f"{new.count} of {old.count} nodes, {len(new.parent)} of {len(old.parent)} edges",
        f"depth {path.depth}, critical path {path.length} us",
    ]
    return Leak("shape of the graph", "roughly" if level >= 4 else "exactly", evidence)
