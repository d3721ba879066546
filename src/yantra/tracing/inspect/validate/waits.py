"""Who waits for whom: all ranks' communications as one graph.

An edge means the second ends later: by a dependency, because a receive needs its send, or because a
rank's slot (for collectives and sends, as in ASTRA-sim) is entered in order.

A cycle of the sure graph, of edges valid at any speed, never ends. The wary one adds what timing
may cause: receives may wait for every send of their key, and unordered communications go either
way.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.groups import WORLD
from yantra.tracing.inspect.validate.loaded import LoadedJob, Member
from yantra.tracing.inspect.validate.messages import Messages
from yantra.tracing.inspect.validate.order import MOST_UNDECIDED


class Undecided(NamedTuple):
    rank: int
    first: int
    second: int


class Waits:
    """`nodes[v]`: the (rank, node) of a vertex.

    In `unsure_groups` it is unknown which collectives meet: a vertex per rank.
    """

    def __init__(self, job: LoadedJob, messages: Messages) -> None:
        self.job = job
        self.nodes: list[list[tuple[int, int]]] = []
        self._vertex: dict[int, array[int]] = {}  # by rank and node
        self.undecided: list[Undecided] = []
        self.too_many: set[int] = set()
        self.unsure_groups = {
            group
            for member in job.members.values()
            for group, nodes in member.calls.items()
            if not member.order.decided(nodes)
        }
        self._number()
        self.sure: list[set[int]] = [set() for _ in self.nodes]
        self._dependencies()
        self._slots()
        self.wary: list[set[int]] = [set(after) for after in self.sure]
        self._messages(messages)
        self._settle()

    def vertex(self, rank: int, node: int) -> int:
        return self._vertex[rank][node]

    def _number(self) -> None:
        meetings: dict[tuple[str, int], int] = {}
        for rank, member in self.job.members.items():
            turn = {
                node: at
                for group, nodes in member.calls.items()
                if group not in self.unsure_groups
                for at, node in enumerate(nodes)
            }
            of_node = self._vertex[rank] = array("Q")
            for node in member.order.sequence:
                key = (member.columns.group[node], turn[node]) if node in turn else None
                vertex = len(self.nodes) if key is None else meetings.get(key, len(self.nodes))
                if key is not None:
                    meetings[key] = vertex
                if vertex == len(self.nodes):
                    self.nodes.append([])
                self.nodes[vertex].append((rank, node))
                of_node.append(vertex)

    def _dependencies(self) -> None:
        for rank, member in self.job.members.items():
            for node, before in enumerate(member.order.direct):
                for other in before:
                    self._edge(self.sure, (rank, other), (rank, node))

    def _edge(self, graph: list[set[int]], first: tuple[int, int], second: tuple[int, int]) -> None:
        graph[self.vertex(*first)].add(self.vertex(*second))

    def _slots(self) -> None:
        for rank, member in self.job.members.items():
            order = member.order
            for first, second in order.sure:
                self._edge(self.sure, (rank, first), (rank, second))
            self.undecided += [
                Undecided(rank, *pair)
                for pair in order.open
                if any(self._meets(member, node) for node in pair)
            ]
            if order.too_many:
                self.too_many.add(rank)

    def _meets(self, member: Member, node: int) -> bool:
        if member.columns.type[node] != NodeType.COMM_COLL:
            return False
        group = member.columns.group[node]
        return group == WORLD or len(self.job.groups.get(group, (0, 1))) > 1

    def _settle(self) -> None:
        # Other ranks may force an order.
        if len(self.undecided) <= MOST_UNDECIDED:
            self.undecided = [pair for pair in self.undecided if not self._is_settled(pair)]

    def _is_settled(self, pair: Undecided) -> bool:
        group = self.job.members[pair.rank].columns.group
        if {group[pair.first], group[pair.second]} & self.unsure_groups:
            return False
        direct = self.job.members[pair.rank].order.direct
        for first, second in (pair[1:], pair[:0:-1]):
            start = self.vertex(pair.rank, first)
            for before in direct[second]:
                goal = self.vertex(pair.rank, before)
                if start == goal or reaches(self.sure, start, goal):
                    return True
        return False

    def _messages(self, messages: Messages) -> None:
        for key, sends in messages.sends.items():
            receives = messages.receives.get(key, [])
            sure = self._decided(key.source, sends) and self._decided(key.destination, receives)
            for at, receive in enumerate(receives):
                for place, send in enumerate(sends):
                    ends = (key.source, send), (key.destination, receive)
                    if sure and place == at:
                        self._edge(self.sure, *ends)
                    if not sure or place == at:
                        self._edge(self.wary, *ends)

    def _decided(self, rank: int, nodes: list[int]) -> bool:
        return self.job.members[rank].order.decided(nodes)

    def held_by_rendezvous(self, messages: Messages) -> Iterator[tuple[int, int]]:
        """Edges for sends that end only once the receive is posted: after its dependencies."""
        for key, sends in messages.sends.items():
            order = self.job.members[key.destination].order
            for send, receive in zip(sends, messages.receives.get(key, []), strict=False):
                for before in order.direct[receive]:
                    yield (
                        self.vertex(key.destination, before),
                        self.vertex(key.source, send),
                    )


def find_cycle(after: list[set[int]]) -> list[int]:
    waiting = [0] * len(after)
    for targets in after:
        for target in targets:
            waiting[target] += 1
    free = [vertex for vertex, count in enumerate(waiting) if not count]
    for vertex in free:  # grows
        for target in after[vertex]:
            waiting[target] -= 1
            if not waiting[target]:
                free.append(target)
    if len(free) == len(after):
        return []
    before: dict[int, int] = {}
    for vertex, targets in enumerate(after):
        if waiting[vertex]:
            before |= {target: vertex for target in targets if waiting[target]}
    return _walk_back(before)


def _walk_back(before: dict[int, int]) -> list[int]:
    vertex = next(iter(before))
    seen: dict[int, int] = {}
    path: list[int] = []
    while vertex not in seen:
        seen[vertex] = len(path)
        path.append(vertex)
        vertex = before[vertex]
    return path[seen[vertex] :][::-1]


def reaches(after: list[set[int]], start: int, goal: int) -> bool:
    todo, seen = [start], {start}
    while todo:
        for target in after[todo.pop()]:
            if target == goal:
                return True
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return False
