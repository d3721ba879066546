"""Device ops of a trace that is being linked, in columns; those that waits touch become objects."""

from __future__ import annotations

import numpy as np

from yantra import _core
from yantra.tracing.pytorch.event_columns import NONE, ODD, Column, Events, is_number
from yantra.tracing.pytorch.linked import DeviceOp, LinkReport


class Ops:
    """By (start, end). Times are in ns after the origin; `parent`: an operator's place, or -1.

    `said`: the correlation in the trace or NONE. `before`: the op that each follows on its stream,
    or -1.
    """

    def __init__(self, events: Events, order: Column, origin: int) -> None:
        self.origin = origin
        self.texts = list(events.texts)
        self.place = events.place[order]
        self.name = events.name[order]
        self.cat = events.cat[order]
        self.start = events.start[order] - origin
        self.end = events.end[order] - origin
        self.external = events.external[order]
        self.said = events.correlation[order]
        self.correlation = np.where(self.said == NONE, -1, self.said)
        self.size = events.size[order]
        self.device = _number(events.device[order], events.pid[order])
        self.stream = _number(events.stream[order], events.tid[order])
        self.parent = np.full(len(order), -1)
        self.before = np.full(len(order), -1)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self.comms = {int(place[row]): comm for row, comm in events.comms().items()}
        self.made: dict[int, DeviceOp] = {}
        _, self.lane = np.unique(self.stream, return_inverse=True)
        lanes = int(self.lane.max(initial=0)) + 1
        self.lane = np.unique(self.device, return_inverse=True)[1] * lanes + self.lane

    def __len__(self) -> int:
        return len(self.start)

    def launched_by(self, calls: Events, row: Column) -> None:
        """Take the launch calls, by their rows, -1 for none."""
        self.launched = row >= 0
        rows = np.maximum(row, 0)
        if not len(calls):
            zeros = np.zeros(len(row), np.int64)
            self.launch_tid = self.launch_start = self.launch_end = self.launch_name = zeros
            self.launch_texts = [""]
            return
        tids = np.where(is_number(calls.tid), calls.tid, -1)[rows]
        self.launch_tid = np.where(self.launched, tids, 0)
        self.launch_start = np.where(self.launched, calls.start[rows] - self.origin, 0)
        self.launch_end = np.where(self.launched, calls.end[rows] - self.origin, 0)
        self.launch_texts = [*calls.texts, ""]
        self.launch_name = np.where(self.launched, calls.name[rows], len(calls.texts))

    def issued(self) -> Column:
        """When each was launched, else when it began."""
        return np.where(self.launched, self.launch_start, self.start)

    def follow(self, report: LinkReport) -> None:
        """Put the stream's previous op first into what every op waits for.

        Ops of one launched graph may overlap; then it is the last that had ended.
        """
        before, overlaps = _core.stream_order(self.start, self.end, self.lane)
        self.before = np.asarray(before)
        if overlaps:
            report.problems.append(
                f"{overlaps} device ops overlap with an earlier op of their own stream; "
                "they wait for the last op that had ended"
            )

    def named(self, prefixes: tuple[str, ...]) -> list[int]:
        """Ops whose names begin so."""
        found = np.array([text.startswith(prefixes) for text in self.texts], bool)
        return np.flatnonzero(found[self.name]).tolist() if len(self) else []

    def at(self, op: int) -> DeviceOp:
        """The op as an object; what is changed there holds."""
        made = self.made.get(op)
        if made is None:
            made = self.made[op] = self._object(op)
        return made

    def _object(self, op: int) -> DeviceOp:
        comm = self.comms.get(op)
        launched = bool(self.launched[op])
        parent, size = int(self.parent[op]), int(self.size[op])
        return DeviceOp(
            id=op,
            name=self.texts[self.name[op]],
            cat=self.texts[self.cat[op]],
            device=int(self.device[op]),
            stream=int(self.stream[op]),
            start_ns=int(self.start[op]),
            dur_ns=int(self.end[op] - self.start[op]),
            correlation=int(self.correlation[op]),
            parent=None if parent < 0 else parent,
            launch_tid=int(self.launch_tid[op]) if launched else None,
            launch_start_ns=int(self.launch_start[op]) if launched else None,
            launch_end_ns=int(self.launch_end[op]) if launched else None,
            launch_name=self.launch_texts[self.launch_name[op]] if launched else "",
            after=[] if self.before[op] < 0 else [int(self.before[op])],
            bytes=None if size == NONE else size,
            pg_name=comm.group_name if comm else "",
            comm=comm,
        )

    def awaited(self) -> tuple[Column, Column]:
        """What each op waits for: all of them in a row, and where those of each begin."""
        counts = (self.before >= 0).astype(np.int64)
        for op, made in self.made.items():
            counts[op] = len(made.after)
        first = np.zeros(len(self) + 1, np.int64)
        np.cumsum(counts, out=first[1:])
        after = np.empty(first[-1], np.int64)
        single = counts > 0
        after[first[:-1][single]] = self.before[single]
        for op, made in self.made.items():
            after[first[op] : first[op + 1]] = made.after
        return after, first


def _number(said: Column, other: Column) -> Column:
    found = np.where(said == NONE, other, said)
    return np.where(found > ODD, found, 0)
