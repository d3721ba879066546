"""Training steps in a trace, and how far through its step a node is.

A profiler marks the begin of a step, an optimizer its update. What counts as the step is what comes
before the update; the share of a node is by its recorded start, or, where starts are not recorded,
by the nodes issued before it.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from yantra.tracing.inspect.columns import Columns

_BEGIN, _UPDATE = "ProfilerStep#", "Optimizer.step#"


class Steps:
    """The steps of a trace whose nodes are issued in a given order; at least one."""

    def __init__(self, columns: Columns, order: list[int]) -> None:
        begins = _marked(columns, order, _BEGIN)
        updates = _marked(columns, order, _UPDATE)
        if not begins:
            begins = [0, *(at + 1 for at in updates[:-1])]
        begins[0] = 0  # what comes before the first mark belongs to the first step
        self._begins = begins
        self._spans = []
        starts = columns.start if any(columns.start) else None
        self._where = list(range(len(order))) if starts is None else [starts[n] for n in order]
        last = len(order) if starts is None else _end(columns)
        for begin, end in pairwise([*begins, len(order)]):
            until = next((at for at in updates if begin < at < end), end)
            after = self._where[until] if until < len(order) else last
            self._spans.append((self._where[begin] if order else 0, after))

    def of(self, at: int) -> tuple[int, float]:
        """Return the step of the node at a place of the order, and its share of it, 0 to 1."""
        step = bisect_right(self._begins, at) - 1
        begin, end = self._spans[step]
        share = (self._where[at] - begin) / (end - begin) if end > begin else 0.0
        return step, min(max(share, 0.0), 1.0)


def _marked(columns: Columns, order: list[int], mark: str) -> list[int]:
    return [
        at
        for at, node in enumerate(order)
        if columns.name(node).startswith(mark) and columns.extra[node].part is None
    ]


def _end(columns: Columns) -> int:
    return max(a + b for a, b in zip(columns.start, columns.duration, strict=True))
