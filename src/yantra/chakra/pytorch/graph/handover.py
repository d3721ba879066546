"""Threads that wait for each other without saying so.

No trace records that the main thread sleeps while autograd runs the backward pass on a thread of
its own. It shows in the times: the thread did nothing while another, idle before and after, did a
burst of work. Then the burst began because the thread handed over, and the thread went on because
the burst had ended. The rule asks that the burst lie wholly inside the idle time, so threads that
work side by side get no edges; of several candidates it takes the one that worked last. It is an
inference and can be switched off.

Idle is a gap between operators, or time that belongs only to a user annotation ("## backward ##").
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

from yantra.chakra.pytorch.graph.lanes import Draft, Lanes
from yantra.chakra.pytorch.linked import Linked, Operator

_USER_SCOPE = 7
_MUCH_LONGER = 10  # than the thread's median gap: a gap that something must have caused
_RESUMED_WITHIN = 0.2  # of the gap: what ended that shortly before its end caused it


class Handover:
    """Finds the hand-overs of one linked trace and writes them into the drafts."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.edges = 0
        self.tails: dict[int, int] = {}  # draft -> its second half
        self._halves: set[int] = set()  # drafts made by splitting
        self._annotations = {op.id for op in lanes.linked.operators if _is_annotation(op)}
        self._index()

    def run(self) -> None:
        """Split annotations around the bursts inside them, then connect idle threads."""
        if len(self.lanes.threads) < 2:
            return
        for tid in list(self.lanes.threads):
            self._split(tid)
        self._index()
        for tid in self.lanes.threads:
            self._connect(tid)
        self._connect_workers(self.lanes.linked)

    def _index(self) -> None:
        """Note the times of each thread's work, without the time only annotations have."""
        drafts = self.lanes.drafts
        self._work: dict[int, list[int]] = {}
        self._starts: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        for tid, made in self.lanes.threads.items():
            work = [i for i in made if not self._may_be_idle(i)]
            self._work[tid] = work
            self._starts[tid] = [drafts[i].start for i in work]
            self._ends[tid] = [drafts[i].end for i in work]

    def _may_be_idle(self, index: int) -> bool:
        draft = self.lanes.drafts[index]
        return (
            index not in self._halves
            and draft.source in self._annotations
            and draft.kind in ("operator", "slice")
            and draft.end > draft.start
        )

    def _burst(self, tid: int, start: int, end: int) -> tuple[int, int] | None:
        """Return first and last draft of the work between two times on `tid`.

        None if there is none, or if the thread worked across either time.
        """
        first = bisect_left(self._starts[tid], start)
        last = bisect_right(self._ends[tid], end) - 1
        if last < first or first == len(self._work[tid]):
            return None
        if first and self._ends[tid][first - 1] > start:
            return None
        if last + 1 < len(self._work[tid]) and self._starts[tid][last + 1] < end:
            return None
        return self._work[tid][first], self._work[tid][last]

    def _latest_burst(self, tid: int, start: int, end: int) -> tuple[int, int] | None:
        """Return the burst of another thread inside an idle time that ended last."""
        drafts = self.lanes.drafts
        found: tuple[int, int] | None = None
        for other in self.lanes.threads:
            burst = None if other == tid else self._burst(other, start, end)
            if burst and (found is None or drafts[burst[1]].end > drafts[found[1]].end):
                found = burst
        return found

    def _split(self, tid: int) -> None:
        """Cut a burst of another thread out of each slice that only annotations have."""
        drafts = self.lanes.drafts
        made = self.lanes.threads[tid]
        whole = []
        for index in made:
            whole.append(index)
            if not self._may_be_idle(index):
                continue
            draft = drafts[index]
            burst = self._latest_burst(tid, draft.start, draft.end)
            if burst is None:
                continue
            begin, end = drafts[burst[0]].start, drafts[burst[1]].end
            tail = Draft("slice", draft.source, draft.name, -1, tid, end, draft.end, [index])
            draft.end = begin
            self.tails[index] = self.lanes.add(tail)
            self._halves |= {index, self.tails[index]}
            whole.append(self.tails[index])
        self.lanes.threads[tid] = whole
        for before, after in pairwise(whole):
            if drafts[after].deps[0] != before:
                drafts[after].deps[0] = before

    def _connect(self, tid: int) -> None:
        """Let the thread's work after each idle time wait for the burst that filled it."""
        drafts = self.lanes.drafts
        idle_since: int | None = None
        for index in self.lanes.threads[tid]:
            draft = drafts[index]
            if idle_since is None or draft.start > idle_since:
                since = -1 if idle_since is None else idle_since
                burst = self._latest_burst(tid, since, draft.start)
                if burst is not None:
                    self._edge(burst[1], index)
            idle_since = draft.end

    def _edge(self, source: int, target: int) -> None:
        deps = self.lanes.drafts[target].deps
        if source not in deps:
            deps.append(source)
            self.edges += 1

    def _connect_workers(self, linked: Linked) -> None:
        """Let a thread wait for a collective it gave to a worker thread.

        Work of the other thread that began before the gap tells little, so the gap must be much
        longer than the thread's others and end soon after the collective.
        """
        given: dict[int, list[tuple[int, int]]] = {}
        tids = {operator.id: operator.tid for operator in linked.operators}
        for flow in linked.flows:
            last = self.lanes.last.get(flow.target)
            if flow.kind == "thread" and last is not None:
                end = self.lanes.drafts[last].end
                given.setdefault(tids[flow.source], []).append((end, last))
        for tid, jobs in given.items():
            if tid in self.lanes.threads:
                self._await_jobs(self.lanes.threads[tid], sorted(jobs))

    def _await_jobs(self, made: list[int], jobs: list[tuple[int, int]]) -> None:
        drafts = self.lanes.drafts
        gaps = [
            (drafts[a].end, drafts[b].start, b)
            for a, b in pairwise(made)
            if drafts[b].start > drafts[a].end
        ]
        if not gaps:
            return
        lengths = sorted(end - start for start, end, _ in gaps)
        long = _MUCH_LONGER * lengths[len(lengths) // 2]
        for start, end, index in gaps:
            at = bisect_right(jobs, (end, len(drafts))) - 1
            if at < 0 or jobs[at][0] <= start or end - start < long:
                continue
            if end - jobs[at][0] <= _RESUMED_WITHIN * (end - start):
                self._edge(jobs[at][1], index)


def _is_annotation(operator: Operator) -> bool:
    return bool(operator.attr("scope") == _USER_SCOPE)
