"""Threads that wait for each other, inferred.

No trace records that the main thread sleeps while autograd runs the backward pass on another
thread, or waits for a collective given to a worker. A thread is idle between operators and in
annotation-only time ("## backward ##"). Idleness is ended by the last of:

1. a burst of another thread's work wholly inside the idle time;
2. an autograd thread's backward operators of this thread's forward operators;
3. a collective this thread gave to a worker, if the idle time is much longer than usual and ended
   soon after it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from yantra.tracing.pytorch.graph.lanes import Draft, Lanes
from yantra.tracing.pytorch.linked import Operator

_USER_SCOPE = 7
_COLLECTIVES = ("gloo:", "nccl:", "mpi:", "ucc:", "xccl:")
_MUCH_LONGER = 10
_RESUMED_WITHIN = 0.2  # of the idle time
Cause = tuple[int, int]  # begin of the other thread's work, its last draft


class Handover:
    """Writes hand-overs into the drafts.

    `tails`: second half of slices split around another thread's work.
    """

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.drafts = lanes.drafts
        self.edges = 0
        self.tails: dict[int, int] = {}

    def run(self) -> None:
        if len(self.lanes.threads) < 2:
            return
        self._annotations = {op.id for op in self.lanes.linked.operators if _is_annotation(op)}
        self._halves: set[int] = set()
        self._autograd: defaultdict[int, set[int]] = defaultdict(set)
        self._jobs: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._read_flows()
        self._long = {tid: _MUCH_LONGER * self._usual(tid) for tid in self.lanes.threads}
        self._index()
        for tid in self.lanes.threads:
            self._split(tid)
        self._index()
        for tid in self.lanes.threads:
            for start, end, index in self._gaps(tid):
                self._resume(index, self._cause(tid, start, end))

    def _read_flows(self) -> None:
        tids = {operator.id: operator.tid for operator in self.lanes.linked.operators}
        for flow in self.lanes.linked.flows:
            giver, taker = tids[flow.source], tids[flow.target]
            last = self.lanes.last.get(flow.target)
            if giver == taker or last is None:
                continue
            if flow.kind == "fwdbwd":
                self._autograd[giver].add(taker)
            elif flow.kind == "thread":
                self._jobs[giver].append((self.drafts[last].end, last))
        for jobs in self._jobs.values():
            jobs.sort()

    def _index(self) -> None:
        self._work: dict[int, list[int]] = {}
        self._starts: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        drafts, annotations = self.drafts, self._annotations
        for tid, made in self.lanes.threads.items():
            work = [
                i for i in made if drafts[i].source not in annotations or not self._may_be_idle(i)
            ]
            self._work[tid] = work
            self._starts[tid] = [drafts[i].start for i in work]
            self._ends[tid] = [drafts[i].end for i in work]

    def _may_be_idle(self, index: int) -> bool:
        draft = self.drafts[index]
        return (
            index not in self._halves
            and draft.source in self._annotations
            and draft.kind in ("operator", "slice")
            and draft.end > draft.start
        )

    def _gaps(self, tid: int) -> Iterator[tuple[int, int, int]]:
        idle_since = -1
        for index in self.lanes.threads[tid]:
            draft = self.drafts[index]
            if draft.start > idle_since:
                yield idle_since, draft.start, index
            idle_since = draft.end

    def _usual(self, tid: int) -> int:
        lengths = [end - start for start, end, _ in self._gaps(tid) if start >= 0]
        for index in self.lanes.threads[tid]:
            draft = self.drafts[index]
            if draft.source in self._annotations and self._may_be_idle(index):
                lengths.append(draft.end - draft.start)
        return sorted(lengths)[len(lengths) // 2] if lengths else 0

    def _cause(self, tid: int, start: int, end: int) -> Cause | None:
        found: Cause | None = None
        for other in self.lanes.threads:
            if other == tid:
                continue
            cause = (
                self._last_work(other, start, end)
                if other in self._autograd[tid]
                else self._burst(other, start, end)
            )
            found = self._later(found, cause)
        return self._later(found, self._job(tid, start, end))

    def _later(self, one: Cause | None, other: Cause | None) -> Cause | None:
        if one is None or other is None:
            return one or other
        return other if self.drafts[other[1]].end > self.drafts[one[1]].end else one

    def _burst(self, tid: int, start: int, end: int) -> Cause | None:
        starts, ends = self._starts[tid], self._ends[tid]
        first = bisect_left(starts, start)
        last = bisect_right(ends, end) - 1
        if last < first or first == len(starts):
            return None
        if first and ends[first - 1] > start:
            return None
        if last + 1 < len(starts) and starts[last + 1] < end:
            return None
        return starts[first], self._work[tid][last]

    def _last_work(self, tid: int, start: int, end: int) -> Cause | None:
        last = bisect_right(self._ends[tid], end) - 1
        if last < 0 or self._ends[tid][last] <= start:
            return None
        first = bisect_right(self._ends[tid], start)
        return max(start, self._starts[tid][first]), self._work[tid][last]

    def _job(self, tid: int, start: int, end: int) -> Cause | None:
        jobs = self._jobs.get(tid)
        if not jobs or start < 0 or end - start < self._long[tid]:
            return None
        at = bisect_right(jobs, (end, len(self.drafts))) - 1
        if at < 0 or jobs[at][0] <= start:
            return None
        if end - jobs[at][0] > _RESUMED_WITHIN * (end - start):
            return None
        return start, jobs[at][1]

    def _split(self, tid: int) -> None:
        whole = []
        for index in self.lanes.threads[tid]:
            whole.append(index)
            draft = self.drafts[index]
            cause = None
            if draft.source in self._annotations and self._may_be_idle(index):
                cause = self._cause(tid, draft.start, draft.end)
            if cause is None:
                continue
            begin, last = cause
            end = self.drafts[last].end
            half = Draft("slice", draft.source, draft.name, -1, tid, end, draft.end, [index])
            draft.end = max(draft.start, begin)
            tail = self.tails[index] = self.lanes.add(half)
            self._halves |= {index, tail}
            whole.append(tail)
            self._resume(tail, cause)
        self.lanes.threads[tid] = whole
        for before, after in pairwise(whole):
            self.drafts[after].deps[0] = before

    def _resume(self, index: int, cause: Cause | None) -> None:
        if cause is None:
            return
        deps = self.drafts[index].deps
        if cause[1] not in deps:
            deps.append(cause[1])
            self.edges += 1


def _is_annotation(operator: Operator) -> bool:
    # Collectives ("gloo:all_reduce") are work.
    if operator.name.startswith(_COLLECTIVES):
        return False
    return bool(operator.attr("scope") == _USER_SCOPE)
