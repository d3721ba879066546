"""Whether a job can end at all: its traces played without time and limits, in any order.

Trade-off: a microsecond or two per node, so only up to MOST_NODES.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import NamedTuple

import numpy as np

from yantra import _core
from yantra.base.text import rank_list
from yantra.chakra import CollectiveType
from yantra.compile import Model
from yantra.compile.templates import TemplateGraphs
from yantra.run.waiting import COLLECTIVE, RECEIVE, SEND, Message, collective, first, node, values
from yantra.scenario.quirks import Quirk

MOST_NODES = 2_000_000
Meeting = tuple[int, int, int]
"""Group, kind, bytes."""


class _Rank(NamedTuple):
    graph: _core.Graph
    type: list[int]
    left: list[int]
    child_begin: list[int]
    child: list[int]
    peer_to: list[int]
    peer_from: list[int]
    tag: list[int]
    size: list[int]
    kind: list[int]
    on_host: list[int]
    group: list[int]
    """A collective's group, -1: all ranks, -2: a part of the network."""


def stuck(model: Model) -> list[str]:
    """What keeps a job from ending in any run; empty for large ones, and templates, checked when
    made.
    """
    graphs = model.graphs
    if isinstance(graphs, TemplateGraphs):
        return []
    if sum(len(graphs.of(rank)) for rank in range(model.ranks)) > MOST_NODES:
        return []
    return _Play(model).run()


class _Play:
    def __init__(self, model: Model) -> None:
        self._groups = {str(name): tuple(ranks) for name, ranks in model.groups}
        self._numbers = {name: number for number, name in enumerate(self._groups)}
        self._members = [*self._groups.values(), tuple(range(model.ranks))]
        self._by_order = Quirk.MISMATCHED_COLLECTIVES_MEET in model.quirks
        self._ranks = [self._read(model.graphs.of(rank)) for rank in range(model.ranks)]
        self._ready: deque[tuple[int, int]] = deque()
        self._sent: Counter[Message] = Counter()
        self._receives: dict[Message, deque[int]] = {}
        self._entered: dict[Meeting, Counter[int]] = {}
        self._waiting: dict[tuple[Meeting, int], dict[int, int]] = {}
        self._done = 0

    def run(self) -> list[str]:
        for rank, one in enumerate(self._ranks):
            self._ready.extend((rank, node) for node, left in enumerate(one.left) if not left)
        while self._ready:
            self._begin(*self._ready.popleft())
        if self._done == sum(len(one.type) for one in self._ranks):
            return []
        return self._told()

    def _begin(self, rank: int, node: int) -> None:
        one = self._ranks[rank]
        what = one.type[node]
        if what == SEND:
            message = Message(rank, one.peer_to[node], one.tag[node], one.size[node])
            waiting = self._receives.get(message)
            if waiting:
                self._end(message.destination, waiting.popleft())
            else:
                self._sent[message] += 1
        elif what == RECEIVE and not one.on_host[node]:
            message = Message(one.peer_from[node], rank, one.tag[node], one.size[node])
            if self._sent[message] <= 0:
                self._receives.setdefault(message, deque()).append(node)
                return
            self._sent[message] -= 1
        elif what == COLLECTIVE and one.group[node] >= -1:
            self._enter(rank, node)
            if not one.on_host[node]:
                return
        self._end(rank, node)

    def _enter(self, rank: int, node: int) -> None:
        one = self._ranks[rank]
        kind = (0, 0) if self._by_order else (one.kind[node], one.size[node])
        meeting = (one.group[node], *kind)
        entered = self._entered.setdefault(meeting, Counter())
        place = entered[rank]
        entered[rank] += 1
        waiting = self._waiting.setdefault((meeting, place), {})
        waiting[rank] = node
        if len(waiting) == len(self._members[meeting[0]]):
            del self._waiting[meeting, place]
            for other, at in waiting.items():
                if not self._ranks[other].on_host[at]:
                    self._end(other, at)

    def _end(self, rank: int, node: int) -> None:
        one = self._ranks[rank]
        self._done += 1
        for child in one.child[one.child_begin[node] : one.child_begin[node + 1]]:
            one.left[child] -= 1
            if not one.left[child]:
                self._ready.append((rank, child))

    def _read(self, graph: _core.Graph) -> _Rank:
        every = np.arange(len(graph))
        return _Rank(
            graph,
            type=list(graph.type),
            left=list(graph.parent_count),
            child_begin=list(graph.child_begin),
            child=list(graph.child),
            peer_to=values(graph.comm_dst, every),
            peer_from=values(graph.comm_src, every),
            tag=values(graph.comm_tag, every),
            size=values(graph.comm_size, every),
            kind=values(graph.comm_type, every),
            on_host=values(graph.is_cpu_op, every),
            group=self._group_of(graph),
        )

    def _group_of(self, graph: _core.Graph) -> list[int]:
        numbers = {"": -1, "0": -1} | self._numbers
        known = [numbers.get(name, -2) for name in graph.pg_names]
        lengths = list(graph.involved_len) or [0] * len(graph)
        masks = list(graph.involved_mask) or [0] * len(graph)
        parts = [mask != (1 << length) - 1 for mask, length in zip(masks, lengths, strict=True)]
        return [
            -2 if part or name < -1 else -1 if name == -1 else known[name]
            for name, part in zip(graph.pg_name, parts, strict=True)
        ]

    def _told(self) -> list[str]:
        waits = [
            (of.destination, node, f"{of.received}, which does not come to send it")
            for of, nodes in self._receives.items()
            for node in nodes
        ]
        for (meeting, _), entered in self._waiting.items():
            group, kind, size = meeting
            missing = sorted(set(self._members[group]) - entered.keys())
            what = "collective" if self._by_order else CollectiveType(kind).name.lower()
            name = None if group < 0 else list(self._groups)[group]
            met = collective(what, None if self._by_order else size, name)
            verb = "does not enter it" if len(missing) == 1 else "do not enter it"
            named = "rank" if len(missing) == 1 else "ranks"
            told = f"{met}, and {named} {rank_list(missing)} {verb}"
            rank = min(entered)
            waits.append((rank, entered[rank], told))
        return first([self._line(*wait) for wait in sorted(waits)])

    def _line(self, rank: int, at: int, what: str) -> str:
        return f"rank {rank} waits for ever in node {node(self._ranks[rank].graph, at)} for {what}"
