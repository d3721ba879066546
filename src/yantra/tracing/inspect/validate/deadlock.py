"""Can ranks wait for each other forever?

Assumed, and reported: one collective or send at a time per rank, lowest ready id first; sends end
by themselves (ASTRA-sim). A cycle at any speed is an error; without one under the worst timing
nothing hangs. Between, `order-left-to-timing` warns; a trial run decides for one cluster.
"""

from __future__ import annotations

from itertools import pairwise

from yantra.chakra.schema import NodeType
from yantra.tracing.inspect.groups import WORLD
from yantra.tracing.inspect.validate.loaded import LoadedJob
from yantra.tracing.inspect.validate.messages import Messages
from yantra.tracing.inspect.validate.waits import Undecided, Waits, find_cycle, reaches

_SECTION = "order"
_LONGEST_TOLD = 6
_MOST_RANKS = 64  # whose choices are searched for undecided pairs
ASSUMED = (
    "deadlocks: assumed that a rank runs one collective or send at a time, takes the lowest ready "
    "id first, and that sends end without their receive (ASTRA-sim)"
)


def check_deadlocks(job: LoadedJob, messages: Messages) -> None:
    if _some_dimensions_only(job):
        job.report.remark(
            "deadlocks: not looked for, as collectives over some dimensions only (involved_dim) "
            "meet as the network's shape says"
        )
        return
    waits = Waits(job, messages)
    job.report.remark(ASSUMED)
    cycle = find_cycle(waits.sure)
    if cycle:
        _report_cycle(job, waits, cycle, "error", "deadlock")
        return
    _check_timing(job, waits)
    further = [set(after) for after in waits.sure]
    for first, second in waits.held_by_rendezvous(messages):
        further[first].add(second)
    cycle = find_cycle(further)
    if cycle:
        _report_cycle(job, waits, cycle, "warning", "deadlock-under-rendezvous")


def _some_dimensions_only(job: LoadedJob) -> bool:
    for member in job.members.values():
        for node in member.calls.get(WORLD, ()):
            mask, length = member.columns.involved(node)
            if length and mask != (1 << length) - 1:
                return True
    return False


def _check_timing(job: LoadedJob, waits: Waits) -> None:
    found = _same_group(job, waits) or _dangerous(waits)
    if found is not None:
        second = job.label(found.rank, found.second)
        text = (
            f"may be entered before or after {second}: nothing decides but timing, and ranks that "
            f"differ wait for each other ({len(waits.undecided)} such pairs in the job)"
        )
        job.add_finding("warning", "order-left-to-timing", _SECTION, found.rank, found.first, text)
        return
    if waits.too_many:
        rank = min(waits.too_many)
        text = "has too many communications in no sure order for all pairs to be looked at"
        job.add_finding("warning", "order-left-to-timing", _SECTION, rank, None, text)
        return
    cycle = find_cycle(waits.wary)
    if cycle:
        _report_cycle(job, waits, cycle, "warning", "order-left-to-timing")


def _same_group(job: LoadedJob, waits: Waits) -> Undecided | None:
    for pair in waits.undecided:
        columns = job.members[pair.rank].columns
        both = columns.type[pair.first] == columns.type[pair.second] == NodeType.COMM_COLL
        group = columns.group[pair.first]
        alone = group != WORLD and len(job.groups.get(group, (0, 1))) == 1
        if both and group == columns.group[pair.second] and not alone:
            return pair
    return None


def _dangerous(waits: Waits) -> Undecided | None:
    ranks = sorted({pair.rank for pair in waits.undecided})
    if len(ranks) > _MOST_RANKS:
        return waits.undecided[0]
    for rank in ranks:
        after = [set(targets) for targets in waits.wary]
        for pair in waits.undecided:
            if pair.rank != rank:
                ends = [waits.vertex(pair.rank, node) for node in pair[1:]]
                after[ends[0]].add(ends[1])
                after[ends[1]].add(ends[0])
        for pair in waits.undecided:
            if pair.rank == rank:
                first, second = (waits.vertex(rank, node) for node in pair[1:])
                if reaches(after, first, second) or reaches(after, second, first):
                    return pair
    return None


def _report_cycle(job: LoadedJob, waits: Waits, cycle: list[int], severity: str, code: str) -> None:
    pairs = list(pairwise([*cycle, cycle[0]]))
    told = [_told(job, waits, *pair) for pair in pairs[:_LONGEST_TOLD]]
    if len(pairs) > _LONGEST_TOLD:
        told.append(f"... ({len(pairs) - _LONGEST_TOLD} more)")
    rank, node = waits.nodes[cycle[0]][0]
    text = f"closes a circle of waiting: {'; '.join(told)}"
    job.add_finding("error" if severity == "error" else "warning", code, _SECTION, rank, node, text)


def _told(job: LoadedJob, waits: Waits, first: int, second: int) -> str:
    here = dict(waits.nodes[first])
    for rank, node in waits.nodes[second]:
        if rank in here and job.runs_before(rank, here[rank], node):
            return f"rank {rank} runs {job.label(rank, here[rank])} before {job.label(rank, node)}"
    (rank, node), (other, its) = waits.nodes[first][0], waits.nodes[second][0]
    return f"rank {other}'s {job.label(other, its)} waits for rank {rank}'s {job.label(rank, node)}"
