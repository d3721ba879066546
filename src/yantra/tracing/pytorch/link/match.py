"""Matches events of the device trace to nodes of the host trace, by record function number and
name, else by order if both traces have the same count.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from yantra.base.errors import TraceError
from yantra.tracing.pytorch.event_columns import NONE, Column, Events, flags, is_number
from yantra.tracing.pytorch.host_columns import Nodes
from yantra.tracing.pytorch.host_nodes import ROOT_NAMES

LEAST_SHARED = 0.5  # of the numbered operators of the smaller trace


def match(nodes: Nodes, events: Events, where: str, *, partial: bool = False) -> Column:
    """The event of every node, -1 where the device trace has none.

    Raises TraceError for traces of two runs: shared numbers with other names, no match or, unless
    `partial`, less than LEAST_SHARED of the smaller trace's numbered operators.
    """
    found = _by_number(nodes, events, where)
    is_operator = ~flags(nodes.names, ROOT_NAMES.__contains__)[nodes.name]
    _by_name(nodes, events, found, is_operator)
    if is_operator.any() and len(events):
        _check_shared(nodes, events, found, is_operator, where, partial)
    return found


def _check_shared(
    nodes: Nodes, events: Events, found: Column, operators: Column, where: str, partial: bool
) -> None:
    by_id = bool(_is_numbered(events.rf_id).any())
    told = operators & ((nodes.rf_id != 0) if by_id else (nodes.seq_id >= 0))
    numbered = _is_numbered(events.rf_id) if by_id else events.seq_id >= 0
    seen = int(np.count_nonzero(numbered))
    if not told.any() or not seen:
        told, seen = operators, len(events)
    number = int(np.count_nonzero(told))
    shared = int(np.count_nonzero(found[told] >= 0))
    if shared >= (1 if partial else LEAST_SHARED * min(number, seen)):
        return
    every = int(np.count_nonzero(operators))
    matched = int(np.count_nonzero(found[operators] >= 0))
    raise TraceError(
        f"{where}: the traces belong to different runs: of {number} numbered operators in the "
        f"host trace and {seen} in the device trace they share {shared}, expected at least "
        f"{LEAST_SHARED:.0%} of the fewer; {every - matched} of {every} "
        f"operators have no event, {len(events) - matched} of {len(events)} events no operator; "
        "give the two traces of one run, or the device trace alone; --partial links two that "
        "overlap in part"
    )


def _is_numbered(numbers: Column) -> Column:
    is_numbered: Column = (numbers != NONE) & (numbers != 0)
    return is_numbered


def places(sought: Column, known: Column, rows: Column) -> Column:
    """For each number the row of the first that has it, -1 if none has."""
    if not len(known):
        return np.full(len(sought), -1)
    numbers, first = np.unique(known, return_index=True)
    at = np.minimum(np.searchsorted(numbers, sought), len(numbers) - 1)
    return np.where(numbers[at] == sought, rows[first[at]], -1)


def _by_number(nodes: Nodes, events: Events, where: str) -> Column:
    rows = np.flatnonzero(_is_numbered(events.rf_id))
    found = places(nodes.rf_id, events.rf_id[rows], rows)
    found[nodes.rf_id == 0] = -1
    known = {text: place for place, text in enumerate(events.texts)}
    as_event = np.array([known.get(name, -1) for name in nodes.names], np.int64)
    paired = np.flatnonzero(found >= 0)
    differ = as_event[nodes.name[paired]] != events.name[found[paired]]
    strangers = paired[differ]
    if len(strangers) > len(paired) - len(strangers):
        node, event = strangers[0], found[strangers[0]]
        raise TraceError(
            f"{where}: the traces belong to different runs: of {len(paired)} record "
            f"function ids in both, {len(strangers)} have different names (id {nodes.rf_id[node]} "
            f"is {nodes.names[nodes.name[node]]!r} in the host trace and "
            f"{events.texts[events.name[event]]!r} in the device trace); give the "
            "two traces of one run"
        )
    found[strangers] = -1
    return found


def _by_name(nodes: Nodes, events: Events, found: Column, operators: Column) -> None:
    numbered = _is_numbered(events.rf_id)
    known = (nodes.rf_id != 0) & numbered.any()
    rows = np.flatnonzero((found < 0) & ~known & operators)
    if not len(rows):
        return
    waiting: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for row, name, number in zip(
        rows.tolist(), nodes.name[rows].tolist(), nodes.seq_id[rows].tolist(), strict=True
    ):
        waiting[nodes.names[name], number].append(row)
    offered: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    rows = np.flatnonzero(~numbered)
    numbers = np.where(events.seq_id == NONE, -1, events.seq_id)[rows]
    for row, name, number in zip(
        rows.tolist(), events.name[rows].tolist(), numbers.tolist(), strict=True
    ):
        offered[events.texts[name], number].append(row)
    for key, indices in waiting.items():
        candidates = offered.get(key, ())
        if len(candidates) == len(indices):
            found[indices] = candidates


def threads(nodes: Nodes, events: Events, found: Column) -> dict[int, int]:
    """The device trace's thread on which most operators of each host thread ran."""
    rows = np.flatnonzero(found >= 0)
    rows = rows[is_number(events.tid[found[rows]])]
    if not len(rows):
        return {}
    ran, on = np.unique(events.tid[found[rows]], return_inverse=True)
    hosts, of = np.unique(nodes.tid[rows], return_inverse=True)
    pairs, first, votes = np.unique(of * len(ran) + on, return_index=True, return_counts=True)
    order = np.lexsort((first, -votes, pairs // len(ran)))  # the winner of each first
    winners: dict[int, int] = {}
    for pair in pairs[order].tolist():
        host, thread = divmod(pair, len(ran))
        winners.setdefault(int(hosts[host]), int(ran[thread]))
    return winners
