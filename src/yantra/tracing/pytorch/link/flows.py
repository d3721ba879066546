"""Orders between operators: forward to backward, thread to thread.

Forward and backward share autograd's sequence number: Kineto's flow, else the host trace's `seq_id`
and `fw_tid`. A gloo collective runs on a worker thread: the host trace has it where it was called,
the device trace where it ran.
"""

from __future__ import annotations

from yantra.tracing.pytorch.host import HostNode
from yantra.tracing.pytorch.kineto import Event, KinetoTrace
from yantra.tracing.pytorch.linked import Flow

_BACKWARD_SCOPE = 1


def flows(
    nodes: list[HostNode],
    events: list[Event | None],
    threads: dict[int, int],
    trace: KinetoTrace,
) -> list[Flow]:
    pairs = _drawn(events, trace) if trace.forward and trace.backward else None
    if pairs is None:
        pairs = _by_sequence(nodes)
    found = [
        Flow("fwdbwd", source, target)
        for source, target in sorted(pairs)
        if _ordered(events[source], events[target])
    ]
    found += [
        Flow("thread", source, target)
        for source, target in _moved(nodes, events, threads)
        if _started(events[source], events[target])
    ]
    return found


def _drawn(events: list[Event | None], trace: KinetoTrace) -> set[tuple[int, int]] | None:
    starts: dict[tuple[object, int], int] = {}
    times = {end.start for ends in (trace.forward, trace.backward) for end in ends}
    for index, event in enumerate(events):
        if event is not None and event.start in times:
            key = event.tid, event.start
            other = starts.get(key)
            if other is None or _likelier(event, events[other]):
                starts[key] = index
    sources = {end.id: starts.get((end.tid, end.start)) for end in trace.forward if _hashable(end)}
    pairs = set()
    for end in trace.backward:
        source = sources.get(end.id) if _hashable(end) else None
        target = starts.get((end.tid, end.start))
        if source is not None and target is not None:
            pairs.add((source, target))
    return pairs or None


def _hashable(event: Event) -> bool:
    return isinstance(event.id, int | str) and isinstance(event.tid, int | str)


def _likelier(event: Event, other: Event | None) -> bool:
    # Of two that start together, the one with a sequence number takes part in flows.
    number = event.detail.seq_id
    known = other.detail.seq_id if other is not None else None
    return (number is not None and number >= 0) and (known is None or known < 0)


def _by_sequence(nodes: list[HostNode]) -> set[tuple[int, int]]:
    forward: dict[tuple[int, int], int] = {}
    pairs = set()
    for index, node in enumerate(nodes):
        if node.seq_id < 0:
            continue
        if not node.fw_tid:
            forward[node.tid, node.seq_id] = index
        elif node.scope == _BACKWARD_SCOPE:
            source = forward.get((node.fw_tid, node.seq_id))
            if source is not None:
                pairs.add((source, index))
    return pairs


def _moved(
    nodes: list[HostNode], events: list[Event | None], threads: dict[int, int]
) -> list[tuple[int, int]]:
    before: dict[tuple[int, int], int] = {}
    place = {node.id: index for index, node in enumerate(nodes)}
    found = []
    for index, node in enumerate(nodes):
        event = events[index]
        if event is None:
            continue
        if event.tid == threads.get(node.tid):
            before[node.tid, node.parent] = index
            continue
        source = before.get((node.tid, node.parent), place.get(node.parent))
        if source is not None and source != index:
            found.append((source, index))
    return found


def _ordered(source: Event | None, target: Event | None) -> bool:
    return source is None or target is None or source.end <= target.start


def _started(source: Event | None, target: Event | None) -> bool:
    return source is None or target is None or source.start <= target.start
