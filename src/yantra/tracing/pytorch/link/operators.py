"""Operators of a trace that is being linked, in columns; each is known by its place."""

from __future__ import annotations

import numpy as np

from yantra import _core
from yantra.tracing.pytorch.event_columns import Column, Events, is_number
from yantra.tracing.pytorch.host_columns import Nodes
from yantra.tracing.pytorch.link.match import places
from yantra.tracing.pytorch.linked import CommArgs

NO_TIME = _core.LinkedFile.NO_TIME


class Operators:
    """`event`: the row of each in the trace's `events`, or -1; `parent`: a place, or -1.

    `start` is in ns after the origin; `exclusive` in ns, and of calls `owner`, are set by nesting.
    """

    def __init__(
        self,
        nodes: Nodes,
        events: Events,
        found: Column,
        threads: dict[int, int],
        origin: int,
    ) -> None:
        self.nodes = nodes
        self.events = events
        self.event = found
        here = np.arange(len(nodes))
        parent = places(nodes.parent, nodes.id, here)
        self.parent = np.where(parent == here, -1, parent)
        self.timed = np.flatnonzero(found >= 0)
        rows = found[self.timed]
        hosts, of = np.unique(nodes.tid, return_inverse=True)
        self.tid = np.array([threads.get(tid, tid) for tid in hosts.tolist()], np.int64)[of]
        tids = events.tid[rows]
        self.tid[self.timed[is_number(tids)]] = tids[is_number(tids)]
        self.start = np.full(len(nodes), NO_TIME)
        self.start[self.timed] = events.start[rows] - origin
        self.dur = np.zeros(len(nodes), np.int64)
        self.dur[self.timed] = events.end[rows] - events.start[rows]
        self.exclusive = self.dur.copy()
        self.comm = self._comms()

    def __len__(self) -> int:
        return len(self.nodes)

    def name(self, at: int) -> str:
        return self.nodes.names[int(self.nodes.name[at])]

    def above(self, at: int) -> int | None:
        found = int(self.parent[at])
        return None if found < 0 else found

    def _comms(self) -> dict[int, CommArgs]:
        known = self.events.comms()
        if not known:
            return {}
        rows = np.array(sorted(known))
        at = self.timed[np.isin(self.event[self.timed], rows)]
        return {
            one: known[row] for one, row in zip(at.tolist(), self.event[at].tolist(), strict=True)
        }

    def nest(self, calls: Events) -> None:
        """Set `exclusive` and the owners of calls."""
        events = self.events
        rows = self.event[self.timed]
        order = np.lexsort((self.timed, -events.end[rows], events.start[rows]))
        spans = rows[order]
        columns = (events.start, events.end, events.tid, events.external)
        exclusive, owner = _core.nest(
            *(column[spans] for column in columns),
            *map(np.ascontiguousarray, (calls.start, calls.tid, calls.external)),
        )
        at = self.timed[order]
        self.exclusive[at] = exclusive
        owners = np.asarray(owner)
        calls.owner = np.where(owners < 0, -1, at[owners] if len(at) else -1)
