"""MPI calls as Chrome's trace events: one file a rank, or one with a process a rank.

Time between calls is computation. A call that begins a message (Isend, Irecv) holds nothing back
until a wait, which is local: a lone `MPI_Wait` ends the oldest of them.

Source: mlcommons/chakra, branch mpi_converter; numbers of types are Open MPI's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from yantra.base.errors import TraceError
from yantra.chakra import files
from yantra.chakra.schema import CollectiveType, NodeType
from yantra.tracing.pytorch import json_input
from yantra.tracing.sources.schedules import ScheduledJob
from yantra.tracing.sources.work import Part, Work

_WHAT = "a trace of MPI calls"
_COLLECTIVES = {
    "MPI_Allreduce": CollectiveType.ALL_REDUCE,
    "MPI_Alltoall": CollectiveType.ALL_TO_ALL,
    "MPI_Allgather": CollectiveType.ALL_GATHER,
    "MPI_Reduce_scatter": CollectiveType.REDUCE_SCATTER,
    "MPI_Bcast": CollectiveType.BROADCAST,
    "MPI_Reduce": CollectiveType.ALL_REDUCE,  # ASTRA-sim runs no reduce
    "MPI_Barrier": CollectiveType.ALL_REDUCE,
}
_SENDS = ("MPI_Send", "MPI_Isend", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend")
_RECEIVES = ("MPI_Recv", "MPI_Irecv")
_BEGIN = ("MPI_Isend", "MPI_Irecv")
_BARRIER = 4  # bytes that stand for nothing
_BYTES = (0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16, 4, 8, 16, 32, 2, 2, 1, 4, 1, 4, 4, 8, 8, 16, 32)
_NAMED = {"CHAR": 1, "BYTE": 1, "INT": 4, "FLOAT": 4, "DOUBLE": 8, "LONG": 8, "SHORT": 2}
_LARGEST_US = 1 << 50
_TAG = 0x7FFFFFFF


class _Event(Struct):
    ph: str = ""
    name: str = ""
    pid: int | str = 0
    ts: float | None = None
    dur: float = 0
    args: dict[str, Any] = field(default_factory=dict)


class _File(Struct):
    traceEvents: list[_Event] = field(default_factory=list)  # noqa: N815


def read(paths: Sequence[str]) -> ScheduledJob:
    """Read the files of a job. Raises TraceError."""
    processes: list[tuple[Any, list[_Event]]] = []
    for path in paths:
        data = files.load(path)
        if data.lstrip()[:1] == b"[":
            events = json_input.decode(data, list[_Event], path, _WHAT)
        else:
            events = json_input.decode(data, _File, path, _WHAT).traceEvents
        by_pid: defaultdict[int | str, list[_Event]] = defaultdict(list)
        for event in events:
            timed = event.ts is not None and abs(event.ts) < _LARGEST_US
            if event.ph == "X" and timed and 0 <= event.dur < _LARGEST_US:
                by_pid[event.pid].append(event)
        found = [item for item in by_pid.items() if any(_talks(e) for e in item[1])]
        processes += sorted(found, key=lambda item: str(item[0]).rjust(20))
    if not processes:
        raise TraceError(f"{paths[0]}: no call of MPI with `ts` and `dur`; expected {_WHAT}")
    pids = {pid: rank for rank, (pid, _) in enumerate(processes)}
    works = [_Rank(rank, pids, len(processes)).read(e) for rank, (_, e) in enumerate(processes)]
    return ScheduledJob(_WHAT.removeprefix("a "), works, timed=True)


def _talks(event: _Event) -> bool:
    return event.name in _COLLECTIVES or event.name in (*_SENDS, *_RECEIVES)


class _Rank:
    def __init__(self, rank: int, pids: dict[Any, int], size: int) -> None:
        self.rank = rank
        self.pids = pids
        self.size = size
        self.works: list[Work] = []
        self.chain: list[int] = []  # what the next call waits for
        self.begun: list[int] = []  # messages that no wait ended

    def read(self, events: list[_Event]) -> list[Work]:
        until: int | None = None
        for event in sorted(events, key=lambda event: event.ts or 0):
            start = round((event.ts or 0) * 1_000_000)
            end = start + round(event.dur * 1_000_000)
            if until is not None and start > until:
                self._add(Work("computation", until, start))
            until = max(end, until or end)
            if event.name in ("MPI_Wait", "MPI_Waitall"):
                ended = self.begun[:1] if event.name == "MPI_Wait" else self.begun
                self.chain = [*self.chain, *ended]
                self.begun = self.begun[len(ended) :]
                continue
            parts = self._parts(event)
            self._add(Work(event.name, start, end, parts=parts), begins=event.name in _BEGIN)
        return self.works

    def _add(self, work: Work, *, begins: bool = False) -> None:
        work.deps = tuple(self.chain)
        self.works.append(work)
        place = len(self.works) - 1
        if begins and work.parts:
            self.begun.append(place)
        else:
            self.chain = [place]

    def _parts(self, event: _Event) -> tuple[Part, ...]:
        size = _size(event.args)
        kind = _COLLECTIVES.get(event.name)
        if kind is not None:
            total = _BARRIER if event.name == "MPI_Barrier" else size
            if kind in (CollectiveType.ALL_TO_ALL, CollectiveType.REDUCE_SCATTER):
                total = None if total is None else total * self.size  # a count is of one member
            return (Part(NodeType.COMM_COLL, total, 0, kind),) if total else ()
        is_send = event.name in _SENDS
        peer = self._peer(event.args.get("dest" if is_send else "source"))
        if not size or peer is None or not (is_send or event.name in _RECEIVES):
            return ()
        tag = (_whole(event.args.get("tag")) or 0) & _TAG
        type = NodeType.COMM_SEND if is_send else NodeType.COMM_RECV
        return (Part(type, size, 0, None, peer, tag),)

    def _peer(self, said: Any) -> int | None:
        if isinstance(said, int | str) and said in self.pids:
            return self.pids[said]
        rank = _whole(said)
        return rank if rank is not None and 0 <= rank < self.size else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _size(args: dict[str, Any]) -> int | None:
    number, type = _whole(args.get("count")), args.get("datatype")
    if isinstance(type, str) and type.startswith("MPI_"):
        width = _NAMED.get(type.removeprefix("MPI_"))
    else:
        width = _width(type)
    return number * width if number is not None and number > 0 and width else None


def _width(type: Any) -> int | None:
    try:
        place = int(type, 0) if isinstance(type, str) else _whole(type)
    except ValueError:
        return None
    return None if place is None or not 0 <= place < len(_BYTES) else _BYTES[place]
