"""Training steps in a trace, and a node's place in its step.

A profiler marks a begin, an optimizer its update; the step precedes the update. Places are by
recorded start, else by nodes issued before.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from yantra.tracing.inspect.columns import Columns

_BEGIN, _UPDATE = "ProfilerStep#", "Optimizer.step#"


class Steps:
    """Steps in a given order of issue; at least one."""

    def __init__(self, columns: Columns, order: Sequence[int]) -> None:
        begins = _marked(columns, order, _BEGIN)
        updates = _marked(columns, order, _UPDATE)
        if not begins:
            begins = [0, *(at + 1 for at in updates[:-1])]
        begins[0] = 0  # before the first mark: the first step
        self._begins = begins
        self._spans = []
        self._order = order
        self._starts = columns.start if any(columns.start) else None
        last = len(order) if self._starts is None else _end(columns)
        for begin, end in pairwise([*begins, len(order)]):
            until = next((at for at in updates if begin < at < end), end)
            after = self._where(until) if until < len(order) else last
            self._spans.append((self._where(begin) if order else 0, after))

    def of(self, at: int) -> tuple[int, float]:
        step = bisect_right(self._begins, at) - 1
        begin, end = self._spans[step]
        share = (self._where(at) - begin) / (end - begin) if end > begin else 0.0
        return step, min(max(share, 0.0), 1.0)

    def _where(self, at: int) -> int:
        return at if self._starts is None else self._starts[self._order[at]]


def _marked(columns: Columns, order: Sequence[int], mark: str) -> list[int]:
    names, first, which = np.unique(
        np.asarray(columns.graph.name_at), return_index=True, return_inverse=True
    )
    found = np.zeros(len(names), bool)
    found[:] = [columns.name(node).startswith(mark) for node in first.tolist()]
    places = np.flatnonzero(found[which[np.asarray(order)]]).tolist()
    return [at for at in places if columns.extra[order[at]].part is None]


def _end(columns: Columns) -> int:
    return max(a + b for a, b in zip(columns.start, columns.duration, strict=True))
