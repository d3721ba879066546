"""Where a rank's time went: each moment counts for the first of PARTS that is under way.

Parts and idle time add up to the window exactly, in ns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from yantra.tracing.why.rank import PARTS, Rank, Work

IDLE = "idle"


def account(rank: Rank) -> dict[str, int]:
    """Nanoseconds by part and idle, of the rank's whole window."""
    (found,) = accounts(rank, [(rank.begin_ns, rank.end_ns)])
    return found


def accounts(rank: Rank, windows: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
    """Nanoseconds by part and idle, between two times of the rank's clock each."""
    work = rank.work
    begins, ends = np.array(windows, dtype=np.int64).reshape(-1, 2).T
    covered = np.empty((0, 2), dtype=np.int64)
    so_far = np.zeros(len(windows), dtype=np.int64)
    found: dict[str, Any] = {}
    for at, part in enumerate(PARTS):
        here = (work.kind == at) & (work.end_ns > work.start_ns)
        own = np.stack([work.start_ns[here], work.end_ns[here]], axis=1)
        covered = union(np.concatenate([covered, own]))
        length = _before(covered, ends) - _before(covered, begins)
        found[part] = length - so_far
        so_far = length
    found[IDLE] = ends - begins - so_far
    columns = [column.tolist() for column in found.values()]
    return [dict(zip(found, row, strict=True)) for row in zip(*columns, strict=True)]


def _before(spans: Any, times: Any) -> Any:
    """How long disjoint, ascending spans last before each time."""
    if not len(spans):
        return np.zeros(len(times), dtype=np.int64)
    lasted = np.concatenate([[0], np.cumsum(spans[:, 1] - spans[:, 0])])
    begun = np.searchsorted(spans[:, 0], times, side="left")
    last_ends = spans[np.maximum(begun - 1, 0), 1]
    return lasted[begun] - np.where(begun > 0, np.maximum(last_ends - times, 0), 0)


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
