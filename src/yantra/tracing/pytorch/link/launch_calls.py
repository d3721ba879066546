"""Counts launch calls, and those whose work the trace lacks; a replay would silently show an idle
device.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from yantra.tracing.pytorch.balance import Sum
from yantra.tracing.pytorch.kineto import Event
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


def count(calls: Sequence[Event], used: set[int | None], report: LinkReport) -> list[Event]:
    sums: Counter[str] = Counter()
    capturing: defaultdict[Any, bool] = defaultdict(bool)
    until: dict[Any, int] = {}  # end of each thread's launch call that has device ops
    lost = []
    launching: dict[str | None, bool] = {}  # few names, many calls
    captures: set[str | None] = set()
    for call in calls:
        name = call.name or ""
        launch = launching.get(name)
        if launch is None:
            launch = launching[name] = launches(call)
            if _BEGINS in name or _ENDS in name:
                captures.add(name)
        if name in captures:
            capturing[call.tid] = _BEGINS in name
        served = call.detail.correlation in used
        if not served and not launch:
            continue
        if served:
            kind = _SERVED
            until[call.tid] = max(call.end, until.get(call.tid, call.end))
        elif capturing[call.tid]:
            kind = _CAPTURED
        elif call.end <= until.get(call.tid, call.start - 1):
            kind = _INSIDE
        else:
            kind = _EMPTY if "Launch" in name else _UNCOPIED
            lost.append(call)
        sums[kind] += 1
    report.launches = sums.total()
    report.balance.launches = Sum(report.launches)
    for kind in (_SERVED, _CAPTURED, _INSIDE, _EMPTY, _UNCOPIED):
        report.balance.launches.add(kind, sums[kind])
    return lost


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
