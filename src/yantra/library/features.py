"""What decides how a trace behaves on a cluster, without running it: shares of its time on one
device and network taken as given, sizes of its messages, how much could overlap.

Trade-off: the longest chain of a rank stands for all; ranks that wait for others' messages (a
pipeline's bubble) do not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import NamedTuple

import numpy as np

from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.paths import topological
from yantra.workloads.templates import Workload

PEAK, MEMORY, INNER, OUTER, CALL = 1e15, 3e12, 4e11, 5e10, 1e-5
"""Of the device and network taken as given: FLOP/s, B/s of memory, B/s of a rank among NODE ranks
and beyond, s a call. Round numbers; only where they cross matters."""
NODE = 8
NAMES = (
    "flops", "traffic", "inner", "outer", "calls", "reduced", "exchanged", "sent", "message",
    "overlap", "fill", "width", "depth", "graph",
)  # fmt: skip
"""Shares of time: bound by FLOPs, by memory, communication inside and beyond a node, latency of
calls; of communication: all-reduces, all-to-alls, messages. Logarithms: bytes a call, memory a
rank, ranks, nodes of the longest chain, nodes. `overlap`: time off the longest chain."""

_MESSAGES = (NodeType.COMM_SEND, NodeType.COMM_RECV)


class Reach(NamedTuple):
    """Members of a group, and how many ranks it spans."""

    size: int
    span: int


class Part(NamedTuple):
    """A rank's trace, for how many it stands, and its groups."""

    columns: Columns
    ranks: int
    groups: Mapping[str, Reach]


def of_workload(workload: Workload) -> dict[str, float]:
    """The features of a workload by name, as `NAMES`."""
    parts = [
        Part(Columns(workload.template(name)), ranks, reaches(workload))
        for name, ranks in workload.ranks_of_template().items()
    ]
    return features(parts, workload.ranks, max(workload.peaks().values(), default=0))


def reaches(workload: Workload) -> dict[str, Reach]:
    grids = {grid.name: grid for grid in workload.grids}
    found = {}
    for name, group in workload.groups.items():
        axes = [one for one in grids[group.grid].strided(group.view) if one.name in group.axes]
        size = int(np.prod([one.size for one in axes])) if axes else 1
        found[name] = Reach(size, 1 + sum((one.size - 1) * one.stride for one in axes))
    return found


def features(parts: Sequence[Part], ranks: int, memory_bytes: int) -> dict[str, float]:
    """The features of a job: of its ranks' traces the mean by ranks."""
    sums = np.zeros(len(_SUMS))
    for part in parts:
        sums += part.ranks * np.array(_sums(part, ranks))
    of = dict(zip(_SUMS, (sums / sum(part.ranks for part in parts)).tolist(), strict=True))
    time = max(of["flops"] + of["traffic"] + of["inner"] + of["outer"] + of["calls"], 1e-30)
    talk = max(of["inner"] + of["outer"], 1e-30)
    shares = {name: of[name] / time for name in NAMES[:5]}
    kinds = {name: of[name] / talk for name in NAMES[5:8]}
    logs = {
        "message": log2(1 + of["bytes"] / max(of["messages"], 1)),
        "overlap": 1 - of["span"] / time,
        "fill": log2(1 + memory_bytes),
        "width": log2(ranks),
        "depth": log2(1 + of["depth"]),
        "graph": log2(1 + of["nodes"]),
    }
    return shares | kinds | logs


_SUMS = ("flops", "traffic", "inner", "outer", "calls", "reduced", "exchanged", "sent",
         "bytes", "messages", "span", "depth", "nodes")  # fmt: skip


def _sums(part: Part, ranks: int) -> list[float]:
    columns = part.columns
    type_, size = np.asarray(columns.type), _of(columns, "comm_size")
    work, moved = _of(columns, "num_ops") / PEAK, _of(columns, "tensor_size") / MEMORY
    is_compute = type_ == NodeType.COMP
    recorded = np.where((work + moved) == 0, np.asarray(columns.duration) * 1e-6, 0)
    compute = np.where(is_compute, np.maximum(np.maximum(work, moved), recorded), 0)
    bound = is_compute & (work >= moved)
    talk, is_inner, kind = _communication(columns, part.groups, type_, size, ranks)
    calls = np.where(kind >= 0, CALL, 0)
    span, depth = _longest(columns, (compute + talk + calls).tolist())
    return [
        compute[bound].sum(), compute[~bound].sum(), talk[is_inner].sum(), talk[~is_inner].sum(),
        calls.sum(), talk[kind == CollectiveType.ALL_REDUCE].sum(),
        talk[kind == CollectiveType.ALL_TO_ALL].sum(), talk[kind == _SENT].sum(),
        size[kind >= 0].sum(), (kind >= 0).sum(), span, depth, columns.count,
    ]  # fmt: skip


_SENT = 99


def _communication(
    columns: Columns, groups: Mapping[str, Reach], type_: np.ndarray, size: np.ndarray, ranks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By node: s of bandwidth, whether inside a node, kind (-1 if none)."""
    names = columns.group.names
    known = [groups.get(name, Reach(ranks, ranks)) for name in names]
    place = np.asarray(columns.group.places, np.int64)
    members = np.array([one.size for one in known], float)[place]
    span = np.array([one.span for one in known])[place]
    is_message, is_coll = np.isin(type_, _MESSAGES), type_ == NodeType.COMM_COLL
    span[is_message] = ranks
    kind = np.where(is_coll, _of(columns, "comm_type").astype(np.int64), -1)
    kind[is_message] = _SENT
    share = np.where(members > 1, (members - 1) / np.maximum(members, 1), 0)
    factor = np.select(
        [kind == CollectiveType.ALL_REDUCE, kind == CollectiveType.ALL_GATHER, kind == _SENT],
        [2 * share, np.maximum(members - 1, 0), 0.5],  # a message has a send and a receive
        share,
    )
    is_inner = span <= NODE
    talk = np.where(kind >= 0, factor * size / np.where(is_inner, INNER, OUTER), 0)
    return talk, is_inner, kind


def _of(columns: Columns, name: str) -> np.ndarray:
    values = columns.integers(name)
    if not values.kinds:
        return np.zeros(columns.count)
    return np.where(np.asarray(values.kinds) == 1, np.asarray(values.values), 0).astype(float)


def _longest(columns: Columns, time: list[float]) -> tuple[float, int]:
    """The longest chain by time in s, and by nodes."""
    begin, child = list(columns.child_begin), list(columns.child)
    ready, depth = [0.0] * len(time), [1] * len(time)
    for node in topological(columns):
        end, deep = ready[node] + time[node], depth[node] + 1
        ready[node] = end
        for after in child[begin[node] : begin[node + 1]]:
            if ready[after] < end:
                ready[after] = end
            if depth[after] < deep:
                depth[after] = deep
    return max(ready, default=0.0), max(depth, default=0)
