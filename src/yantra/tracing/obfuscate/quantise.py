"""Level 3: durations and sizes in logarithmic buckets, totals kept.

A value becomes the middle of its bucket, and all of a lane are then scaled so that the lane's total
stays: exactly for durations, operations and touched bytes, within a byte a call for what is
communicated, where one size must stay one size on all ranks. A lane is a CPU thread, a GPU stream,
a communicator, or a pair of ranks that exchange messages. There are eight buckets to an octave: no
value moves by more than 4.4 % but for the scaling, which takes back the mean of these moves, so no
path gets longer or shorter by much more.

With `epsilon`, the count of durations in each bucket of a lane gets Laplace noise of scale
1 / epsilon before values are drawn, smallest first (Dwork et al., 2006). That hides whether a lane
holds one node more or less; it does not hide totals, sizes or the graph.
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
_EXACT = ("inputs", "outputs", "duration_ns")  # tell sizes and times to the byte and nanosecond
Lane = tuple[str, int | str]


class Pair(NamedTuple):
    """The ends of a message."""

    source: int
    destination: int


def bucket(value: int) -> int:
    """Return the bucket of a positive number."""
    return floor(log2(value) * BUCKETS_PER_OCTAVE)


def middle(of: int) -> float:
    """Return the geometric middle of a bucket."""
    return float(2 ** ((of + 0.5) / BUCKETS_PER_OCTAVE))


class Sizes:
    """New sizes of what is communicated, for all ranks of a job alike."""

    def __init__(self, ranks: Mapping[int, list[Node]]) -> None:
        calls: dict[object, Counter[int]] = defaultdict(Counter)
        for rank, nodes in ranks.items():
            for node in nodes:
                size = node.get("comm_size")
                if isinstance(size, int) and size > 0 and node.type in _COMMUNICATION:
                    calls[_lane_of_call(node, rank)][size] += 1
        self._new = {lane: _scaled_sizes(found) for lane, found in calls.items()}

    def of(self, node: Node, rank: int, size: int) -> int:
        """Return the new size of a call."""
        return self._new[_lane_of_call(node, rank)].get(size, size)


_COMMUNICATION = (NodeType.COMM_COLL, NodeType.COMM_SEND, NodeType.COMM_RECV)


def quantise(
    nodes: list[Node], rank: int, sizes: Sizes, keyed: Keyed, epsilon: float | None
) -> None:
    """Quantise a rank's nodes in place; starts go, for they would tell the old durations."""
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
    """Return the lane of a node: what works on one node after the other."""
    if node.type in _COMMUNICATION:
        return "group", str(node.get("pg_name") or "0")
    if node.get("is_cpu_op"):
        thread = node.get("thread", node.get("tid", 0))
        return "thread", thread if isinstance(thread, int) else 0
    stream = node.get("stream", 0)
    return "stream", stream if isinstance(stream, int) else 0


def scaled(values: list[int], counts: Mapping[int, int] | None = None) -> list[int]:
    """Return values in buckets whose sum is that of the old ones; zeros stay zeros.

    `counts` gives each bucket other members than it had: the smallest values take the lowest.
    """
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
    """Quantise an attribute that only its own node needs."""
    having = [
        (node, item)
        for node in members
        if (item := node.attribute(name)) is not None and isinstance(item.value, int)
    ]
    values = [max(item.value, 0) for _, item in having if isinstance(item.value, int)]
    for (node, item), value in zip(having, scaled(values), strict=True):
        node.set(name, value, item.kind)


def _noisy(durations: list[int], lane: Lane, keyed: Keyed, epsilon: float) -> Counter[int]:
    """Return noisy counts of the buckets that add up to the number of positive durations."""
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
