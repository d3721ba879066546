"""Matches events of the device trace to nodes of the host trace, by record function number and
name, else by order if both traces have the same count.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from yantra.base.errors import TraceError
from yantra.tracing.pytorch.host import HostNode
from yantra.tracing.pytorch.kineto import Event

LEAST_SHARED = 0.5  # of the numbered operators of the smaller trace


def match(
    nodes: list[HostNode], events: list[Event], where: str, *, partial: bool = False
) -> list[Event | None]:
    """The event of every node, None where the device trace has none.

    Raises TraceError for traces of two runs: shared numbers with other names, no match or, unless
    `partial`, less than LEAST_SHARED of the smaller trace's numbered operators.
    """
    found = _by_number(nodes, events, where)
    _by_name(nodes, events, found)
    operators = [index for index, node in enumerate(nodes) if not node.is_root]
    if operators and events:
        _check_shared(nodes, events, found, operators, where, partial)
    return found


def _check_shared(
    nodes: list[HostNode],
    events: list[Event],
    found: list[Event | None],
    operators: list[int],
    where: str,
    partial: bool,
) -> None:
    by_id = any(event.detail.rf_id for event in events)
    told = [i for i in operators if (nodes[i].rf_id if by_id else nodes[i].seq_id >= 0)]
    seen = sum(_is_numbered(event, by_id) for event in events)
    if not told or not seen:
        told, seen = operators, len(events)
    shared = sum(found[index] is not None for index in told)
    if shared >= (1 if partial else LEAST_SHARED * min(len(told), seen)):
        return
    matched = sum(found[index] is not None for index in operators)
    raise TraceError(
        f"{where}: the traces belong to different runs: of {len(told)} numbered operators in the "
        f"host trace and {seen} in the device trace they share {shared}, expected at least "
        f"{LEAST_SHARED:.0%} of the fewer; {len(operators) - matched} of {len(operators)} "
        f"operators have no event, {len(events) - matched} of {len(events)} events no operator; "
        "give the two traces of one run, or the device trace alone; --partial links two that "
        "overlap in part"
    )


def _is_numbered(event: Event, by_id: bool) -> bool:
    detail = event.detail
    return bool(detail.rf_id) if by_id else detail.seq_id is not None and detail.seq_id >= 0


def _by_number(nodes: list[HostNode], events: list[Event], where: str) -> list[Event | None]:
    numbered: dict[int, Event] = {}
    for event in events:
        number = event.detail.rf_id
        if number:
            numbered.setdefault(number, event)
    found: list[Event | None] = []
    strangers: list[tuple[HostNode, Event]] = []
    for node in nodes:
        candidate = numbered.get(node.rf_id) if node.rf_id else None
        if candidate is not None and candidate.name != node.name:
            strangers.append((node, candidate))
            candidate = None
        found.append(candidate)
    same = sum(event is not None for event in found)
    if len(strangers) > same:
        node, event = strangers[0]
        raise TraceError(
            f"{where}: the traces belong to different runs: of {same + len(strangers)} record "
            f"function ids in both, {len(strangers)} have different names (id {node.rf_id} is "
            f"{node.name!r} in the host trace and {event.name!r} in the device trace); give the "
            "two traces of one run"
        )
    return found


def _by_name(nodes: list[HostNode], events: list[Event], found: list[Event | None]) -> None:
    waiting: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    numbered = any(event.detail.rf_id for event in events)
    for index, node in enumerate(nodes):
        known = node.rf_id and numbered
        if found[index] is None and not known and not node.is_root:
            waiting[node.name, node.seq_id].append(index)
    if not waiting:
        return
    offered: defaultdict[tuple[str, int], list[Event]] = defaultdict(list)
    for event in events:
        detail = event.detail
        if not detail.rf_id:
            seq_id = -1 if detail.seq_id is None else detail.seq_id
            offered[event.name or "", seq_id].append(event)
    for key, indices in waiting.items():
        candidates = offered.get(key, ())
        if len(candidates) == len(indices):
            for index, event in zip(indices, candidates, strict=True):
                found[index] = event


def threads(nodes: list[HostNode], found: list[Event | None]) -> dict[int, int]:
    """The device trace's thread on which most operators of each host thread ran."""
    votes: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for node, event in zip(nodes, found, strict=True):
        if event is not None and isinstance(event.tid, int):
            votes[node.tid][event.tid] += 1
    return {tid: count.most_common(1)[0][0] for tid, count in votes.items()}
