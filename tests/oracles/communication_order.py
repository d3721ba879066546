"""Whether the communication of expanded traces can go wrong, from nothing but the traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from yantra.chakra import CollectiveType, NodeType, Trace

Array = Any


class Rank(NamedTuple):
    kind: Array
    parent: Array
    parent_begin: Array
    collective: Array
    size: Array
    group: Array
    source: Array
    target: Array
    tag: Array
    order: Array
    names: list[str]

    def collectives(self) -> Array:
        at = np.flatnonzero(self.kind == NodeType.COMM_COLL)
        return at[np.argsort(self.order[at], kind="stable")]

    def parents(self, position: int) -> Array:
        return self.parent[self.parent_begin[position] : self.parent_begin[position + 1]]


def rank_of(trace: Trace) -> Rank:
    graph = trace.graph()
    assert not graph.has_errors

    def column(name: str) -> Array:
        return np.asarray(getattr(graph, name).value)

    return Rank(
        np.asarray(graph.type),
        np.asarray(graph.parent),
        np.asarray(graph.parent_begin),
        column("comm_type"),
        column("comm_size"),
        np.asarray(graph.pg_name),
        column("comm_src"),
        column("comm_dst"),
        column("comm_tag"),
        np.asarray(graph.file_order),
        graph.pg_names,
    )


def problems(
    traces: Sequence[Trace], communicators: Mapping[int, Sequence[int]], *, serial: bool
) -> list[str]:
    ranks = [rank_of(trace) for trace in traces]
    found = [
        *_orders(ranks, serial),
        *_sequences(ranks, communicators),
        *_messages(ranks),
    ]
    return found or list(_circles(ranks, communicators))


def _orders(ranks: Sequence[Rank], serial: bool) -> Iterator[str]:
    for number, rank in enumerate(ranks):
        last: dict[int, int] = {}
        for position in rank.collectives().tolist():
            chain = 0 if serial else int(rank.group[position])
            if chain in last and not _waits(rank, position, last[chain]):
                yield f"rank {number}: node {position} does not wait for node {last[chain]}"
            last[chain] = position


def _waits(rank: Rank, position: int, earlier: int) -> bool:
    stack, seen = [position], set()
    if earlier in rank.parents(position):
        return True
    while stack:
        for parent in rank.parents(stack.pop()).tolist():
            if parent == earlier:
                return True
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return False


def _sequences(ranks: Sequence[Rank], communicators: Mapping[int, Sequence[int]]) -> Iterator[str]:
    parts: dict[int, dict[int, tuple[tuple[int, int], ...]]] = {}
    for number, rank in enumerate(ranks):
        at = rank.collectives()
        for group in np.unique(rank.group[at]).tolist():
            if group < 0:
                yield f"rank {number}: a collective of no group"
                continue
            own = at[rank.group[at] == group]
            row = tuple(zip(rank.collective[own].tolist(), rank.size[own].tolist(), strict=True))
            parts.setdefault(int(rank.names[group]), {})[number] = row
    for name, rows in sorted(parts.items()):
        members = communicators.get(name, ())
        if len(members) < 2 or set(rows) != set(members):
            yield f"group {name}: members {sorted(members)}, entered by {sorted(rows)}"
        elif len(set(rows.values())) > 1:
            yield f"group {name}: its members run different collectives"
        for kind, size in {entry for row in rows.values() for entry in row}:
            if size <= 0 or kind not in set(CollectiveType):
                yield f"group {name}: a collective of type {kind} and {size} bytes"


def _messages(ranks: Sequence[Rank]) -> Iterator[str]:
    counts = {NodeType.COMM_SEND: Counter[Any](), NodeType.COMM_RECV: Counter[Any]()}
    for number, rank in enumerate(ranks):
        for kind, count in counts.items():
            for at in np.flatnonzero(rank.kind == kind).tolist():
                ends = int(rank.source[at]), int(rank.target[at])
                if number != ends[kind == NodeType.COMM_RECV] or ends[0] == ends[1]:
                    yield f"rank {number}: a message from {ends[0]} to {ends[1]}"
                count[*ends, int(rank.tag[at]), int(rank.size[at])] += 1
    sends, receives = counts.values()
    for key in (sends - receives) + (receives - sends):
        yield f"message {key} (source, target, tag, bytes) has one end only"
    for (source, target, tag), times in Counter(key[:3] for key in sends.elements()).items():
        if times > 1:
            yield f"{times} messages from {source} to {target} have the tag {tag}"


def _circles(ranks: Sequence[Rank], communicators: Mapping[int, Sequence[int]]) -> Iterator[str]:
    first = np.cumsum([0, *(len(rank.kind) for rank in ranks)])
    stands_for = np.arange(first[-1])
    waits, needed = [], []
    leaders: dict[tuple[int, int], int] = {}
    sends: dict[tuple[int, int, int], int] = {}
    for base, rank in zip(first, ranks, strict=False):
        counts = np.diff(rank.parent_begin)
        waits.append(base + np.repeat(np.arange(len(counts)), counts))
        needed.append(base + rank.parent)
        turns: Counter[int] = Counter()
        for at in rank.collectives().tolist():
            group = int(rank.names[rank.group[at]])
            stands_for[base + at] = leaders.setdefault((group, turns[group]), int(base) + at)
            turns[group] += 1
        for at in np.flatnonzero(rank.kind == NodeType.COMM_SEND).tolist():
            sends[_route(rank, at)] = int(base) + at
    for base, rank in zip(first, ranks, strict=False):
        at = np.flatnonzero(rank.kind == NodeType.COMM_RECV)
        waits.append(base + at)
        needed.append(np.array([sends[_route(rank, one)] for one in at.tolist()], dtype=int))
    left = _peeled(
        stands_for[np.concatenate(waits)], stands_for[np.concatenate(needed)], stands_for
    )
    if left:
        yield f"{left} nodes wait for each other in a circle"


def _route(rank: Rank, at: int) -> tuple[int, int, int]:
    return int(rank.source[at]), int(rank.target[at]), int(rank.tag[at])


def _peeled(waits: Array, needed: Array, stands_for: Array) -> int:
    """Return how many nodes are never free."""
    waits, needed = waits.astype(np.int64), needed.astype(np.int64)
    count = len(stands_for)
    by_needed = np.argsort(needed, kind="stable")
    children = waits[by_needed]
    begin = np.searchsorted(needed[by_needed], np.arange(count + 1))
    open_ = np.bincount(waits, minlength=count)
    real = stands_for == np.arange(count)
    layer = np.flatnonzero((open_ == 0) & real)
    done = 0
    while len(layer):
        done += len(layer)
        lengths = begin[layer + 1] - begin[layer]
        offsets = np.repeat(begin[layer] - np.cumsum(lengths) + lengths, lengths)
        freed = children[offsets + np.arange(int(lengths.sum()))]
        touched, times = np.unique(freed, return_counts=True)
        open_[touched] -= times
        layer = touched[open_[touched] == 0]
    return int(real.sum()) - done
