"""Who belongs to which communicator, and do the sources agree?"""

from __future__ import annotations

from yantra.base.text import rank_list
from yantra.tracing.inspect.groups import WORLD, Groups, group_key
from yantra.tracing.inspect.validate.loaded import LoadedJob

_SECTION = "groups"


def check_membership(job: LoadedJob) -> None:
    _check_declared(job)
    used = {name for member in job.members.values() for name in member.calls} - {WORLD}
    if used and not job.given:
        names = ", ".join(sorted(used, key=group_key)[:6])
        text = f"the traces name groups ({names}), but no group file was given"
        job.add_finding("warning", "groups-not-given", _SECTION, None, None, text)
    if not job.given:
        return
    _check_range(job)
    for rank, member in job.members.items():
        for name, nodes in member.calls.items():
            if name == WORLD:
                continue
            if name not in job.groups:
                text = f"its group {name!r} is not in the group file"
                job.add_finding("error", "unknown-group", _SECTION, rank, nodes[0], text)
            elif rank not in job.groups[name]:
                text = f"rank {rank} is not in group {name} ({rank_list(job.groups[name])})"
                job.add_finding("error", "rank-not-in-group", _SECTION, rank, nodes[0], text)


def _check_range(job: LoadedJob) -> None:
    if job.world is None:
        return
    for name, ranks in job.groups.items():
        beyond = [rank for rank in ranks if rank >= job.world]
        if beyond:
            text = f"group {name} names rank {beyond[0]}; the ranks are 0 to {job.world - 1}"
            job.add_finding("error", "group-out-of-range", _SECTION, None, None, text)


def _check_declared(job: LoadedJob) -> None:
    first: dict[str, tuple[int, tuple[int, ...]]] = {}
    for rank in sorted(job.declared):
        for group in job.declared[rank]:
            known_by, ranks = first.setdefault(group.name, (rank, group.ranks))
            if ranks != group.ranks:
                text = (
                    f"lists group {group.name} as ranks {rank_list(group.ranks)}, rank {known_by} "
                    f"as {rank_list(ranks)}"
                )
                job.add_finding("error", "groups-disagree", _SECTION, rank, None, text)
    if job.given:
        _compare_with_file(job, {name: ranks for name, (_, ranks) in first.items()})


def _compare_with_file(job: LoadedJob, declared: Groups) -> None:
    for name, ranks in declared.items():
        if name in job.groups and set(job.groups[name]) != set(ranks):
            text = (
                f"group {name} is {rank_list(job.groups[name])} in the group file, but "
                f"{rank_list(ranks)} in the traces"
            )
            job.add_finding("warning", "groups-differ-from-file", _SECTION, None, None, text)
