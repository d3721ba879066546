"""Orders between operators: forward to backward, thread to thread.

Forward and backward share autograd's sequence number: Kineto's flow, else the host trace's `seq_id`
and `fw_tid`. A gloo collective runs on a worker thread: the host trace has it where it was called,
the device trace where it ran.
"""

from __future__ import annotations

import numpy as np

from yantra.tracing.pytorch.event_columns import NONE, Events, is_number
from yantra.tracing.pytorch.host_columns import Nodes
from yantra.tracing.pytorch.link.match import places
from yantra.tracing.pytorch.link.operators import Operators
from yantra.tracing.pytorch.linked import Flow

_BACKWARD_SCOPE = 1


def flows(
    operators: Operators, threads: dict[int, int], forward: Events, backward: Events
) -> list[Flow]:
    pairs = _drawn(operators, forward, backward) if len(forward) and len(backward) else None
    if pairs is None:
        pairs = _by_sequence(operators.nodes)
    found = [
        Flow("fwdbwd", source, target)
        for source, target in sorted(pairs)
        if _ordered(operators, source, target)
    ]
    found += [
        Flow("thread", source, target)
        for source, target in _moved(operators, threads)
        if _started(operators, source, target)
    ]
    return found


def _drawn(operators: Operators, forward: Events, backward: Events) -> set[tuple[int, int]] | None:
    events, at = operators.events, operators.timed
    times = np.concatenate([forward.start, backward.start])
    at = at[np.isin(events.start[operators.event[at]], times)]
    rows = operators.event[at]
    numbers = np.where(events.seq_id == NONE, -1, events.seq_id)[rows]
    starts: dict[tuple[int, int], tuple[int, int]] = {}
    for index, tid, start, number in zip(
        at.tolist(),
        events.tid[rows].tolist(),
        events.start[rows].tolist(),
        numbers.tolist(),
        strict=True,
    ):
        # Of two that start together, the one with a sequence number takes part in flows.
        other = starts.get((tid, start))
        if other is None or (number >= 0 and other[1] < 0):
            starts[tid, start] = index, number
    sources = {id: starts.get(key) for id, key in _ends(forward)}
    pairs = set()
    for id, key in _ends(backward):
        source, target = sources.get(id), starts.get(key)
        if source is not None and target is not None:
            pairs.add((source[0], target[0]))
    return pairs or None


def _ends(flows: Events) -> list[tuple[int, tuple[int, int]]]:
    known = (flows.id != NONE) & is_number(flows.tid)
    keys = zip(flows.tid[known].tolist(), flows.start[known].tolist(), strict=True)
    return list(zip(flows.id[known].tolist(), keys, strict=True))


def _by_sequence(nodes: Nodes) -> set[tuple[int, int]]:
    forward: dict[tuple[int, int], int] = {}
    pairs = set()
    rows = np.flatnonzero(nodes.seq_id >= 0)
    columns = (nodes.tid, nodes.seq_id, nodes.fw_tid, nodes.scope)
    for index, tid, number, fw_tid, scope in zip(
        rows.tolist(), *(column[rows].tolist() for column in columns), strict=True
    ):
        if not fw_tid:
            forward[tid, number] = index
        elif scope == _BACKWARD_SCOPE:
            source = forward.get((fw_tid, number))
            if source is not None:
                pairs.add((source, index))
    return pairs


def _moved(operators: Operators, threads: dict[int, int]) -> list[tuple[int, int]]:
    nodes, at = operators.nodes, operators.timed
    hosts, of = np.unique(nodes.tid[at], return_inverse=True)
    homes = np.array([threads.get(tid, NONE) for tid in hosts.tolist()], np.int64)
    is_home = operators.events.tid[operators.event[at]] == homes[of] if len(at) else at < 0
    beside = np.isin(nodes.parent[at], nodes.parent[at[~is_home]])
    at, is_home = at[beside], is_home[beside]
    above = places(nodes.parent[at], nodes.id, np.arange(len(nodes)))
    before: dict[tuple[int, int], int] = {}
    found = []
    for index, home, tid, parent, place in zip(
        at.tolist(),
        is_home.tolist(),
        nodes.tid[at].tolist(),
        nodes.parent[at].tolist(),
        above.tolist(),
        strict=True,
    ):
        if home:
            before[tid, parent] = index
            continue
        source = before.get((tid, parent), None if place < 0 else place)
        if source is not None and source != index:
            found.append((source, index))
    return found


def _ordered(operators: Operators, source: int, target: int) -> bool:
    rows, events = operators.event, operators.events
    one, other = rows[source], rows[target]
    return one < 0 or other < 0 or bool(events.end[one] <= events.start[other])


def _started(operators: Operators, source: int, target: int) -> bool:
    rows, events = operators.event, operators.events
    one, other = rows[source], rows[target]
    return one < 0 or other < 0 or bool(events.start[one] <= events.start[other])
