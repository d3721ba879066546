"""Checks ranks, times and nesting of a linked trace before conversion."""

from __future__ import annotations

from typing import Any

import numpy as np

from yantra.base.errors import TraceError
from yantra.tracing.pytorch.linked import Linked
from yantra.tracing.pytorch.linked_columns import NO_TIME, DeviceOps, Operators

MOST_RANKS = 1 << 20
_LONGEST_NS = 1 << 60  # 36 years
_INT64 = 1 << 63


def check(linked: Linked) -> None:
    where = f"rank {linked.rank}"
    if not 0 <= linked.rank < MOST_RANKS or not 0 <= linked.world_size <= MOST_RANKS:
        raise TraceError(f"{where} of {linked.world_size}: expected a rank below {MOST_RANKS}")
    for group in linked.groups:
        if not all(0 <= rank < MOST_RANKS for rank in group.ranks):
            raise TraceError(f"{where}: group {group.name}: expected ranks below {MOST_RANKS}")
    for operator in () if _are_sound(linked.operators) else linked.operators:
        start = operator.start_ns or 0
        if _is_span(start, operator.dur_ns) and -_INT64 <= operator.tid < _INT64:
            continue  # nearly all; makes no texts
        _check_span(f"{where}: operator {operator.id}", start, operator.dur_ns)
        _check_number(f"{where}: operator {operator.id}: thread", operator.tid)
    for op in () if _are_sound(linked.device_ops) else linked.device_ops:
        _check_span(f"{where}: device op {op.id}", op.start_ns, op.dur_ns)
        if op.launch_start_ns is not None:
            end = op.launch_end_ns or op.launch_start_ns
            _check_span(f"{where}: launch of {op.id}", op.launch_start_ns, end - op.launch_start_ns)
        for number in (op.device, op.stream, op.launch_tid or 0):
            _check_number(f"{where}: device op {op.id}: device, stream or thread", number)
    for wait in linked.waits:
        _check_span(f"{where}: {wait.name}", wait.start_ns, wait.dur_ns)
        _check_number(f"{where}: {wait.name}: thread", wait.tid)
    if not isinstance(linked.operators, Operators) or not linked.operators.nest:
        _check_nesting(linked, where)


def _are_sound(rows: Any) -> bool:
    """Whether all times of columns, of 64 bits, are possible; False for objects."""
    if isinstance(rows, Operators):
        return _are_spans(rows.start, rows.dur, np.asarray(rows.start) != NO_TIME)
    if not isinstance(rows, DeviceOps):
        return False
    launches = np.asarray(rows.launch_end) - np.asarray(rows.launch_start)
    return _are_spans(rows.start, rows.dur, True) and _are_spans(rows.launch_start, launches, True)


def _are_spans(starts: Any, durations: Any, where: Any) -> bool:
    start, dur = np.where(where, starts, 0), np.asarray(durations)
    possible = (start > -_LONGEST_NS) & (start < _LONGEST_NS) & (dur >= 0) & (dur < _LONGEST_NS)
    return bool(possible.all())


def _is_span(start: int, duration: int) -> bool:
    return -_LONGEST_NS < start < _LONGEST_NS and 0 <= duration < _LONGEST_NS


def _check_span(where: str, start: int, duration: int) -> None:
    if not _is_span(start, duration):
        raise TraceError(f"{where}: impossible time: starts at {start} ns, takes {duration} ns")


def _check_number(where: str, number: int) -> None:
    if not -_INT64 <= number < _INT64:
        raise TraceError(f"{where}: {number} does not fit 64 bits")


def _check_nesting(linked: Linked, where: str) -> None:
    parents = {operator.id: operator.parent for operator in linked.operators}
    fine: set[int | None] = {None}
    for id in parents:
        path = []
        at: int | None = id
        while at not in fine and at is not None:
            fine.add(at)
            path.append(at)
            at = parents.get(at)
        if at is not None and at in path:
            raise TraceError(f"{where}: operator {at} is below itself")
