"""Checks that an inference workload runs to its end on any simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from yantra.base.errors import InternalError
from yantra.workloads.serving.timeline import Event
from yantra.workloads.templates.grid import Grid, Group, grid_of_rank, peer_of

Key = tuple[int, int, int]
"""Source, target, tag."""


def check_events(
    grids: Sequence[Grid], groups: Mapping[str, Group], events: Mapping[int, Sequence[Event]]
) -> None:
    """Raise InternalError if the classes' ranks cannot all end."""
    if _messages(grids, events, "send") != _messages(grids, events, "recv"):
        raise InternalError("inference: sends and receives do not match")
    members = _members(grids, groups, events)
    for (rank, name), others in members.items():
        mine = [event for event in events[rank] if event.group == name]
        for other in others:
            if mine != [event for event in events[other] if event.group == name]:
                raise InternalError(f"inference: {rank} and {other} enter different collectives")
    _Run(grids, members, events).run()


class _Run:
    def __init__(
        self,
        grids: Sequence[Grid],
        members: Mapping[tuple[int, str], tuple[int, ...]],
        events: Mapping[int, Sequence[Event]],
    ) -> None:
        self._grids = grids
        self._members = members
        self._events = events
        self._at = dict.fromkeys(events, 0)
        self._sent: set[Key] = set()
        self._entered: Counter[tuple[int, str]] = Counter()
        self._passed: Counter[tuple[int, str]] = Counter()

    def run(self) -> None:
        """Raise InternalError unless every rank ends."""
        moved = True
        while moved:
            moved = False
            for rank, mine in self._events.items():
                while self._at[rank] < len(mine) and self._ends(rank, mine[self._at[rank]]):
                    self._at[rank] += 1
                    moved = True
        for rank, mine in self._events.items():
            if self._at[rank] < len(mine):
                raise InternalError(f"inference: {rank} waits for ever: {mine[self._at[rank]]}")

    def _ends(self, rank: int, event: Event) -> bool:
        if event.kind == "send":
            self._sent.add(_key(self._grids, rank, event))
            return True
        if event.kind == "recv":
            return _key(self._grids, rank, event) in self._sent
        name = event.group
        number = self._entered[rank, name] = self._passed[rank, name] + 1
        if any(self._entered[other, name] < number for other in self._members[rank, name]):
            return False
        self._passed[rank, name] = number
        return True


def _messages(
    grids: Sequence[Grid], events: Mapping[int, Sequence[Event]], kind: str
) -> dict[Key, int]:
    found: dict[Key, int] = {}
    for rank, mine in events.items():
        for event in mine:
            if event.kind == kind:
                key = _key(grids, rank, event)
                if key in found:
                    raise InternalError(f"inference: two messages look alike: {event}")
                found[key] = event.size_bytes
    return found


def _key(grids: Sequence[Grid], rank: int, event: Event) -> Key:
    peer = peer_of(grids, rank, event.peer)
    return (rank, peer, event.tag) if event.kind == "send" else (peer, rank, event.tag)


def _members(
    grids: Sequence[Grid], groups: Mapping[str, Group], events: Mapping[int, Sequence[Event]]
) -> dict[tuple[int, str], tuple[int, ...]]:
    found = {}
    for rank, mine in events.items():
        grid = grid_of_rank(grids, rank)
        for name in {event.group for event in mine if event.group}:
            ranks = grid.members(rank, groups[name])
            found[rank, name] = tuple(other for other in ranks if other in events)
    return found
