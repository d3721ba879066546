"""Counts launch calls, and those whose work the trace lacks; a replay would silently show an idle
device.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from yantra.tracing.pytorch.balance import Sum
from yantra.tracing.pytorch.event_columns import Column, Events
from yantra.tracing.pytorch.link.launches import launches
from yantra.tracing.pytorch.linked import LinkReport

_SERVED, _CAPTURED, _INSIDE, _EMPTY, _UNCOPIED = (
    "with a device op",
    "captured into a graph",
    "inside another launch call",
    "without a kernel",
    "that copy or fill, without a record",
)
_PAIRED = "paired with a kernel by their order"
_BEGINS, _ENDS = "StreamBeginCapture", "StreamEndCapture"


def count(calls: Events, used: Column, report: LinkReport) -> Column:
    """Count the calls that launch; the rows of those without work. `used`: correlations of it."""
    served = np.isin(calls.correlation, used)
    launching = calls.named(launches)
    sums = Counter({_SERVED: int(np.count_nonzero(served))})
    lost = []
    if (launching & ~served).any():
        for row, kind in _without_work(calls, served, launching):
            sums[kind] += 1
            if kind in (_EMPTY, _UNCOPIED):
                lost.append(row)
    report.launches = sums.total()
    report.balance.launches = Sum(report.launches)
    for kind in (_SERVED, _CAPTURED, _INSIDE, _EMPTY, _UNCOPIED):
        report.balance.launches.add(kind, sums[kind])
    return np.array(lost, np.int64)


def _without_work(calls: Events, served: Column, launching: Column) -> Iterator[tuple[int, str]]:
    captures = calls.named(lambda name: _BEGINS in name or _ENDS in name)
    capturing: defaultdict[int, bool] = defaultdict(bool)
    until: dict[int, int] = {}  # end of each thread's launch call that has device ops
    rows = np.flatnonzero(served | launching | captures)
    columns = (calls.name, calls.tid, calls.start, calls.end, served, launching, captures)
    for row, name, tid, start, end, is_served, launch, capture in zip(
        rows.tolist(), *(column[rows].tolist() for column in columns), strict=True
    ):
        if capture:
            capturing[tid] = _BEGINS in calls.texts[name]
        if is_served:
            until[tid] = max(end, until.get(tid, end))
        elif not launch:
            continue
        elif capturing[tid]:
            yield row, _CAPTURED
        elif end <= until.get(tid, start - 1):
            yield row, _INSIDE
        else:
            yield row, _EMPTY if "Launch" in calls.texts[name] else _UNCOPIED


def settle(report: LinkReport, unnumbered: int, paired: int) -> None:
    launched = report.balance.launches
    if paired:
        launched.parts[_EMPTY] -= paired
        launched.add(_PAIRED, paired)
    report.launches_empty = launched.parts.get(_EMPTY, 0)
    report.copies_empty = launched.parts.get(_UNCOPIED, 0)
    if not report.launches_empty:
        launched.parts.pop(_EMPTY, None)
    report.unnumbered = unnumbered
    ops = report.balance.device_ops = Sum(report.device_ops)
    ops.add("by their launch call", report.by_correlation)
    ops.add("by a flow from the host", report.by_flow)
    ops.add("by the order of launch calls", report.by_order)
    ops.add("by External id", report.by_external_id)
    ops.add("launched outside operators", report.outside)
    ops.add("of an unknown launch", report.orphans)
