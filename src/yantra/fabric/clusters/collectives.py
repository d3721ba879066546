"""How long collectives take on a named cluster, as they were measured, by size.

    expected(clusters.load("hgx-h100"), "all_reduce", 8, [1 << 20])

Each row has the time with its 90 % interval, what nccl-tests call algorithm and bus bandwidth, and
which algorithm and protocol runs. Trade-off: what `speeds: measured` has, so alone on the network,
and no other algorithm: `yantra collective bench` runs those. Source: `yantra.collectives.terms`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.collectives.bandwidth import bus_rate
from yantra.collectives.selection import FIELD, selection_of
from yantra.collectives.selection.selection import Group, Timed
from yantra.collectives.terms import FACTORS
from yantra.fabric.clusters.fit import sizes_of

if TYPE_CHECKING:
    from yantra.fabric.clusters.types import Cluster

MOST_BYTES = 1 << 43


class Expected(NamedTuple):
    """A collective of `size_bytes` of a rank: its input, of an all-gather what it has at last.

    Times are in ns; `low_ns` and `high_ns` hold 90 %. `algorithm_bytes_per_s` and `bus_bytes_per_s`
    are what nccl-tests call algbw and busbw; `runs` is the algorithm and protocol.
    """

    size_bytes: int
    time_ns: float
    low_ns: float
    high_ns: float
    algorithm_bytes_per_s: float
    bus_bytes_per_s: float
    runs: str


def expected(
    cluster: Cluster, kind: str, ranks: int, sizes: Sequence[int]
) -> tuple[str, list[Expected]]:
    """Return what the times rest on, in words, and a row for each size.

    Raises ConfigError for a kind or a cluster that nobody measured, and for ranks that do not fit.
    """
    if kind not in FACTORS:
        raise ConfigError("--collective", expected_got(f"one of {', '.join(FACTORS)}", kind))
    timed = timed_on(cluster, kind, ranks)
    rows = []
    for size in sizes:
        if not 0 < size <= MOST_BYTES:
            raise ConfigError("--sizes", expected_got("sizes from 1 B to 8 TiB", f"{size} B"))
        stated = size / ranks if kind == "all_gather" else float(size)  # as the trace says it
        ns = _between(timed.points, stated)
        off = exp(timed.interval)
        bus = bus_rate(kind, ranks, size, ns) * 1e9
        starts = [start for start, _ in timed.runs]
        runs = timed.runs[bisect_right(starts, stated) - 1][1]
        rows.append(Expected(size, ns, ns / off, ns * off, size / ns * 1e9, bus, runs))
    return timed.basis, rows


def timed_on(cluster: Cluster, kind: str, ranks: int) -> Timed:
    """Return the time of a collective of all ranks of a job."""
    where = "--ranks"
    if ranks < 2:
        raise ConfigError(where, expected_got("two or more", ranks))
    shapes = [shape for shape in sizes_of(cluster, ranks, where) if shape]
    parts: dict[str, Any] = cluster.scenario_parts(ranks, speeds="measured", where="--")
    given = parts["collectives"].get("selection")
    dimensions = tuple((str(one["kind"]), int(one["size"])) for one in parts["topology"])
    local = min(ranks, _product(shapes[0]))
    group = Group(ranks, dimensions, tuple(range(len(dimensions))), 0, local)
    chosen = selection_of(FIELD.read(given, "", "")).choices(kind, group) if given else ()
    if not chosen or not isinstance(chosen[0].algorithms, Timed):
        known = "yantra calibrate nccl.log --cluster " + cluster.name
        problem = f"nobody measured {kind} of {ranks} ranks on {cluster.name}; make it with {known}"
        raise ConfigError("NAME", problem)
    return chosen[0].algorithms


def _product(shape: tuple[int, ...]) -> int:
    made = 1
    for size in shape:
        made *= size
    return made


def _between(points: tuple[tuple[int, float], ...], size: float) -> float:
    """Return the ns of a size, on the straight line between those beside it."""
    at = min(max(bisect_right([one for one, _ in points], size), 1), len(points) - 1)
    (low, less), (high, more) = points[at - 1], points[at]
    return max(less + (more - less) * (size - low) / (high - low), min(less, more))
