"""What unexplained time likely was, where there is evidence.

input pipeline: it ends where a batch is loaded or copied to the device. spinning: the host goes on
within 10 us of a kernel's end, again and again. graph launch: it ends at a kernel that shares its
launch. unrecorded thread: at one without a recorded launch. lost records: launches without kernel.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from yantra.base.text import count
from yantra.tracing.why.accounts import exposed_ns
from yantra.tracing.why.rank import PARTS, Rank

_LONG_NS = 20_000
_WITHIN_NS = 10_000
_AGAIN = 3
_OFTEN = 0.6  # of the long gaps
_LOADS = re.compile(r"dataloader|data_loader|next_batch|fetch", re.IGNORECASE)
_COPIES = re.compile(r"memcpy.*(htod|hosttodevice)|aten::(to|_to_copy|copy_)$", re.IGNORECASE)
_HOST, _ON_HOST = PARTS.index("host"), PARTS.index("unexplained_host")
_ON_DEVICE = PARTS.index("unexplained_device")


class Cause(NamedTuple):
    """A likely cause, the evidence, and the time with it that nothing else hides."""

    name: str
    ns: int
    evidence: str


def causes(rank: Rank) -> list[Cause]:
    """Likely causes of a rank's unexplained time, the longest first."""
    found = [_input(rank), _spinning(rank), *_of_device(rank)]
    known = [one for one in found if one is not None and one.ns]
    return sorted(known, key=lambda one: -one.ns)


def _gaps(rank: Rank, kind: int) -> Any:
    work = rank.work
    here = (work.kind == kind) & (work.end_ns - work.start_ns > _LONG_NS)
    return np.flatnonzero(here)


def _input(rank: Rank) -> Cause | None:
    work, gaps = rank.work, _gaps(rank, _ON_HOST)
    marks = [bool(_LOADS.search(name) or _COPIES.search(name)) for name in work.names]
    if not len(gaps) or not any(marks):
        return None
    loads = np.sort(work.start_ns[np.array(marks)[work.name]])
    at = np.searchsorted(loads, work.end_ns[gaps])
    after = np.where(at < len(loads), loads[np.minimum(at, len(loads) - 1)], np.iinfo(np.int64).max)
    here = after - work.end_ns[gaps] <= _WITHIN_NS
    if not here.any():
        return None
    times = int(here.sum())
    end = "ends" if times == 1 else "end"
    ns = exposed_ns(work, _ON_HOST, gaps[here])
    return Cause("input pipeline", ns, f"{count(times, 'gap')} {end} where a batch is loaded")


def _spinning(rank: Rank) -> Cause | None:
    work, gaps = rank.work, _gaps(rank, _ON_HOST)
    ends = np.sort(work.end_ns[work.kind <= PARTS.index("memory")])
    if not len(gaps) or not len(ends):
        return None
    at = np.searchsorted(ends, work.end_ns[gaps], side="right") - 1
    here = (at >= 0) & (work.end_ns[gaps] - ends[np.maximum(at, 0)] <= _WITHIN_NS)
    if here.sum() < _AGAIN or here.sum() < _OFTEN * len(gaps):
        return None
    ns = exposed_ns(work, _ON_HOST, gaps[here])
    return Cause("the host spins for the device", ns, f"{int(here.sum())} of {len(gaps)} gaps end "
                 "within 10 us after a kernel")  # fmt: skip


def _of_device(rank: Rank) -> list[Cause | None]:
    about = rank.launches
    work, gaps = rank.work, _gaps(rank, _ON_DEVICE)
    graphs = np.isin(work.end_ns[gaps], np.array(about.of_graphs, dtype=np.int64))
    orphans = np.isin(work.end_ns[gaps], np.array(about.orphans, dtype=np.int64)) & ~graphs
    rest = gaps[~graphs & ~orphans] if about.lost else gaps[:0]
    shared = f"{len(about.of_graphs)} device ops share a launch"
    alone = f"{_have(len(about.orphans), 'device op')} no recorded launch"
    lost = f"{_have(about.lost, 'launch', 'launches')} no device op"
    return [
        _named(rank, gaps[graphs], "graph launch", shared),
        _named(rank, gaps[orphans], "an unrecorded thread", alone),
        _named(rank, rest, "lost records", lost),
    ]


def _have(number: int, noun: str, nouns: str = "") -> str:
    return f"{count(number, noun, nouns)} {'has' if number == 1 else 'have'}"


def _named(rank: Rank, gaps: Any, name: str, evidence: str) -> Cause | None:
    if not len(gaps):
        return None
    return Cause(name, exposed_ns(rank.work, _ON_DEVICE, gaps), evidence)
