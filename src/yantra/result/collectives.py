"""Outcome -> the table of collectives: one row per collective and rank that took part."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

from yantra import _core
from yantra.collectives.bandwidth import buffer_bytes, bus_rate
from yantra.compile import Model
from yantra.result.columns import Coded, Gathered, Part, Reals, Ticks, numbered
from yantra.result.table import Column, Table
from yantra.result.tables import COLLECTIVE_KINDS, NEVER, NODE_TYPES, Names, runs_of

_COLLECTIVE_NODE = NODE_TYPES.index("COMM_COLL")
_KINDS = (*COLLECTIVE_KINDS, "unknown")


class Block(NamedTuple):
    """The collectives of ranks that share a run, in columns of 64-bit numbers."""

    id: array[int]
    kind: array[int]
    group: array[int]
    size: array[int]
    buffer: array[int]
    start: array[int]
    end: array[int]
    rate: memoryview
    bus: memoryview


def collective_table(model: Model, outcome: _core.Outcome) -> Table:
    """One row per collective and rank that took part, by rank and then by node id.

    `size_bytes` is the trace's comm_size (all-gather: a shard), `buffer_bytes` nccl-tests' size
    (all shards). `algorithm_bandwidth_gb_per_s` is that over the time from issue to completion, in
    10^9 bytes/s; `bus_bandwidth_gb_per_s` a link's: `yantra.collectives.bandwidth`.
    """
    runs = runs_of(model, outcome)
    blocks = _blocks(model, outcome)
    begins = _begins(blocks, runs)
    names = Names()

    def column(name: str, wrap: Callable[[array[int]], Part] = lambda some: some) -> Any:
        return lambda: Gathered(begins, stretch(name), wrap, alike=runs)

    def stretch(name: str) -> Callable[[int], array[int]]:
        return lambda rank: getattr(blocks[runs[rank]], name)

    def ticks(some: array[int]) -> Part:
        return Ticks(some, model.ticks_per_ns)

    def named(some: array[int]) -> Part:
        return Coded(some, names.texts)

    def groups(rank: int) -> list[int]:
        return [names.place(name) for name in ("", *model.graphs.group_names(rank))]

    columns: dict[str, Column] = {
        "rank": ("whole", lambda: numbered(begins)),
        "node": ("id", column("id")),
        "kind": ("text", column("kind", lambda some: Coded(some, _KINDS))),
        "group": (
            "text",
            lambda: Gathered(begins, stretch("group"), named, alike=runs, meaning=groups),
        ),
        "size_bytes": ("whole", column("size")),
        "start_ns": ("real", column("start", ticks)),
        "end_ns": ("real", column("end", ticks)),
        "algorithm_bandwidth_gb_per_s": ("real", column("rate", Reals)),
        "buffer_bytes": ("whole", column("buffer")),
        "bus_bandwidth_gb_per_s": ("real", column("bus", Reals)),
    }
    return Table("collectives", begins[-1], columns)


def by_collective(model: Model, outcome: _core.Outcome, ticks: Callable[[int], Any]) -> Gathered:
    runs = runs_of(model, outcome)
    begins = _begins(_blocks(model, outcome), runs)
    return Gathered(begins, ticks, lambda some: Ticks(some, model.ticks_per_ns), alike=runs)


def _begins(blocks: list[Block], runs: list[int]) -> array[int]:
    lengths = [len(block.id) for block in blocks]
    return array("Q", accumulate((lengths[run] for run in runs), initial=0))


def _blocks(model: Model, outcome: _core.Outcome) -> list[Block]:
    nodes = [_collectives_of(graph) for graph in model.graphs.distinct]
    starts, ends = outcome.start, outcome.end
    pairs: dict[tuple[int, int], int] = {}  # and the first rank of each
    for rank, pair in enumerate(zip(model.graphs.by_rank, outcome.first_node, strict=False)):
        pairs.setdefault(pair, rank)
    return [
        _block(nodes[at], starts, ends, first, model.ticks_per_ns, Members(model, rank))
        for (at, first), rank in pairs.items()
    ]


class Members:
    """How many ranks take part, for all ranks that share a run."""

    def __init__(self, model: Model, rank: int) -> None:
        self._groups = model.groups
        self._names = model.graphs.group_names(rank)
        self._sizes = [one.size for one in model.scenario.topology.dimensions]
        self._known: dict[tuple[int, int], int] = {}

    def of(self, group: int, involved: int) -> int:
        """The ranks of a group by its place, 0 for all; of dimensions by their mask."""
        key = group, involved
        if key not in self._known:
            self._known[key] = self._counted(group, involved)
        return self._known[key]

    def _counted(self, group: int, involved: int) -> int:
        name = self._names[group - 1] if group > 0 else ""
        if name.isdigit() and int(name):
            at = bisect_left(self._groups, int(name), key=lambda one: one[0])
            if at < len(self._groups) and self._groups[at][0] == int(name):
                return len(self._groups[at][1])
        sizes = [size for at, size in enumerate(self._sizes) if involved >> at & 1]
        return prod(sizes or self._sizes)


def _block(
    rows: list[tuple[int, int, int, int, int, int]],
    starts: memoryview[int],
    ends: memoryview[int],
    first: int,
    per_ns: int,
    members: Members,
) -> Block:
    ended = [row for row in rows if ends[first + row[0]] != NEVER]
    start = array("Q", [starts[first + row[0]] for row in ended])
    end = array("Q", [ends[first + row[0]] for row in ended])
    buffer, rate, bus = array("Q"), array("d"), array("d")
    for (_, _, kind, group, size, involved), since, until in zip(ended, start, end, strict=True):
        name, ranks = _KINDS[kind], members.of(group, involved)
        whole = buffer_bytes(name, size, ranks)
        ns = (until - since) / per_ns
        buffer.append(whole)
        rate.append(whole / ns if ns else float("nan"))
        bus.append(bus_rate(name, ranks, whole, ns))
    ids, kinds, groups, sizes = (array("Q", [row[at] for row in ended]) for at in range(1, 5))
    return Block(ids, kinds, groups, sizes, buffer, start, end, _bits(rate), _bits(bus))


def _bits(reals: array[float]) -> memoryview:
    return memoryview(reals).cast("B").cast("Q")


def _collectives_of(graph: _core.Graph) -> list[tuple[int, int, int, int, int, int]]:
    types, sizes = graph.comm_type, graph.comm_size
    involved = graph.involved_mask
    return [
        (
            node,
            graph.id[node],
            min(_integer(types, node, len(COLLECTIVE_KINDS)), len(COLLECTIVE_KINDS)),
            max(graph.pg_name[node], -1) + 1,
            _integer(sizes, node, 0),
            involved[node] if len(involved) else 0,
        )
        for node, node_type in enumerate(graph.type)
        if node_type == _COLLECTIVE_NODE
    ]


def _integer(column: _core.IntColumn, node: int, otherwise: int) -> int:
    if not len(column.kind) or column.kind[node] != _core.IntColumn.Kind.INTEGER.value:
        return otherwise
    return column.value[node]
