"""When the nodes of all ranks run, on one clock: members leave a collective together.

A communication starts when its rank is ready, and ends for all when the last has come and the bytes
have moved, so who waits for whom shows as it was recorded. Trade-off: sends wait for receives; of
ranks that wait in a circle the earliest goes on alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import NamedTuple

from yantra.chakra.schema import Node, NodeType

TRANSFER = "transfer_ns"
"""The attribute of a drawn collective: its time from the last arrival."""

Members = Mapping[str, tuple[int, ...]]
_Place = tuple[int, int]  # rank, node
_Meeting = tuple[object, ...]


class Run(NamedTuple):
    start: float
    end: float


def together(
    by_rank: Mapping[int, Mapping[int, Node]], groups: Members, begin: float
) -> dict[int, dict[int, Run]]:
    """The runs of nodes by rank and id; those without parents start at `begin`."""
    return _Together(by_rank, groups, begin).runs


def took_ns(node: Node) -> int:
    """How long a node was recorded to take."""
    exact = node.get("duration_ns")
    return exact if isinstance(exact, int) else node.duration_micros * 1000


class _Together:
    def __init__(
        self, by_rank: Mapping[int, Mapping[int, Node]], groups: Members, begin: float
    ) -> None:
        self.by_rank = by_rank
        self.begin = begin
        self.runs: dict[int, dict[int, Run]] = {rank: {} for rank in by_rank}
        self.meeting, self.members = _meetings(by_rank, groups)
        self.came: dict[_Meeting, dict[_Place, float]] = defaultdict(dict)
        self.children: dict[_Place, list[int]] = defaultdict(list)
        self.missing: dict[_Place, int] = {}
        self.before: dict[_Place, int] = {}  # of the communicator
        for rank, nodes in by_rank.items():
            latest: dict[object, int] = {}
            for id in sorted(nodes):
                if nodes[id].type == NodeType.COMM_COLL:
                    group = nodes[id].get("pg_name")
                    if group in latest:
                        self.before[rank, id] = latest[group]
                    latest[group] = id
            for id in nodes:
                parents = self._parents((rank, id))
                self.missing[rank, id] = len(parents)
                for parent in parents:
                    self.children[rank, parent].append(id)
        self.ready = deque(place for place, left in self.missing.items() if not left)
        while self.ready or self.came:
            if self.ready:
                self._start(self.ready.popleft())
            else:
                self._alone()

    def _parents(self, place: _Place) -> set[int]:
        rank, id = place
        before = self.before.get(place)
        return {*self.by_rank[rank][id].data_deps} | (set() if before is None else {before})

    def _start(self, place: _Place) -> None:
        rank, id = place
        runs = self.runs[rank]
        start = max((runs[parent].end for parent in self._parents(place)), default=self.begin)
        meeting = self.meeting.get(place)
        if meeting is None:
            self._end(place, Run(start, start + took_ns(self.by_rank[rank][id])))
            return
        came = self.came[meeting]
        came[place] = start
        if len(came) == self.members[meeting]:
            del self.came[meeting]
            end = max(came.values()) + min(map(self._transfer, came))
            for member, at in came.items():
                self._end(member, Run(at, end))

    def _transfer(self, place: _Place) -> int:
        node = self.by_rank[place[0]][place[1]]
        known = node.get(TRANSFER)
        return known if isinstance(known, int) else took_ns(node)

    def _alone(self) -> None:
        """Let the earliest of those that wait in a circle go on as long as it was recorded."""
        meeting, place = min(
            ((meeting, place) for meeting, came in self.came.items() for place in came),
            key=lambda one: (self.came[one[0]][one[1]], one[1]),
        )
        start = self.came[meeting].pop(place)
        self.members[meeting] -= 1
        if not self.came[meeting]:
            del self.came[meeting]
        self._end(place, Run(start, start + took_ns(self.by_rank[place[0]][place[1]])))

    def _end(self, place: _Place, run: Run) -> None:
        rank, id = place
        self.runs[rank][id] = run
        for child in self.children[place]:
            self.missing[rank, child] -= 1
            if not self.missing[rank, child]:
                self.ready.append((rank, child))


def _meetings(
    by_rank: Mapping[int, Mapping[int, Node]], groups: Members
) -> tuple[dict[_Place, _Meeting], Counter[_Meeting]]:
    """The meeting of each communication, and how many of the ranks here each meeting has."""
    found: dict[_Place, _Meeting] = {}
    for rank, nodes in by_rank.items():
        numbers: Counter[_Meeting] = Counter()
        for id in sorted(nodes):
            what = _what(nodes[id], rank, groups)
            if what is not None:
                found[rank, id] = (*what, numbers[what])
                numbers[what] += 1
    return found, Counter(found.values())


def _what(node: Node, rank: int, groups: Members) -> _Meeting | None:
    if node.type == NodeType.COMM_COLL:
        name = str(node.get("pg_name") or "")
        return name, groups.get(name), node.get("comm_type"), node.get("comm_size")
    if node.type == NodeType.COMM_SEND:
        return rank, node["comm_dst"]
    if node.type == NodeType.COMM_RECV:
        return node["comm_src"], rank
    return None
