"""What NCCL's tuner takes for a collective of some size: the pair with the shortest expected time.

    t = latency + bytes / (1000 bandwidth)   us, bytes, GB/s

with factors by size on trees' bandwidth, and one on rings' latency over nodes.

Trade-off: no grouped calls, and no fp8.

Source: NCCL 2.30.7 (commit 5067397), `ncclTopoGetAlgoTime` and `topoGetAlgoInfo`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.collectives.nccl import rccl
from yantra.collectives.nccl.constants import TREE_CORRECTION, Algorithm, Protocol
from yantra.collectives.nccl.table import Table

_FIRST = 64  # bytes from which on trees are corrected
_TREE_STEPS = 23  # NCCL stops one before its table's end for trees, not for NVLSTree
_ALL_STEPS = 24


class Chosen(NamedTuple):
    """Algorithm and protocol by NCCL's names, and the expected time in microseconds."""

    algorithm: Algorithm
    protocol: Protocol
    time_us: float


def chosen(table: Table, size_bytes: int) -> Chosen:
    """What the tuner takes for `size_bytes`, counted as in nccl-tests.

    That is all ranks' together for an all-gather and a reduce-scatter, else one's.
    """
    best: Chosen | None = None
    times: dict[tuple[Algorithm, Protocol], float] = {}
    for pair, line in _lines(table, size_bytes):
        times[pair] = line[0] + line[1] * size_bytes
        if best is None or times[pair] < best.time_us:
            best = Chosen(*pair, times[pair])
    if best is None:
        raise ConfigError("graphs", f"no algorithm is on for {table.kind}; give channels to Ring")
    system = table.system
    if system.is_amd:
        of = (system.gpu, system.nodes, system.ranks, table.kind, size_bytes)
        protocol = rccl.protocol_of(*of, ll128=system.ll128)
        if protocol is not None and (best.algorithm, protocol) in times:
            return Chosen(best.algorithm, protocol, times[best.algorithm, protocol])
    return best


def segments(table: Table, most_bytes: int) -> list[int]:
    """Sizes from 0 to `most_bytes`, between which time is straight, both ends at jumps."""
    bounds = [0, *_jumps(table, most_bytes), most_bytes + 1]
    sizes = set()
    for first, after in pairwise(bounds):
        lines = list(dict.fromkeys(line for _, line in _lines(table, first)))
        sizes |= {first, after - 1}
        for size in _crossings(lines, first, after - 1):
            sizes |= {size, min(size + 1, after - 1)}
    return sorted(sizes)


Line = tuple[float, float]  # microseconds, and microseconds per byte


def _lines(table: Table, size_bytes: int) -> Iterator[tuple[tuple[Algorithm, Protocol], Line]]:
    system = table.system
    is_long = size_bytes // (system.all_channels * system.ranks) >= 64
    for pair, expected in table.expected.items():
        latency, bandwidth = expected
        if bandwidth <= 0:
            continue
        algorithm, protocol = pair
        if system.is_amd:
            bandwidth *= rccl.correction(system.gpu, system.nodes, *pair, size_bytes)
        elif table.kind == "all_reduce":
            bandwidth *= _correction(table, algorithm, protocol, size_bytes)
            if pair == ("Ring", "Simple") and system.nodes > 1 and is_long:
                latency *= 1.9 if system.gpu == "volta" else 1.4
        yield pair, (latency, 1.0 / (1000.0 * bandwidth))


def _correction(table: Table, algorithm: Algorithm, protocol: Protocol, size_bytes: int) -> float:
    is_newest = table.system.gpu == "blackwell" and table.system.x86
    steps = {"Tree": _TREE_STEPS, "NVLSTree": _ALL_STEPS if is_newest else 0}.get(algorithm, 0)
    step = (size_bytes // _FIRST).bit_length() - 1
    return TREE_CORRECTION[protocol][step] if 0 <= step < steps else 1.0


def _jumps(table: Table, most_bytes: int) -> list[int]:
    system = table.system
    if system.is_amd:
        edges = rccl.edges(system.gpu, system.nodes, system.ranks, table.kind)
        return sorted({size for size in edges if size <= most_bytes})
    if table.kind != "all_reduce":
        return []
    sizes = {_FIRST << step for step in range(_ALL_STEPS + 1)}
    sizes.add(64 * table.system.all_channels * table.system.ranks)
    return sorted(size for size in sizes if size <= most_bytes)


def _crossings(lines: list[Line], first: int, last: int) -> Iterator[int]:
    at = float(first)
    current = min(lines, key=lambda line: (line[0] + line[1] * at, line[1]))
    while True:
        ahead = [
            ((other[0] - current[0]) / (current[1] - other[1]), other[1], other)
            for other in lines
            if other[1] < current[1]
        ]
        if not ahead:
            return
        at, _, current = min(ahead)
        if at >= last:
            return
        yield max(first, ceil(at) - 1)
