"""Statistics of a job's ranks, and over all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import (
    WORLD,
    Groups,
    declared_groups,
    group_key,
    inferred_groups,
)
from yantra.tracing.inspect.rank_traces import RankTrace
from yantra.tracing.inspect.stats.parallelism import Parallelism, find_parallelism
from yantra.tracing.inspect.stats.rank import Operator, RankStats, merged_operators, rank_stats
from yantra.tracing.pytorch.balance import ATTRIBUTE, Balance, from_text


class GroupTraffic(NamedTuple):
    """A collective in a group, over all ranks; `bytes_per_rank` is the most."""

    group: str
    ranks: tuple[int, ...] | None
    collective: str
    calls_per_rank: int
    bytes_per_rank: int
    bytes: int
    time_us: int


class JobStats(NamedTuple):
    """`ranks`: (rank, file, statistics); equal files share statistics.

    `recordings`: what became of recordings, where stated; `world_size`: the job's ranks, None if
    not stated.
    """

    ranks: list[tuple[int, str, RankStats]]
    groups: list[GroupTraffic]
    operators: list[Operator]
    parallelism: Parallelism
    recordings: dict[int, Balance]
    world_size: int | None


def job_stats(job: Sequence[RankTrace], groups: Groups | None = None) -> JobStats:
    """Statistics of a job's traces; `groups`: members by group."""
    columns: dict[int, Columns] = {}
    known: dict[int, RankStats] = {}
    by_rank = {}
    for rank, _, trace in job:
        if id(trace) not in columns:
            columns[id(trace)] = Columns(trace)
            known[id(trace)] = rank_stats(columns[id(trace)])
        by_rank[rank] = columns[id(trace)]
    ranks = [(rank, path, known[id(trace)]) for rank, path, trace in job]
    members = communicators(by_rank, groups)
    shares = Counter(id(trace) for _, _, trace in job)
    return JobStats(
        ranks,
        _group_traffic(ranks, members),
        merged_operators([(known[key], shares[key]) for key in known]),
        find_parallelism(by_rank, members),
        _recordings(job),
        max(
            (size for _, _, trace in job if (size := _world_size(trace)) is not None), default=None
        ),
    )


def _recordings(job: Sequence[RankTrace]) -> dict[int, Balance]:
    found = {}
    for rank, _, trace in job:
        balance = from_text(_said(trace, ATTRIBUTE))
        if balance is not None:
            found[rank] = balance
    return found


def _world_size(trace: Trace) -> int | None:
    size = _said(trace, "world_size")
    return size if isinstance(size, int) else None


def _said(trace: Trace, name: str) -> object:
    return next((one.value for one in trace.metadata.attributes if one.name == name), None)


def communicators(by_rank: dict[int, Columns], given: Groups | None) -> Groups:
    """Group members, from the best source.

    A lone trace without a list of groups cannot know others.
    """
    if given is not None:
        return given
    declared: Groups = {}
    for columns in {id(columns): columns for columns in by_rank.values()}.values():
        for group in declared_groups(columns):
            declared.setdefault(group.name, group.ranks)
    found = inferred_groups(by_rank) if len(by_rank) > 1 else {}
    return found | {name: ranks for name, ranks in declared.items() if name != WORLD}


def as_dict(stats: JobStats, top: int | None = None) -> dict[str, Any]:
    """Plain values for JSON; at most `top` operators."""
    return {
        "ranks": [
            {"rank": rank, "file": path} | _rank_dict(one, top) for rank, path, one in stats.ranks
        ],
        "world_size": stats.world_size,
        "recordings": {rank: one.as_dict() for rank, one in stats.recordings.items()},
        "groups": [row._asdict() for row in stats.groups],
        "operators": [operator._asdict() for operator in stats.operators[:top]],
        "parallelism": {
            "findings": [finding._asdict() for finding in stats.parallelism.findings],
            "remarks": stats.parallelism.remarks,
        },
    }


def _rank_dict(stats: RankStats, top: int | None) -> dict[str, Any]:
    form = stats._asdict()
    form["average_parallelism"] = stats.average_parallelism
    form["operators"] = [operator._asdict() for operator in stats.operators[:top]]
    form["path_top"] = [node._asdict() for node in stats.path_top]
    form["collectives"] = [
        {"collective": row.what, "group": row.with_whom} | _numbers(row)
        for row in stats.collectives
    ]
    form["unsized"] = [{"what": row.what} | _numbers(row) for row in stats.unsized]
    form["messages"] = [
        {"direction": row.what, "peer": row.with_whom} | _numbers(row) for row in stats.messages
    ]
    return form


def _numbers(row: Any) -> dict[str, int]:
    return {"calls": row.calls, "bytes": row.bytes, "time_us": row.time_us}


def _group_traffic(
    ranks: Sequence[tuple[int, str, RankStats]], members: Groups
) -> list[GroupTraffic]:
    everyone = tuple(rank for rank, _, _ in ranks)
    rows: dict[tuple[str, str], list[Any]] = {}
    for _, _, stats in ranks:
        for call in stats.collectives:
            rows.setdefault((call.with_whom, call.what), []).append(call)
    found = []
    for (group, what), calls in rows.items():
        whose = everyone if group == WORLD and len(everyone) > 1 else members.get(group)
        found.append(
            GroupTraffic(
                group,
                whose,
                what,
                max(call.calls for call in calls),
                max(call.bytes for call in calls),
                sum(call.bytes for call in calls),
                sum(call.time_us for call in calls),
            )
        )
    return sorted(found, key=lambda row: (group_key(row.group), row.collective))
