"""From the linked trace to the replay graph.

Time left after all known dependencies becomes a delay node, so a replay reproduces the measured
timeline.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from heapq import heapify, heappop, heappush

import numpy as np

from yantra.base.errors import TraceError
from yantra.tracing.pytorch.collector import without_collector
from yantra.tracing.pytorch.graph.handover import Handover
from yantra.tracing.pytorch.graph.lanes import (
    NO_OPERATOR,
    Draft,
    Lanes,
    Point,
    cut_point,
    launch_points,
    wait_points,
)
from yantra.tracing.pytorch.graph.nodes import Graph, GraphOptions, Nodes
from yantra.tracing.pytorch.host import ROOT_NAMES
from yantra.tracing.pytorch.linked import DeviceOp, Linked, Operator

_WRITTEN = Draft("", 0, "", 0, 0, 0, 0)
_LONG_NS = 20_000  # longer than launching and stream hand-over take


@without_collector
def build(linked: Linked, options: GraphOptions | None = None) -> Graph:
    options = options or GraphOptions()
    builder = _Builder(linked)
    builder.cut()
    handover = Handover(builder.lanes)
    if options.handover:
        handover.run()
    builder.tails = handover.tails
    builder.connect()
    anchored = builder.anchor() if options.anchors else 0
    order = _order(builder.lanes.drafts)
    try:
        graph = _Writer(builder, order, options).write()
    except OverflowError:
        raise TraceError(
            f"rank {linked.rank}: its times add up to more than 292 years; expected those of a "
            "recording"
        ) from None
    graph.handovers = handover.edges
    graph.anchored = anchored
    return graph


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


def _order(drafts: list[Draft]) -> list[int]:
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
    starts = np.array([draft.start for draft in drafts], np.int64)
    ends = np.array([draft.end for draft in drafts], np.int64)
    order: list[int] = np.lexsort((ends, starts)).tolist()
    return order


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


class _Writer:
    def __init__(self, builder: _Builder, order: list[int], options: GraphOptions) -> None:
        self.drafts = builder.drafts
        self.order = order
        self.gaps = options.gaps
        self.graph = Graph(nodes=Nodes(), operator_node={}, device_node={})
        self.ids = [0] * len(self.drafts)
        nothing = bytes(8 * len(self.drafts))
        self.ends = array("q", nothing)  # of each draft in a replay, on the grid
        self.ends_ns = array("q", nothing)  # and of measured durations

    def write(self) -> Graph:
        """The graph; drafts are given up one by one, as there are many."""
        ids, ends, ends_ns, gaps = self.ids, self.ends, self.ends_ns, self.gaps
        nodes = self.graph.nodes
        for index in self.order:
            draft = self.drafts[index]
            start, end = draft.start // 1000, draft.end // 1000
            deps = [ids[dep] for dep in draft.deps]
            ctrl = None if draft.ctrl is None else ids[draft.ctrl]
            if gaps:
                waited = draft.deps if draft.ctrl is None else [*draft.deps, draft.ctrl]
                earliest = max([ends[dep] for dep in waited], default=0)
                begin_ns = max([ends_ns[dep] for dep in waited], default=0)
                if start > earliest:
                    span = earliest, start, begin_ns, max(begin_ns, draft.start)
                    deps.append(_delay(nodes, draft, span, deps, ctrl))
                    begin_ns = span[3]
                elif start < earliest:
                    self.graph.shifted += start + 1 < earliest
                    start, end = earliest, max(earliest, end)
                ends_ns[index] = begin_ns + draft.end - draft.start
            ends[index] = end
            times = start, end - start, draft.start, draft.end - draft.start
            place = draft.device, draft.lane
            ids[index] = nodes.add(draft.kind, draft.source, draft.name, place, times, deps, ctrl)
            self.drafts[index] = _WRITTEN
            if draft.kind == "operator":
                self.graph.operator_node[draft.source] = ids[index]
            elif draft.kind == "device":
                self.graph.device_node[draft.source] = ids[index]
        return self.graph


def _delay(
    nodes: Nodes, draft: Draft, span: tuple[int, int, int, int], deps: list[int], ctrl: int | None
) -> int:
    # `span`: begin and end in us of the grid, then in ns of a replay of measured durations
    earliest, start, begin_ns, end_ns = span
    times = earliest, start - earliest, begin_ns, end_ns - begin_ns
    place = draft.device, draft.lane
    return nodes.add("delay", len(nodes) + 1, "delay", place, times, deps, ctrl)
