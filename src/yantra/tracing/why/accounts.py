"""Where a rank's time went: each moment counts for the first of PARTS that is under way.

Parts and idle time add up to the window exactly, in ns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from yantra.tracing.why.rank import PARTS, Rank, Work

IDLE = "idle"


def account(rank: Rank, begin_ns: int | None = None, end_ns: int | None = None) -> dict[str, int]:
    """Nanoseconds by part and idle, between two times of the rank's clock; by default all."""
    begin = rank.begin_ns if begin_ns is None else begin_ns
    end = rank.end_ns if end_ns is None else end_ns
    work = rank.work
    start, stop = np.clip(work.start_ns, begin, end), np.clip(work.end_ns, begin, end)
    covered = np.empty((0, 2), dtype=np.int64)
    found = {}
    so_far = 0
    for at, part in enumerate(PARTS):
        here = (work.kind == at) & (stop > start)
        covered = union(np.concatenate([covered, np.stack([start[here], stop[here]], axis=1)]))
        length = int((covered[:, 1] - covered[:, 0]).sum())
        found[part] = length - so_far
        so_far = length
    return found | {IDLE: end - begin - so_far}


def union(spans: Any) -> Any:
    """The disjoint, ascending spans that cover the same moments; rows of start and end."""
    if not len(spans):
        return spans
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    reach = np.maximum.accumulate(spans[:, 1])
    first = np.concatenate([[True], spans[1:, 0] > reach[:-1]])
    begins = np.flatnonzero(first)
    last = np.concatenate([begins[1:] - 1, [len(spans) - 1]])
    return np.stack([spans[begins, 0], reach[last]], axis=1)


def busy_ns(work: Work) -> int:
    """Time in which the device ran a kernel, a copy or a collective."""
    return _length(_spans(work, work.kind <= PARTS.index("memory")))


def exposed_ns(work: Work, part: int, rows: Any) -> int:
    """Time of rows of a part in which no part before it is under way."""
    earlier = _spans(work, work.kind < part)
    both = union(np.concatenate([earlier, _spans(work, rows)]))
    return _length(both) - _length(earlier)


def _spans(work: Work, rows: Any) -> Any:
    return union(np.stack([work.start_ns[rows], work.end_ns[rows]], axis=1))


def _length(spans: Any) -> int:
    return int((spans[:, 1] - spans[:, 0]).sum())
