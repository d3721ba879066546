"""Do a communicator's ranks enter the same collectives in the same order?"""

from __future__ import annotations

from collections import Counter

from yantra.tracing.inspect.groups import WORLD, group_key
from yantra.tracing.inspect.validate.loaded import Call, LoadedJob
from yantra.tracing.inspect.validate.report import Severity

_SECTION = "collectives"


def check_collectives(job: LoadedJob) -> None:
    names = {name for member in job.members.values() for name in member.calls}
    for name in sorted(names, key=group_key):
        by_calls: dict[tuple[Call, ...], list[int]] = {}
        for rank in job.ranks_of(name):
            calls = tuple(job.call(rank, node) for node in job.members[rank].calls.get(name, ()))
            by_calls.setdefault(calls, []).append(rank)
        most = max(by_calls.values(), key=len, default=[])
        for ranks in by_calls.values():
            if ranks is not most:
                _compare(job, name, most[0], ranks[0])


def _compare(job: LoadedJob, name: str, first: int, second: int) -> None:
    sides = [
        [job.call(rank, node) for node in job.members[rank].calls.get(name, [])]
        for rank in (first, second)
    ]
    if sides[0] == sides[1]:
        return
    if Counter(sides[0]) == Counter(sides[1]) and not _decided(job, name, first, second):
        return  # left to timing; `deadlock` checks the order
    at = next((i for i, (a, b) in enumerate(zip(*sides, strict=False)) if a != b), None)
    if at is None:
        _missing(job, name, first, second)
    else:
        _differ(job, name, (first, second), at)


def _decided(job: LoadedJob, name: str, *ranks: int) -> bool:
    return all(job.members[r].order.decided(job.members[r].calls[name]) for r in ranks)


def _missing(job: LoadedJob, name: str, first: int, second: int) -> None:
    counts = {r: len(job.members[r].calls.get(name, [])) for r in (first, second)}
    more, fewer = (first, second) if counts[first] > counts[second] else (second, first)
    node = job.members[more].calls[name][counts[fewer]]
    has = f"has only {counts[fewer]}" if counts[fewer] else "has none"
    text = (
        f"enters the {job.call(more, node)} as collective {counts[fewer] + 1} of {_group(name)}, "
        f"of which rank {fewer} {has}"
    )
    severity = _severity(name, [job.call(more, node)])
    job.add_finding(severity, "collective-missing", _SECTION, more, node, text)


def _differ(job: LoadedJob, name: str, ranks: tuple[int, int], at: int) -> None:
    first, second = ranks
    node, other = (job.members[rank].calls[name][at] for rank in ranks)
    mine, its = job.call(first, node), job.call(second, other)
    size_only = mine._replace(size=its.size) == its
    over = " over other dimensions" if mine.comm_type == its.comm_type and not size_only else ""
    text = (
        f"is {mine}, collective {at + 1} of {_group(name)}, where rank {second} enters "
        f"{its}{over} with {job.label(second, other)}"
    )
    code = "collective-size-mismatch" if size_only else "collective-mismatch"
    job.add_finding(_severity(name, [mine, its]), code, _SECTION, first, node, text)


def _severity(name: str, calls: list[Call]) -> Severity:
    # Collectives over some dimensions meet only within them.
    partial = any(length and mask != (1 << length) - 1 for *_, (mask, length) in calls)
    return "warning" if partial and name == WORLD else "error"


def _group(name: str) -> str:
    return "all ranks" if name == WORLD else f"group {name}"
