"""What is the same each time a job is recorded: its structure, without times and numbers of nodes.

Trade-off: order among threads, and into how many slices others cut a call, depend on the machine
and are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import count, takewhile
from os import path as paths

import numpy as np

from yantra.chakra.schema import NodeType
from yantra.chakra.trace import read
from yantra.library.features import Reach
from yantra.tracing.inspect.columns import Columns

NAMES = "rank.{rank}.et"


def structure(columns: Columns) -> list[tuple[str, int, int, int, int]]:
    """Of each name: how many nodes of which type do how many operations on how many bytes."""
    sizes = [list(columns.integers(name)) for name in ("comm_size", "tensor_size", "num_ops")]
    is_later = [extra.part is not None for extra in columns.extra]
    calls: Counter[tuple[str, int]] = Counter()
    sums: dict[tuple[str, int], list[int]] = {}
    for node, type_ in enumerate(columns.type):
        if is_later[node]:
            continue
        key = columns.name(node), int(type_)
        calls[key] += 1
        of = sums.setdefault(key, [0, 0, 0])
        for at, values in enumerate(sizes):
            of[at] += values[node] or 0
    return sorted((*key, calls[key], *of) for key, of in sums.items())  # type: ignore[misc]


def digest_of(traces: Iterable[Columns]) -> str:
    """Of the structures of a job's ranks, in their order."""
    return sha256(repr([structure(one) for one in traces]).encode()).hexdigest()


def digest_in(folder: str) -> str:
    """Of the recording in a folder. Raises TraceError for another file in its place."""
    names = (paths.join(folder, NAMES.format(rank=rank)) for rank in count())
    return digest_of(Columns(read(name)) for name in takewhile(paths.isfile, names))


def totals(traces: Iterable[Columns]) -> dict[str, int]:
    """Sums over ranks, by the names of the manifest."""
    found = {"ranks": 0, "nodes": 0, "flops": 0, "traffic": 0, "communicated": 0}
    for one in traces:
        found["ranks"] += 1
        found["nodes"] += one.count
        is_compute = np.asarray(one.type) == NodeType.COMP
        for name, attribute in (("flops", "num_ops"), ("traffic", "tensor_size")):
            values = one.integers(attribute)
            if values.kinds:
                found[name] += int(np.asarray(values.values)[is_compute].sum())
        found["communicated"] += sum(size or 0 for size in one.comm_size)
    return found


def reaches(members: Mapping[str, tuple[int, ...]]) -> dict[str, Reach]:
    return {
        name: Reach(len(ranks), max(ranks) - min(ranks) + 1)
        for name, ranks in members.items()
        if ranks
    }
