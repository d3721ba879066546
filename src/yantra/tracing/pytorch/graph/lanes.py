"""Cuts CPU threads into slices.

Time belongs to the innermost operator, cut where another lane can depend on it.
"""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct, field

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
