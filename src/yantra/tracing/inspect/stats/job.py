"""Statistics of a job's ranks, and over all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from yantra.chakra.files import Content
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import (
    WORLD,
    Declared,
    Groups,
    declared_groups,
    group_key,
    groups_of_users,
    used_groups,
)
from yantra.tracing.inspect.one_by_one import OfRank, Progress, Reading, kept_of
from yantra.tracing.inspect.rank_traces import RankTrace, TraceFile, find_traces
from yantra.tracing.inspect.stats.parallelism import Parallelism, Use, parallelism_of, use_of
from yantra.tracing.inspect.stats.rank import Operator, RankStats, merged_operators, rank_stats
from yantra.tracing.inspect.surveyed import Seen, seen, seen_in
from yantra.tracing.pytorch.balance import ATTRIBUTE, Balance, from_text
from yantra.tracing.pytorch.in_memory import are_recordings, kept_of_each


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


class _Kept(NamedTuple):
    """What is kept of a trace: `declared` and `used` are groups, `balance` is text."""

    stats: RankStats
    use: Use
    declared: list[Declared]
    used: set[str]
    balance: object
    world_size: int | None


def job_stats(job: Sequence[RankTrace], groups: Groups | None = None) -> JobStats:
    """Statistics of traces that are here."""
    traces = {id(trace): trace for _, _, trace in job}
    kept = {key: _kept(trace) for key, trace in traces.items()}
    rows = [OfRank(rank, path, id(trace), kept[id(trace)]) for rank, path, trace in job]
    return _stats(rows, groups)


def stats_of_files(
    arguments: Sequence[str], groups: Groups | None = None, progress: Progress | None = None
) -> tuple[JobStats, list[str]]:
    """Statistics of Chakra traces or recordings, read one rank at a time, and what to say."""
    if not are_recordings(arguments):
        return _stats(kept_of(find_traces(arguments), _reading, progress), groups), []
    untold = _untold()
    found, made = kept_of_each(
        arguments, lambda rank, pieces: untold(seen_in(pieces)), progress=progress
    )
    rows = [OfRank(rank, made.paths[rank], rank, kept) for rank, kept in found.items()]
    return _stats(rows, groups), made.problems


def _reading() -> Reading[_Kept]:
    untold = _untold()

    def keep(file: TraceFile, content: Content) -> _Kept:
        return untold(seen(content))

    return Reading(keep)


def _untold() -> Callable[[Seen], _Kept]:
    """Keeps of a trace what those before have not told."""
    told: set[str] = set()

    def keep(trace: Seen) -> _Kept:
        kept = _kept(trace)
        kept = kept._replace(use=kept.use.without(told))
        told.update(kept.use.calls)
        return kept

    return keep


def _kept(trace: Seen) -> _Kept:
    columns = Columns(trace)
    size = _said(trace, "world_size")
    return _Kept(
        rank_stats(columns),
        use_of(columns),
        declared_groups(columns),
        used_groups(columns),
        _said(trace, ATTRIBUTE),
        size if isinstance(size, int) else None,
    )


def _stats(rows: Sequence[OfRank[_Kept]], groups: Groups | None) -> JobStats:
    ranks = [(row.rank, row.path, row.kept.stats) for row in rows]
    distinct = {row.key: row.kept for row in rows}
    used = {row.rank: row.kept.used for row in rows}
    declared = [kept.declared for kept in distinct.values()]
    members = _communicators(used, declared) if groups is None else groups
    shares = Counter(row.key for row in rows)
    balances = {row.rank: from_text(row.kept.balance) for row in rows}
    sizes = (kept.world_size for kept in distinct.values())
    return JobStats(
        ranks,
        _group_traffic(ranks, members),
        merged_operators([(kept.stats, shares[key]) for key, kept in distinct.items()]),
        parallelism_of({row.rank: row.kept.use for row in rows}, members),
        {rank: balance for rank, balance in balances.items() if balance is not None},
        max((size for size in sizes if size is not None), default=None),
    )


def _said(trace: Seen, name: str) -> object:
    return next((one.value for one in trace.metadata.attributes if one.name == name), None)


def communicators(by_rank: Mapping[int, Columns], given: Groups | None) -> Groups:
    """Group members, from the best source."""
    if given is not None:
        return given
    distinct = {id(columns): columns for columns in by_rank.values()}.values()
    used = {rank: used_groups(columns) for rank, columns in by_rank.items()}
    return _communicators(used, [declared_groups(columns) for columns in distinct])


def _communicators(
    used: Mapping[int, Collection[str]], declared: Iterable[list[Declared]]
) -> Groups:
    listed: Groups = {}
    for some in declared:
        for group in some:
            listed.setdefault(group.name, group.ranks)
    found = groups_of_users(used) if len(used) > 1 else {}
    return found | {name: ranks for name, ranks in listed.items() if name != WORLD}


def as_dict(stats: JobStats, top: int | None = None) -> dict[str, Any]:
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
