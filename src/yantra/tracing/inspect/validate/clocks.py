"""Impossible times: durations, starts, orders.

Ranks leave a collective together, so the median difference of their ends, if large against its
spread, is that of their clocks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from yantra import _core
from yantra.base.units import format_time
from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.validate.facts import Whole
from yantra.tracing.inspect.validate.loaded import LoadedJob

_SECTION = "clocks"
_NEGATIVE = 1 << 63
_LONGEST_US = 24 * 3600 * 10**6
_GRID_US = 1
_ROUNDED_NS = 2000  # start and end are each rounded
_SKEW_US = 100
_FEWEST_MEETINGS = 5
_TIMES_SPREAD = 10
_AT_ONCE = 1 << 17  # nodes
_PLAIN = 1 << 62  # times below can be added
_FASTEST_BYTES_PER_US = 100_000_000  # 100 TB/s, above any link


def check_alone(rank: Whole) -> None:
    """Check the times of one rank."""
    _durations(rank)
    _exact_durations(rank)
    _bandwidths(rank)
    if any(rank.columns.start):
        _orders(rank)


def check_clocks(job: LoadedJob) -> None:
    """Compare the clocks of the ranks."""
    if not any(member.facts.has_starts for member in job.members.values()):
        job.report.remark("clocks: the traces record no start times, so orders were not compared")
        return
    _skew(job)


def _durations(rank: Whole) -> None:
    columns = rank.columns
    for code, what, values in (
        ("absurd-duration", "lasts", columns.duration),
        ("absurd-start", "starts at", columns.start),
    ):
        limit = _LONGEST_US if code == "absurd-duration" else _NEGATIVE
        if max(values, default=0) < limit:
            continue
        for node, value in enumerate(values):
            if value >= _NEGATIVE:
                text = f"{what} {value} us; as a signed number that is {value - 2 * _NEGATIVE} us"
                rank.add_finding("error", code, _SECTION, node, text)
            elif value >= limit:
                text = f"{what} {format_time(value * 1000)}, longer than a day"
                rank.add_finding("warning", code, _SECTION, node, text)


def _exact_durations(rank: Whole) -> None:
    columns = rank.columns
    said = columns.integers("duration_ns")
    if not said.kinds:
        return
    micros, values = np.asarray(columns.duration), np.asarray(said.values)
    apart = np.abs(values - (micros * 1000).astype(np.int64))
    odd = (apart > _ROUNDED_NS) | (apart < 0) | (values < 0) | (micros > _LONGEST_US)
    odd &= np.asarray(said.kinds) != 0
    for node in np.flatnonzero(odd).tolist():
        exact = said[node]
        if exact is None:
            continue
        if exact < 0:
            text = f"has a negative duration_ns, {exact}"
            rank.add_finding("error", "absurd-duration", _SECTION, node, text)
        elif abs(exact - columns.duration[node] * 1000) > _ROUNDED_NS:
            lasts = columns.duration[node]
            text = f"lasts {lasts} us by duration_micros, but {exact} ns by duration_ns"
            rank.add_finding("warning", "durations-differ", _SECTION, node, text)


def _bandwidths(rank: Whole) -> None:
    columns = rank.columns
    for node in np.flatnonzero(np.asarray(columns.comm_size.values)).tolist():
        size, duration = columns.comm_size[node], columns.duration[node]
        if size and duration and size > duration * _FASTEST_BYTES_PER_US:
            text = f"moves {size} bytes in {duration} us, more than 100 TB/s"
            rank.add_finding("warning", "absurd-bandwidth", _SECTION, node, text)


def _orders(rank: Whole) -> None:
    start, duration = rank.columns.start, rank.columns.duration
    for node, other, control in _suspects(rank.columns):
        begin = start[node]
        if not begin or not start[other]:
            continue
        if control:
            if start[other] > begin + _GRID_US:
                _too_early(rank, (node, other), start[other] - begin, ended=False)
            continue
        late = start[other] + duration[other] - begin
        if late > _GRID_US:
            _too_early(rank, (node, other), late, ended=True)


def _suspects(columns: Columns) -> Iterator[tuple[int, int, bool]]:
    """Dependencies that may be out of order, by node: the node, its parent, whether by control."""
    native = columns.native
    if isinstance(native, _core.Trace):
        node_of = {id: node for node, id in enumerate(columns.id)}
        for node, record in enumerate(columns.record):
            for control, ids in enumerate((native.data_deps(record), native.ctrl_deps(record))):
                found = (node_of.get(id) for id in ids)
                yield from ((node, other, bool(control)) for other in found if other is not None)
        return
    start, lasts = (np.asarray(one) for one in (columns.start, columns.duration))
    is_plain = max(columns.start) < _PLAIN and max(columns.duration) < _PLAIN
    parents, data_end, dep_end = map(np.asarray, (native.dep, native.data_end, native.dep_end))
    for first in range(0, columns.count, _AT_ONCE):
        nodes = np.arange(first, min(first + _AT_ONCE, columns.count))
        begin = dep_end[first - 1] if first else np.uint32(0)
        target = np.repeat(nodes, np.diff(dep_end[nodes], prepend=begin))
        by_control = np.arange(begin, begin + len(target)) >= data_end[target]
        source = parents[begin : begin + len(target)]
        if is_plain:
            soonest = start[source] + np.where(by_control, 0, lasts[source])
            late = np.flatnonzero(soonest > start[target] + _GRID_US)
            target, source, by_control = target[late], source[late], by_control[late]
        yield from zip(target.tolist(), source.tolist(), by_control.tolist(), strict=True)


def _too_early(rank: Whole, pair: tuple[int, int], by: int, *, ended: bool) -> None:
    node, other = pair
    what, code = ("ended", "ends") if ended else ("started", "starts")
    text = f"starts {format_time(by * 1000)} before {rank.label(other)}, its parent, has {what}"
    rank.add_finding("warning", f"starts-before-dependency-{code}", _SECTION, node, text)


def _skew(job: LoadedJob) -> None:
    differences: dict[tuple[int, int], list[int]] = defaultdict(list)
    origins = {rank: member.facts.origin_us for rank, member in job.members.items()}
    for name in {name for member in job.members.values() for name in member.calls}:
        ranks = job.ranks_of(name)
        for rank in ranks[1:]:
            ahead = origins[rank] - origins[ranks[0]]
            for a, b in zip(_ends(job, ranks[0], name), _ends(job, rank, name), strict=False):
                if a is not None and b is not None:
                    differences[ranks[0], rank].append(b - a + ahead)
    told: set[int] = set()
    for (first, rank), values in sorted(differences.items()):
        values.sort()
        middle = values[len(values) // 2]
        spread = sorted(abs(value - middle) for value in values)[len(values) // 2]
        enough = len(values) >= _FEWEST_MEETINGS and rank not in told
        if enough and abs(middle) > max(_SKEW_US, _TIMES_SPREAD * spread):
            told.add(rank)
            text = (
                f"ends its collectives {format_time(abs(middle) * 1000)} "
                f"{'after' if middle > 0 else 'before'} rank {first} does (median of "
                f"{len(values)}, spread {format_time(spread * 1000)}): their clocks differ"
            )
            job.add_finding("warning", "clock-skew", _SECTION, rank, None, text)


def _ends(job: LoadedJob, rank: int, name: str) -> list[int | None]:
    columns = job.members[rank].columns
    return [
        columns.start[node] + columns.duration[node] if columns.start[node] else None
        for node in job.members[rank].calls.get(name, [])
        if columns.type[node] == NodeType.COMM_COLL
    ]
