"""How fast recorded collectives moved their bytes once the last member had come.

Bus bandwidth as nccl-tests counts it. A group is slow beside others of its kind, size and kernel if
its median is beyond their scatter (median absolute deviation) and 15 %; beside a model, if its
time is above the model's 90 % interval and half as long again as expected. Of 1,269 measured
collectives of at least 1 MiB of healthy nodes (AIConfigurator's tables, Azure's, MI300X) 9.5 % are
above the interval, 0.6 % also half as long again; at half the bandwidth all are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from math import inf
from statistics import median
from typing import NamedTuple

from yantra.collectives.bandwidth import buffer_bytes, bus_rate
from yantra.tracing.why.late import Meeting

SLOWER = 1.15
SLOWER_THAN_MODEL = 1.5
_SIGMA = 1.4826  # of a median absolute deviation
_SURE = 4.0
_FEWEST = 3
_PROTOCOL = re.compile(r"(LL128|LL|SIMPLE|Simple)(?![a-z])")
_ALGORITHM = re.compile(
    r"(RING|Ring|TREE|Tree|COLLNET_DIRECT|COLLNET_CHAIN|NVLS_TREE|NVLS|PAT)(?![a-z])"
)


class Expected(NamedTuple):
    """A model's time in ns, the bounds of its 90 % interval, and what it rests on."""

    time_ns: float
    low_ns: float | None
    high_ns: float | None
    rests_on: str


Model = Callable[[str, int, int], Expected | None]
"""The model of a cluster: kind, buffer in bytes, members."""


class Transfer(NamedTuple):
    """Collectives of one group, kind and size. Bandwidths in bytes per ns.

    `ratio`: the median bandwidth over the expected one; `beside`: over that of other groups of the
    same kind, size and kernel. `slow`: beside what: model, peers, earlier steps. `since`: a step.
    """

    group: str
    ranks: tuple[int, ...]
    kind: str
    bytes: int
    calls: int
    time_ns: float
    waited_ns: float
    bus_bytes_per_ns: float
    protocol: str
    algorithm: str
    expected_ns: float | None
    low_ns: float | None
    high_ns: float | None
    ratio: float | None
    beside: float | None
    slow: str
    since: int | None
    rests_on: str


def transfers(
    made: Sequence[Meeting], rank_of: Sequence[int], model: Model | None = None
) -> list[Transfer]:
    """One row a group, kind and size; slow ones first, then by time."""
    groups: dict[tuple[str, tuple[str, int, int, str]], list[Meeting]] = defaultdict(list)
    for one in made:
        if one.gathers:
            groups[one.group, one.key].append(one)
    times = {key: [one.transfer_ns for one in some] for key, some in groups.items()}
    rows = []
    for key, some in groups.items():
        peers = [times[other] for other in times if other != key and other[1] == key[1]]
        rows.append(_row(some, times[key], peers, rank_of, model))
    return sorted(rows, key=lambda row: (not row.slow, -row.time_ns * row.calls))


def _row(
    some: Sequence[Meeting],
    times: list[float],
    peers: list[list[float]],
    rank_of: Sequence[int],
    model: Model | None,
) -> Transfer:
    first = some[0]
    time = median(times)
    members = len(first.ranks)
    kind = first.kind.lower()
    buffer = buffer_bytes(kind, first.bytes, members)
    expected = model(kind, buffer, members) if model is not None and first.bytes else None
    beside = _beside(time, peers)
    why = []
    if expected is not None and time > _most(expected):
        why.append("model")
    if beside is not None and _is_beyond(times, peers):
        why.append("peers")
    since = _since(some)
    if since is not None:
        why.append("earlier steps")
    return Transfer(
        first.group,
        tuple(rank_of[place] for place in first.ranks),
        kind,
        first.bytes,
        len(some),
        time,
        sum(one.waited_ns for one in some),
        bus_rate(kind, members, buffer, time),
        *_named(first.kernel),
        expected.time_ns if expected else None,
        expected.low_ns if expected else None,
        expected.high_ns if expected else None,
        expected.time_ns / time if expected and time else None,
        beside,
        " and ".join(why),
        since,
        expected.rests_on if expected else "",
    )


def _most(expected: Expected) -> float:
    """What a model allows a healthy transfer, in ns; without an interval anything."""
    if expected.high_ns is None:
        return inf
    return max(expected.high_ns, SLOWER_THAN_MODEL * expected.time_ns)


def _since(some: Sequence[Meeting]) -> int | None:
    """The step from which a group is slower than before: that which parts times best."""
    timed = [(one.step, one.transfer_ns) for one in some if one.step is not None]
    best: tuple[float, int] | None = None
    for step in sorted({step for step, _ in timed})[1:]:
        before = [time for at, time in timed if at < step]
        after = [time for at, time in timed if at >= step]
        if _is_beyond(after, [before]):
            apart = _deviation(before) + _deviation(after)
            best = min(best or (apart, step), (apart, step))
    return best[1] if best else None


def _deviation(times: list[float]) -> float:
    middle = median(times)
    return sum(abs(time - middle) for time in times)


def _beside(time: float, peers: list[list[float]]) -> float | None:
    return median(map(median, peers)) / time if peers and time else None


def _is_beyond(times: list[float], peers: list[list[float]]) -> bool:
    """Whether a group's median is above its peers' by more than their scatter and 15 %."""
    pooled = [time for some in peers for time in some]
    middle = median(pooled)
    own = median(times)
    if own < SLOWER * middle or min(len(times), len(pooled)) < _FEWEST:
        return False
    scatter = _SIGMA * median(abs(time - middle) for time in pooled)
    scatter = max(scatter, _SIGMA * median(abs(time - own) for time in times))
    of_groups = [median(some) for some in peers]
    if len(of_groups) > 1:
        between = _SIGMA * median(abs(one - median(of_groups)) for one in of_groups)
    else:
        between = scatter
    error = max(scatter / min(len(times), len(pooled)) ** 0.5, between)
    return bool(own - middle > _SURE * error)


def _named(kernel: str) -> tuple[str, str]:
    """Protocol and algorithm in the name of NCCL's kernel (`..._AllReduce_Sum_f32_RING_LL`)."""
    protocol, algorithm = _PROTOCOL.search(kernel), _ALGORITHM.search(kernel)
    return (
        protocol[1].lower() if protocol else "",
        algorithm[1].lower() if algorithm else "",
    )
