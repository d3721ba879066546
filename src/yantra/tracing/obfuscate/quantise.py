"""Level 3: durations and sizes in logarithmic buckets, totals kept.

Lanes (CPU threads, GPU streams, communicators, pairs of ranks with messages) keep their total:
exactly for durations, operations and touched bytes, within a byte per call for communication, whose
sizes agree on all ranks. Eight buckets an octave move values at most 4.4 % but for the scaling,
which undoes the mean move, so paths keep about their length.

`epsilon` adds Laplace noise of scale 1 / epsilon to buckets' counts of durations (Dwork et al.,
2006). It hides one node more or less in a lane, not totals, sizes or the graph.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from math import floor, log2
from typing import NamedTuple

from yantra.chakra.schema import Node, NodeType
from yantra.tracing.obfuscate.keyed import Keyed

BUCKETS_PER_OCTAVE = 8
_OWN = ("num_ops", "tensor_size")
_EXACT = ("inputs", "outputs", "duration_ns")  # exact sizes and times
Lane = tuple[str, int | str]


class Pair(NamedTuple):
    source: int
    destination: int


def bucket(value: int) -> int:
    return floor(log2(value) * BUCKETS_PER_OCTAVE)


def middle(of: int) -> float:
    return float(2 ** ((of + 0.5) / BUCKETS_PER_OCTAVE))


class Sizes:
    """New communication sizes, equal on all ranks."""

    def __init__(self, ranks: Mapping[int, list[Node]]) -> None:
        calls: dict[object, Counter[int]] = defaultdict(Counter)
        for rank, nodes in ranks.items():
            for node in nodes:
                size = node.get("comm_size")
                if isinstance(size, int) and size > 0 and node.type in _COMMUNICATION:
                    calls[_lane_of_call(node, rank)][size] += 1
        self._new = {lane: _scaled_sizes(found) for lane, found in calls.items()}

    def of(self, node: Node, rank: int, size: int) -> int:
        return self._new[_lane_of_call(node, rank)].get(size, size)


_COMMUNICATION = (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV)


def quantise(
    nodes: list[Node], rank: int, sizes: Sizes, keyed: Keyed, epsilon: float | None
) -> None:
    by_lane: dict[Lane, list[Node]] = defaultdict(list)
    for node in nodes:
        by_lane[lane_of(node)].append(node)
        node.start_micros = 0
        node.attributes = [item for item in node.attributes if item.name not in _EXACT]
        size = node.attribute("comm_size")
        if size is not None and isinstance(size.value, int) and size.value > 0:
            node.set("comm_size", sizes.of(node, rank, size.value), size.kind)
    for lane, members in by_lane.items():
        durations = [node.duration_micros for node in members]
        counts = None if epsilon is None else _noisy(durations, lane, keyed, epsilon)
        for node, value in zip(members, scaled(durations, counts), strict=True):
            node.duration_micros = value
        for name in _OWN:
            _own(members, name)


def lane_of(node: Node) -> Lane:
    if node.type in _COMMUNICATION:
        return "group", str(node.get("pg_name") or "0")
    if node.get("is_cpu_op"):
        thread = node.get("thread", node.get("tid", 0))
        return "thread", thread if isinstance(thread, int) else 0
    stream = node.get("stream", 0)
    return "stream", stream if isinstance(stream, int) else 0


def scaled(values: list[int], counts: Mapping[int, int] | None = None) -> list[int]:
    """Bucketed values with the old sum; zeros stay."""
    positive = [at for at, value in enumerate(values) if value > 0]
    if not positive:
        return list(values)
    buckets = {at: bucket(values[at]) for at in positive}
    if counts is not None:
        ranked = sorted(positive, key=lambda at: (values[at], at))
        drawn = (of for of in sorted(counts) for _ in range(counts[of]))
        buckets = dict(zip(ranked, drawn, strict=True))
    factor = sum(values) / sum(middle(of) for of in buckets.values())
    result = list(values)
    written = 0
    exact = 0.0
    for at in positive:
        exact += middle(buckets[at]) * factor
        result[at] = max(round(exact) - written, 0)
        written += result[at]
    result[positive[-1]] += sum(values) - written
    return result


def _scaled_sizes(found: Counter[int]) -> dict[int, int]:
    total = sum(size * calls for size, calls in found.items())
    middles = {size: middle(bucket(size)) for size in found}
    factor = total / sum(middles[size] * calls for size, calls in found.items())
    return {size: max(1, round(middles[size] * factor)) for size in found}


def _own(members: Iterable[Node], name: str) -> None:
    having = [
        (node, item)
        for node in members
        if (item := node.attribute(name)) is not None and isinstance(item.value, int)
    ]
    values = [max(item.value, 0) for _, item in having if isinstance(item.value, int)]
    for (node, item), value in zip(having, scaled(values), strict=True):
        node.set(name, value, item.kind)


def _noisy(durations: list[int], lane: Lane, keyed: Keyed, epsilon: float) -> Counter[int]:
    counts = Counter(bucket(value) for value in durations if value > 0)
    if not counts:
        return counts
    wanted = sum(counts.values())
    noisy = {
        of: max(counts[of] + keyed.laplace(1 / epsilon, "noise", lane, of), 0.0)
        for of in range(min(counts), max(counts) + 1)
    }
    share = wanted / sum(noisy.values()) if any(noisy.values()) else 0.0
    whole = Counter({of: floor(value * share) for of, value in noisy.items()})
    rest = sorted(noisy, key=lambda of: (whole[of] - noisy[of] * share, of))
    for of in (rest * wanted)[: wanted - sum(whole.values())]:
        whole[of] += 1
    return whole


def _lane_of_call(node: Node, rank: int) -> object:
    if node.type == NodeType.COMM_COLL:
        return str(node.get("pg_name") or "0")
    peer = node.get("comm_dst" if node.type == NodeType.COMM_SEND else "comm_src")
    other = peer if isinstance(peer, int) else -1
    return Pair(rank, other) if node.type == NodeType.COMM_SEND else Pair(other, rank)
