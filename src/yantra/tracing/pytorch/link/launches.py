"""Device ops and who launched them, by Kineto's correlation number.

External id decides only if the call is missing or outside its thread's operators.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from yantra.tracing.pytorch.categories import FLOW
from yantra.tracing.pytorch.event_columns import NONE, Column, Events, flags
from yantra.tracing.pytorch.events import Event
from yantra.tracing.pytorch.link.match import places
from yantra.tracing.pytorch.link.operators import Operators
from yantra.tracing.pytorch.link.ops import Ops
from yantra.tracing.pytorch.linked import LinkReport


class ByCorrelation:
    """Of each correlation number the last call that launches, else the first call."""

    def __init__(self, calls: Events) -> None:
        rows = np.flatnonzero(calls.correlation != NONE)
        rows = rows[np.argsort(calls.correlation[rows], kind="stable")]
        self.numbers, first = np.unique(calls.correlation[rows], return_index=True)
        self.calls = calls
        self._made: dict[int, Event] = {}
        if not len(rows):
            self.rows = rows
            return
        launching = np.where(calls.named(launches)[rows], rows, -1)
        last = np.maximum.reduceat(launching, first)
        self.rows = np.where(last < 0, rows[first], last)

    def rows_of(self, numbers: Column) -> Column:
        """The call's row for each number, or -1."""
        return places(numbers, self.numbers, self.rows)

    def get(self, number: int | None) -> Event | None:
        if number is None:
            return None
        at = int(np.searchsorted(self.numbers, number))
        if at == len(self.numbers) or self.numbers[at] != number:
            return None
        row = int(self.rows[at])
        if row not in self._made:
            self._made[row] = self.calls[row]
        return self._made[row]


def launches(name: str) -> bool:
    return ("Launch" in name or "Memcpy" in name or "Memset" in name) and "HostFunc" not in name


def device_ops(
    events: Events,
    calls: ByCorrelation,
    paired: Mapping[int, Event],
    operators: Operators,
    origin: int,
    report: LinkReport,
) -> Ops:
    """Device ops by (start, end).

    `paired`: launches found by order, by event index.
    """
    numbers = np.where(events.correlation == NONE, 0, events.correlation)
    order = np.lexsort((events.place, numbers, events.end, events.start))
    ops = Ops(events, order, origin)
    row = calls.rows_of(ops.correlation)
    made = calls.calls
    by_order = np.zeros(len(ops), bool)
    for at in np.flatnonzero(np.isin(ops.place, list(paired))).tolist() if paired else ():
        call = paired[int(ops.place[at])]
        ops.correlation[at] = call.detail.correlation or 0
        row[at] = np.flatnonzero(made.place == call.index)[0]
        by_order[at] = True
    launched = row >= 0
    ops.launched_by(made, row)
    owner = np.full(len(ops), -1)
    if made.owner is not None:
        owner[launched] = made.owner[row[launched]]
    by_flow = launched & ~by_order
    by_flow[launched] &= flags(made.texts, FLOW.__eq__)[made.cat[row[launched]]]
    owned = owner >= 0
    report.by_order = int(np.count_nonzero(owned & by_order))
    report.by_flow = int(np.count_nonzero(owned & by_flow))
    report.by_correlation = int(np.count_nonzero(owned)) - report.by_order - report.by_flow
    named = _by_external_id(ops, operators, row, made)
    named[owned] = -1
    ops.parent = np.where(owned, owner, named)
    report.by_external_id = int(np.count_nonzero(named >= 0))
    report.orphans = int(np.count_nonzero(~launched & (named < 0)))
    report.outside = int(np.count_nonzero(launched & ~owned & (named < 0)))
    report.device_ops = len(ops)
    return ops


def _by_external_id(ops: Ops, operators: Operators, row: Column, calls: Events) -> Column:
    events = operators.events
    known = operators.timed[events.external[operators.event[operators.timed]] != NONE]
    found = places(ops.external, events.external[operators.event[known]], known)
    found[(ops.external == NONE) | (ops.external == ops.said)] = -1
    at = np.flatnonzero(found >= 0)
    began = events.start[operators.event[found[at]]]
    issued = ops.start[at] + ops.origin
    launched = row[at] >= 0
    issued[launched] = calls.start[row[at][launched]]
    found[at[began > issued]] = -1
    return found
