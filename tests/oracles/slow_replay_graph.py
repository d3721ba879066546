"""The replay graph built step by step from objects: the oracle of the core's columns."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import pairwise

from msgspec import Struct, field

from yantra.tracing.pytorch.graph import GraphNode, GraphOptions
from yantra.tracing.pytorch.host_nodes import ROOT_NAMES
from yantra.tracing.pytorch.linked import DeviceOp, Linked, Operator, Wait

NO_OPERATOR = -1
_TRUNCATION_NS = 1000
_CALL, _CUT, _WAIT = range(3)


class Draft(Struct, gc=False):
    """A node in the making; `deps` and `ctrl` are draft indices."""

    kind: str
    source: int
    name: str
    device: int
    lane: int
    start: int
    end: int
    deps: list[int] = field(default_factory=list)
    ctrl: int | None = None


class Point(Struct, gc=False, frozen=True, order=True):
    """An instant of a thread: a call outside operators, a cut, a wait."""

    time: int
    kind: int
    key: int  # cut: its purpose; wait: index; call: end
    owner: int = NO_OPERATOR
    name: str = ""


class Lanes:
    """Drafts of all threads.

    `threads`: each thread's in order. `first`, `last`: an operator's. `cuts`: by key, the thread's
    last draft at that time or None.
    """

    def __init__(self, linked: Linked) -> None:
        self.linked = linked
        self.drafts: list[Draft] = []
        self.threads: dict[int, list[int]] = {}
        self.first: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.cuts: dict[int, int | None] = {}
        self.wait_drafts: dict[int, int] = {}  # by index of the wait
        self._ends = {op.id: op.start_ns + op.dur_ns for op in linked.device_ops}

    def add(self, draft: Draft) -> int:
        self.drafts.append(draft)
        return len(self.drafts) - 1

    def cut_threads(self, points: dict[int, list[Point]]) -> None:
        operators: defaultdict[int, list[Operator]] = defaultdict(list)
        for operator in self.linked.operators:
            if operator.start_ns is not None:
                operators[operator.tid].append(operator)
        for tid in sorted({*operators, *points}):
            own = operators[tid]
            own.sort(key=_order)
            _Thread(self, tid, sorted(points.get(tid, []))).run(own)

    def awaited_until(self, wait: Wait) -> int:
        return max(self._ends[op] for op in wait.after)


def _order(operator: Operator) -> tuple[int, int, int]:
    start = operator.start_ns or 0
    return start, -operator.dur_ns, operator.id


class _Thread:
    def __init__(self, lanes: Lanes, tid: int, points: list[Point]) -> None:
        self.lanes = lanes
        self.tid = tid
        self.points = points
        self.next_point = 0
        self.stack: list[tuple[int, int, str]] = []  # operator, end, name
        self.begun: set[int] = {NO_OPERATOR}
        self.now = 0
        self.made: list[int] = []

    def run(self, operators: list[Operator]) -> None:
        for operator in operators:
            start = operator.start_ns or 0
            self._points_until(start)
            self._begin(operator, start, start + operator.dur_ns)
        self._points_until(None)
        self._end_all(None)
        self.lanes.threads[self.tid] = self.made

    def _begin(self, operator: Operator, start: int, end: int) -> None:
        self._end_all(start)
        while self.stack and not _fits(self.stack[-1][1], end):
            self._pop(start)
        self._flush(start)
        if self.stack:
            end = min(end, self.stack[-1][1])
        else:
            self.now = max(self.now, start)
        self.stack.append((operator.id, end, operator.name))
        self.begun.add(operator.id)

    def _points_until(self, time: int | None) -> None:
        points = self.points
        while self.next_point < len(points):
            point = points[self.next_point]
            if time is not None and (
                point.time > time or (point.time == time and point.owner not in self.begun)
            ):
                return
            self.next_point += 1
            self._point(point)

    def _point(self, point: Point) -> None:
        self._end_all(point.time)
        if point.kind == _CALL:
            if not self.stack:
                self.now = max(self.now, point.time)
                self.stack.append((NO_OPERATOR, point.key, point.name))
            return
        self._flush(point.time)
        if point.kind == _CUT:
            self.lanes.cuts[point.key] = self.made[-1] if self.made else None
        else:
            self._wait(point.key)

    def _wait(self, index: int) -> None:
        wait = self.lanes.linked.waits[index]
        end = wait.start_ns + wait.dur_ns
        start = min(max(self.now, wait.start_ns, self.lanes.awaited_until(wait)), end)
        self.now = max(self.now, end)
        made = self._make("wait", index, wait.name, start, self.now)
        self.lanes.wait_drafts[index] = made

    def _end_all(self, time: int | None) -> None:
        while self.stack and (time is None or self.stack[-1][1] <= time):
            self._pop(self.stack[-1][1])

    def _pop(self, time: int) -> None:
        self._flush(time)
        operator = self.stack.pop()[0]
        if operator != NO_OPERATOR:
            self.lanes.last[operator] = self.made[-1]

    def _flush(self, time: int) -> None:
        if not self.stack:
            return
        operator, _, name = self.stack[-1]
        time = max(time, self.now)
        if operator != NO_OPERATOR and operator not in self.lanes.first:
            self.lanes.first[operator] = self._make("operator", operator, name, self.now, time)
        elif time > self.now:
            self._make("slice", operator, name, self.now, time)
        self.now = time

    def _make(self, kind: str, source: int, name: str, start: int, end: int) -> int:
        made = self.made
        deps = made[-1:]
        made.append(self.lanes.add(Draft(kind, source, name, -1, self.tid, start, end, deps)))
        return made[-1]


def _fits(outer_end: int, end: int) -> bool:
    return end <= outer_end + (0 if outer_end % 1000 else _TRUNCATION_NS)


def launch_points(ops: list[DeviceOp], blocking: set[tuple[int, int]]) -> dict[int, list[Point]]:
    """An op is handed over at the call's end, or at its own start if that is earlier.

    A blocking call (thread and start in `blocking`) hands over as it begins.
    """
    points: defaultdict[int, list[Point]] = defaultdict(list)
    for op in ops:
        if op.launch_tid is None or op.launch_start_ns is None or op.launch_end_ns is None:
            continue
        begin, end = op.launch_start_ns, op.launch_end_ns
        at = begin if (op.launch_tid, begin) in blocking else end
        owner = NO_OPERATOR if op.parent is None else op.parent
        own = points[op.launch_tid]
        own.append(Point(begin, _CALL, end, owner, op.launch_name))
        own.append(Point(min(at, op.start_ns), _CUT, op.id, owner))
    return points


def wait_points(waits: list[Wait], points: dict[int, list[Point]]) -> None:
    """Add blocking calls; those outside operators take thread time.

    A call with a known awaited op is parted into waiting and the rest.
    """
    for index, wait in enumerate(waits):
        if not wait.after:
            if wait.op is None and wait.dur_ns:
                end = wait.start_ns + wait.dur_ns
                begin = Point(wait.start_ns, _CALL, end, NO_OPERATOR, wait.name)
                points.setdefault(wait.tid, []).append(begin)
            continue
        owner = NO_OPERATOR if wait.op is None else wait.op
        own = points.setdefault(wait.tid, [])
        own.append(Point(wait.start_ns, _CALL, wait.start_ns + wait.dur_ns, owner, wait.name))
        own.append(Point(wait.start_ns, _WAIT, index, owner))


def cut_point(time: int, key: int, owner: int) -> Point:
    return Point(time, _CUT, key, owner)


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


_LONG_NS = 20_000  # longer than launching and stream hand-over take


def build(linked: Linked, options: GraphOptions | None = None) -> list[GraphNode]:
    options = options or GraphOptions()
    builder = _Builder(linked)
    builder.cut()
    handover = Handover(builder.lanes)
    if options.handover:
        handover.run()
    builder.tails = handover.tails
    builder.connect()
    if options.anchors:
        builder.anchor()
    return _written(builder.drafts, _ordered(builder.drafts), options.gaps)


class _Builder:
    def __init__(self, linked: Linked) -> None:
        self.linked = linked
        self.lanes = Lanes(linked)
        self.drafts = self.lanes.drafts
        self.device: dict[int, int] = {}  # device op -> draft
        self.tails: dict[int, int] = {}
        self.operators = {operator.id: operator for operator in linked.operators}
        self._keys = -1  # operators' cuts: -1, -2, ...
        self._crossings: list[tuple[int, int]] = []  # key of the cut, waiting operator

    def cut(self) -> None:
        blocking = {(wait.tid, wait.start_ns) for wait in self.linked.waits if wait.after}
        points = launch_points(self.linked.device_ops, blocking)
        wait_points(self.linked.waits, points)
        self._cut_for_orphans(points)
        self._cut_for_threads(points)
        self.lanes.cut_threads(points)

    def _cut_for_orphans(self, points: dict[int, list[Point]]) -> None:
        for op in self.linked.device_ops:
            parent = self.operators.get(op.parent) if op.parent is not None else None
            if parent is None or parent.start_ns is None:
                continue
            if op.launch_tid is None or op.launch_tid != parent.tid:
                points.setdefault(parent.tid, []).append(
                    cut_point(op.start_ns, self._new_key(), parent.id)
                )
                if op.launch_tid is None:
                    self._crossings.append((self._keys, -1 - op.id))

    def _cut_for_threads(self, points: dict[int, list[Point]]) -> None:
        sources = [(f.source, f.target) for f in self.linked.flows if f.kind == "thread"]
        parents = [
            (operator.parent, operator.id)
            for operator in self.linked.operators
            if operator.parent is not None
        ]
        for source_id, target_id in sources + parents:
            source, target = self.operators[source_id], self.operators[target_id]
            if source.start_ns is None or target.start_ns is None or source.tid == target.tid:
                continue
            if source.start_ns <= target.start_ns:
                points.setdefault(source.tid, []).append(
                    cut_point(target.start_ns, self._new_key(), source.id)
                )
                self._crossings.append((self._keys, target.id))

    def _new_key(self) -> int:
        self._keys -= 1
        return self._keys

    def connect(self) -> None:
        self._add_device_ops()
        for index, wait in enumerate(self.linked.waits):
            if index in self.lanes.wait_drafts:
                deps = self.drafts[self.lanes.wait_drafts[index]].deps
                deps.extend(self.device[op] for op in wait.after)
        for key, target in self._crossings:
            self._hang(key, target)
        for flow in self.linked.flows:
            self._follow(flow.source, flow.target)
        self._add_timeless()
        self._set_ctrl()

    def _add_device_ops(self) -> None:
        ops = sorted(self.linked.device_ops, key=_device_order)
        for op in ops:
            draft = Draft("device", op.id, op.name, op.device, op.stream, op.start_ns, op.end_ns)
            self.device[op.id] = self.lanes.add(draft)
        for op in ops:
            deps = self.drafts[self.device[op.id]].deps
            deps.extend(self.device[other] for other in op.after)
            launched = self.lanes.cuts.get(op.id)
            if launched is not None:
                deps.append(self.tails.get(launched, launched))

    def anchor(self) -> int:
        """Let device ops that start long after all they wait for also wait for the device's last
        op.

        An untraced wait or a full device held them; this beats a fixed delay.
        """
        by_end: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for index in self.device.values():
            by_end[self.drafts[index].device].append((self.drafts[index].end, index))
        for ends in by_end.values():
            ends.sort()
        changed = 0
        for index in self.device.values():
            draft = self.drafts[index]
            ready = max((self.drafts[dep].end for dep in draft.deps), default=0)
            if draft.start - ready <= _LONG_NS:
                continue
            at = bisect_right(by_end[draft.device], (draft.start, -1)) - 1
            if at >= 0 and by_end[draft.device][at][0] > ready:
                draft.deps.append(by_end[draft.device][at][1])
                changed += 1
        return changed

    def _hang(self, key: int, target: int) -> None:
        at = self.lanes.cuts.get(key)
        draft = self.device[-1 - target] if target < 0 else self.lanes.first.get(target)
        if at is not None and draft is not None:
            self._depend(draft, self.tails.get(at, at))

    def _follow(self, source: int, target: int) -> None:
        last, first = self.lanes.last.get(source), self.lanes.first.get(target)
        if last is None or first is None:
            return
        last = self.tails.get(last, last)
        if self.drafts[last].end <= self.drafts[first].start:
            self._depend(first, last)

    def _depend(self, index: int, on: int) -> None:
        deps = self.drafts[index].deps
        if on != index and on not in deps and self.drafts[on].start <= self.drafts[index].start:
            deps.append(on)

    def _add_timeless(self) -> None:
        before: dict[int, int] = {}
        for operator in self.linked.operators:
            made = self.lanes.first.get(operator.id)
            if made is None:
                draft = Draft("operator", operator.id, operator.name, -1, operator.tid, 0, 0)
                if operator.name not in ROOT_NAMES:
                    self._place(draft, operator, before)
                made = self.lanes.first[operator.id] = self.lanes.add(draft)
            if operator.name not in ROOT_NAMES:
                before[operator.tid] = made
        for op in self.linked.device_ops:
            if op.cat == "comm" and op.parent is not None:
                parent = self.operators[op.parent]
                if parent.start_ns is None:
                    self._depend(self.device[op.id], self.lanes.first[parent.id])

    def _place(self, draft: Draft, operator: Operator, before: dict[int, int]) -> None:
        previous = before.get(operator.tid)
        if previous is None and operator.parent is not None:
            previous = self.lanes.first.get(operator.parent)
        if previous is not None:
            draft.deps.append(previous)
            draft.start = draft.end = self.drafts[previous].end

    def _set_ctrl(self) -> None:
        first = self.lanes.first
        for draft in self.drafts:
            if draft.kind == "device":
                continue
            operator: int | None = draft.source
            if draft.kind == "wait":
                operator = self.linked.waits[draft.source].op
            elif draft.kind == "operator":
                operator = self.operators[draft.source].parent
            if operator is not None and operator != NO_OPERATOR:
                draft.ctrl = first.get(operator)
        for op in self.linked.device_ops:
            if op.parent is not None:
                self.drafts[self.device[op.id]].ctrl = first.get(op.parent)


def _device_order(op: DeviceOp) -> tuple[int, int, int]:
    return op.start_ns, op.end_ns, op.id


def _ordered(drafts: list[Draft]) -> list[int]:
    """Only zero-length nodes at one instant can form a cycle; the first by time and index is freed
    of what it still waits for.
    """
    stuck = _by_time(drafts)
    if _follow_deps(drafts, stuck):
        return stuck
    children: defaultdict[int, list[int]] = defaultdict(list)
    open_deps = [0] * len(drafts)
    for index, draft in enumerate(drafts):
        for dep in _all_deps(draft):
            children[dep].append(index)
            open_deps[index] += 1
    ready = [(d.start, d.end, i) for i, d in enumerate(drafts) if not open_deps[i]]
    heapify(ready)
    done: list[int] = []
    placed = [False] * len(drafts)
    first_stuck = iter(stuck)
    while len(done) < len(drafts):
        if not ready:
            index = next(index for index in first_stuck if not placed[index])
            _free(drafts[index], placed)
            open_deps[index] = 0
            ready.append((drafts[index].start, drafts[index].end, index))
        index = heappop(ready)[2]
        placed[index] = True
        done.append(index)
        for child in children[index]:
            open_deps[child] -= 1
            if not open_deps[child] and not placed[child]:
                heappush(ready, (drafts[child].start, drafts[child].end, child))
    return done


def _all_deps(draft: Draft) -> list[int]:
    return draft.deps if draft.ctrl is None else [*draft.deps, draft.ctrl]


def _by_time(drafts: list[Draft]) -> list[int]:
    return sorted(range(len(drafts)), key=lambda at: (drafts[at].start, drafts[at].end))


def _follow_deps(drafts: list[Draft], order: list[int]) -> bool:
    placed = [False] * len(drafts)
    for index in order:
        draft = drafts[index]
        for dep in draft.deps:
            if not placed[dep]:
                return False
        if draft.ctrl is not None and not placed[draft.ctrl]:
            return False
        placed[index] = True
    return True


def _free(draft: Draft, placed: list[bool]) -> None:
    # Break a cycle.
    draft.deps = [dep for dep in draft.deps if placed[dep]]
    if draft.ctrl is not None and not placed[draft.ctrl]:
        draft.ctrl = None


def _written(drafts: list[Draft], order: list[int], gaps: bool) -> list[GraphNode]:
    nodes: list[GraphNode] = []
    ids, ends, ends_ns = ([0] * len(drafts) for _ in range(3))
    for index in order:
        draft = drafts[index]
        start, end = draft.start // 1000, draft.end // 1000
        deps = [ids[dep] for dep in draft.deps]
        ctrl = None if draft.ctrl is None else ids[draft.ctrl]
        if gaps:
            waited = _all_deps(draft)
            earliest = max((ends[dep] for dep in waited), default=0)
            begin_ns = max((ends_ns[dep] for dep in waited), default=0)
            if start > earliest:
                until = max(begin_ns, draft.start)
                place = len(nodes) + 1, "delay", draft.device, draft.lane, earliest
                times = start - earliest, begin_ns, until - begin_ns
                nodes.append(GraphNode(len(nodes), "delay", *place, *times, [*deps], ctrl))
                deps.append(len(nodes) - 1)
                begin_ns = until
            elif start < earliest:
                start, end = earliest, max(earliest, end)
            ends_ns[index] = begin_ns + draft.end - draft.start
        ends[index], ids[index] = end, len(nodes)
        place = draft.source, draft.name, draft.device, draft.lane, start
        times = end - start, draft.start, draft.end - draft.start
        nodes.append(GraphNode(len(nodes), draft.kind, *place, *times, deps, ctrl))
    return nodes
