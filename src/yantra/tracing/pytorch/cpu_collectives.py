"""CPU collectives as device work: gloo's worker threads run them."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import structs

from yantra.tracing.pytorch.calls import COMM_NOTE, LABELS, WAIT_NOTE, Calls, facts
from yantra.tracing.pytorch.labels import pair
from yantra.tracing.pytorch.linked import CommArgs, DeviceOp, Linked, Operator, Wait
from yantra.tracing.pytorch.linked_columns import as_objects
from yantra.tracing.pytorch.tensors import input_bytes

NETWORK = 1 << 20  # device number of the network, above any device's
_APART_NS = 1000  # between starts of a communicator's ops: a step of the replay's grid
_WAKES_WITHIN_NS = 200_000  # a thread resuming this soon after a collective waited for it
_USER_SCOPE = 7
_INNER = (COMM_NOTE, "c10d::")


def with_cpu_collectives(linked: Linked) -> Linked:
    """The trace with CPU collectives as device ops and waits; itself if none."""
    with_kernels = {op.parent for op in linked.device_ops}
    labels = [
        op
        for op in linked.operators
        if op.name.startswith(LABELS) and op.id not in with_kernels and op.start_ns is not None
    ]
    if not labels:
        return linked
    linked = as_objects(linked)
    calls = Calls(linked.operators)
    issued = pair(linked.operators, labels, calls)
    bodies = {label.id: label for group in issued.values() for label in group}
    made = _device_ops(issued, calls)
    operators = [_without(op, bodies) for op in linked.operators if op.id not in bodies]
    waits = _told_waits(operators, made, calls) or _seen_waits(operators, made)
    return structs.replace(
        linked,
        operators=operators,
        device_ops=sorted([*linked.device_ops, *made], key=lambda op: op.id),
        waits=sorted([*linked.waits, *waits], key=lambda wait: (wait.start_ns, wait.tid)),
        flows=[f for f in linked.flows if f.source not in bodies and f.target not in bodies],
    )


def _device_ops(issued: Mapping[int, list[Operator]], calls: Calls) -> list[DeviceOp]:
    made = []
    latest: dict[str | None, DeviceOp] = {}
    for issuer in sorted((calls.by_id[id] for id in issued), key=_times):
        parts = issued[issuer.id]
        call = calls.of(issuer.id)
        group = call.group if call else None
        before = latest.get(group)
        begun, launched = min(_times(part)[0] for part in parts), _times(issuer)[0]
        start = max(begun, launched, before.start_ns + _APART_NS if before else begun)
        end = max(start, *(_times(part)[1] for part in parts))
        op = DeviceOp(
            id=min(part.id for part in parts),
            name=parts[0].name if len(parts) == 1 else issuer.name,
            cat="comm",
            device=NETWORK,
            stream=0,
            start_ns=start,
            dur_ns=end - start,
            correlation=-1,
            parent=issuer.id,
            launch_tid=issuer.tid,
            launch_start_ns=launched,
            launch_end_ns=min(_times(issuer)[1], max(start, launched)),
            launch_name=issuer.name,
            after=[before.id] if before and before.end_ns <= start else [],
            pg_name=group or "",
            comm=None if call is None or call.sent else _shown(parts),
        )
        latest[group] = op
        made.append(op)
    _lanes(made)
    return made


def _shown(parts: list[Operator]) -> CommArgs | None:
    # For calls whose tensors have no types.
    size = sum(input_bytes(part) for part in parts)
    return CommArgs(in_nelems=size, dtype="uint8") if size else None


def _lanes(made: list[DeviceOp]) -> None:
    busy: list[tuple[int, int, int]] = []  # (end, lane, op)
    free: list[tuple[int, int]] = []  # (lane, op)
    for op in sorted(made, key=lambda op: (op.start_ns, op.id)):
        while busy and busy[0][0] <= op.start_ns:
            heapq.heappush(free, heapq.heappop(busy)[1:])
        lane, before = heapq.heappop(free) if free else (len(busy), None)
        op.stream = lane
        if before is not None and before not in op.after:
            op.after.insert(0, before)
        heapq.heappush(busy, (op.end_ns, lane, op.id))


def _without(operator: Operator, bodies: dict[int, Operator]) -> Operator:
    parent = operator.parent
    while parent in bodies:
        parent = bodies[parent].parent
    return operator if parent == operator.parent else structs.replace(operator, parent=parent)


def _told_waits(
    operators: Iterable[Operator], made: Iterable[DeviceOp], calls: Calls
) -> list[Wait]:
    by_note: dict[int, DeviceOp] = {}
    for op in made:
        call = calls.of(op.parent)
        if call is not None and call.note_id is not None:
            by_note[call.note_id] = op
    awaited: dict[int, list[int]] = {}  # range -> device ops
    ranges: dict[int, Operator] = {}
    for operator in operators:
        note = facts(operator.name, WAIT_NOTE)
        if note is None or operator.start_ns is None:
            continue
        found = by_note.get(note.get("id", -1)) if type(note.get("id")) is int else None
        outer = awaited.pop(operator.parent, []) if operator.parent is not None else []
        ranges.pop(operator.parent if operator.parent is not None else -1, None)
        awaited[operator.id] = outer + ([found.id] if found else [])
        ranges[operator.id] = operator
    ends = {op.id: op.end_ns for op in made}
    return [
        Wait(op.tid, "wait", op.start_ns or 0, op.dur_ns, op.id, _ended(awaited[id], ends, op))
        for id, op in ranges.items()
        if _ended(awaited[id], ends, op)
    ]


def _ended(ids: Iterable[int], ends: dict[int, int], waiter: Operator) -> list[int]:
    until = (waiter.start_ns or 0) + waiter.dur_ns
    return [id for id in ids if ends[id] <= until]


def _seen_waits(operators: list[Operator], made: list[DeviceOp]) -> list[Wait]:
    threads = _threads(operators)
    found: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for op in made:
        for tid in sorted(threads, key=lambda tid: (tid != op.launch_tid, tid)):
            gap = threads[tid].gap_at(op.end_ns)
            if gap is not None and _waited(op, *gap):
                found[tid, *gap].append(op.id)
                break
    return [
        Wait(tid, "blocked", start, end - start, threads[tid].inside(start), after, "call")
        for (tid, start, end), after in found.items()
    ]


def _waited(op: DeviceOp, start: int, end: int) -> bool:
    during = min(op.end_ns, end) - max(op.start_ns, start)
    return end - op.end_ns <= _WAKES_WITHIN_NS or 2 * during >= op.dur_ns


def _threads(operators: Iterable[Operator]) -> dict[int, _Thread]:
    lanes: defaultdict[int, list[Operator]] = defaultdict(list)
    for operator in operators:
        if operator.start_ns is not None:
            lanes[operator.tid].append(operator)
    return {tid: _Thread(ops) for tid, ops in lanes.items()}


class _Thread:
    def __init__(self, operators: list[Operator]) -> None:
        self.work = [op for op in operators if not _is_frame(op)]
        self.frames = sorted((op for op in operators if _is_frame(op)), key=_times)
        self.frame_starts = [_times(op)[0] for op in self.frames]
        self.by_id = {op.id: op for op in operators}
        self.edges = sorted({t for op in operators for t in _times(op)})
        self.spans = _union(_times(op) for op in self.work)
        self.starts = [start for start, _ in self.spans]

    def gap_at(self, at: int) -> tuple[int, int] | None:
        place = bisect_right(self.starts, at) - 1
        if place >= 0 and at < self.spans[place][1]:
            return None
        left, right = bisect_left(self.edges, at), bisect_right(self.edges, at)
        if left == 0 or right == len(self.edges):
            return None
        return self.edges[left - 1], self.edges[right]

    def inside(self, at: int) -> int | None:
        place = bisect_right(self.frame_starts, at) - 1
        frame = self.frames[place] if place >= 0 else None
        while frame is not None and _times(frame)[1] <= at:
            frame = self.by_id.get(frame.parent) if frame.parent is not None else None
        return frame.id if frame else None


def _times(operator: Operator) -> tuple[int, int]:
    start = operator.start_ns or 0
    return start, start + operator.dur_ns


def _is_frame(operator: Operator) -> bool:
    scope = operator.attr("scope")
    return scope == _USER_SCOPE and not operator.name.startswith(_INNER)


def _union(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
