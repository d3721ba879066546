"""Checks of the traces of a job, each alone and all together.

report = check_job(["job.{rank}.et"], groups=members) report.valid, report.findings, report.text()

What is said of a whole job needs the traces of all its ranks; with fewer, only what they can tell
is checked, and the report says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from yantra.base.errors import TraceError
from yantra.base.notes import note
from yantra.chakra.diagnostics import from_native
from yantra.chakra.files import Content
from yantra.chakra.trace import Trace, read
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.one_by_one import OfRank, Progress, Reading, kept_of
from yantra.tracing.inspect.rank_traces import RankTrace, TraceFile, find_traces, load_job
from yantra.tracing.inspect.surveyed import Surveyed, seen, seen_in
from yantra.tracing.inspect.validate import astra_sim, clocks
from yantra.tracing.inspect.validate.astra_sim import check_astra_sim
from yantra.tracing.inspect.validate.clocks import check_clocks
from yantra.tracing.inspect.validate.collectives import check_collectives
from yantra.tracing.inspect.validate.deadlock import check_deadlocks
from yantra.tracing.inspect.validate.facts import Facts, Whole, facts_of
from yantra.tracing.inspect.validate.loaded import LoadedJob
from yantra.tracing.inspect.validate.membership import check_membership
from yantra.tracing.inspect.validate.messages import check_messages, find_messages
from yantra.tracing.inspect.validate.report import Finding, Report
from yantra.tracing.pytorch.in_memory import are_recordings, converted_job, kept_of_each

__all__ = ["Finding", "Report", "check_job", "check_traces"]


def check_job(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    groups: Groups | None = None,
    world_size: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Check a job's trace files; `arguments` as in `find_traces`. One rank is held at a time.

    `groups`: members of communicators. Without `world_size`, several traces of ranks 0 to n-1 are
    the whole job, or metadata says. `progress` is told how many ranks of how many were read.
    """
    names = [os.fspath(one) for one in arguments]
    if are_recordings(names):
        return _check_recordings(names, groups, world_size)
    report = Report()
    rows = []
    failed: set[object] = set()
    for row in kept_of(find_traces(arguments), _reading, progress):
        if not isinstance(row.kept, Finding):
            rows.append(OfRank(row.rank, row.path, row.key, row.kept))
        elif row.key not in failed:
            failed.add(row.key)
            report.add(row.kept)
    paths = {row.rank: row.path for row in rows}
    _check(
        report,
        rows,
        (groups, world_size),
        lambda rank: read(paths[rank]),
        lambda: [one.trace for one in load_job(arguments)],
    )
    return report


def _reading() -> Reading[Facts | Finding]:
    def keep(file: TraceFile, content: Content) -> Facts | Finding:
        try:
            trace = seen(content)
        except TraceError as error:
            return Finding("error", "malformed", "file", file.rank, None, "", str(error))
        return facts_of(file.rank, trace, _ALONE)

    def unreadable(file: TraceFile, error: TraceError) -> Facts | Finding:
        return Finding("error", "unreadable", "file", file.rank, None, "", str(error))

    return Reading(keep, unreadable)


def _check_recordings(names: list[str], groups: Groups | None, world_size: int | None) -> Report:
    """Check the traces that recordings are converted to."""
    report = Report()
    found, made = kept_of_each(names, lambda rank, pieces: facts_of(rank, seen_in(pieces), _ALONE))
    for problem in made.problems:
        note(problem)
    world = world_size or (made.world_size if sorted(found) == [*range(made.world_size)] else None)
    rows = [
        OfRank(rank, made.paths[rank].removesuffix(".gz"), rank, facts)
        for rank, facts in found.items()
    ]

    def again() -> list[RankTrace]:
        return converted_job(names).traces

    _check(
        report,
        rows,
        (groups or made.members or None, world),
        lambda rank: next(one.trace for one in again() if one.rank == rank),
        lambda: [one.trace for one in again()],
    )
    return report


def check_traces(
    traces: Sequence[Trace], *, groups: Groups | None = None, world_size: int | None = None
) -> Report:
    report = Report()
    distinct = {id(trace): rank for rank, trace in reversed(list(enumerate(traces)))}
    facts = {key: facts_of(rank, traces[rank], _ALONE) for key, rank in distinct.items()}
    rows = [
        OfRank(rank, f"trace of rank {rank}", id(trace), facts[id(trace)])
        for rank, trace in enumerate(traces)
    ]
    _check(report, rows, (groups, world_size), lambda rank: traces[rank], lambda: list(traces))
    return report


def _check(
    report: Report,
    rows: Sequence[OfRank[Facts]],
    stated: tuple[Groups | None, int | None],
    load: Callable[[int], Trace],
    load_all: Callable[[], list[Trace]],
) -> None:
    groups, world_size = stated
    distinct = list({row.key: row.kept for row in rows}.values())
    whole = len(rows) > 1 and [row.rank for row in rows] == list(range(len(rows)))
    world = world_size if world_size is not None else len(rows) if whole else _told(distinct)
    job = LoadedJob(report, groups, world, load)
    for row in rows:
        job.add(row.rank, row.path, row.kept)
        report.nodes += row.kept.nodes
    of_graph, of_clocks, of_astra_sim = range(len(_ALONE))
    _take(report, distinct, of_graph)
    report.ranks = len(rows)
    if world is None or world > len(rows):
        report.remark("the job's other ranks are not here, so nothing was compared with them")
    _check_together(job)
    report.groups = job.groups
    if world == len(rows) == len(job.members):
        report.load = load_all
    _take(report, distinct, of_clocks)
    check_clocks(job)
    check_astra_sim(job)
    _take(report, distinct, of_astra_sim)


def _take(report: Report, distinct: Sequence[Facts], check: int) -> None:
    for facts in distinct:
        report.take(facts.findings[check])


def _told(distinct: Sequence[Facts]) -> int | None:
    told = {size for facts in distinct for size in facts.world_sizes}
    return told.pop() if len(told) == 1 else None


def _check_together(job: LoadedJob) -> None:
    job.find_groups()
    check_membership(job)
    check_collectives(job)
    messages = find_messages(job)
    check_messages(job, messages)
    if not job.report.valid:
        job.report.remark("deadlocks: not looked for before the errors above are mended")
    else:
        check_deadlocks(job, messages)


def _check_graph(rank: Whole) -> None:
    if isinstance(rank.columns.seen, Surveyed):
        return  # else it is read whole
    trace = rank.columns.trace
    graph = trace.graph()
    for found in from_native([*graph.diagnostics, *trace.native.check(graph)]):
        byte = "" if found.byte_offset is None else f" (byte {found.byte_offset})"
        rank.report.add(
            Finding(
                found.severity,
                found.code,
                "trace",
                rank.rank,
                found.node_id,
                found.name,
                found.message + byte,
            )
        )


_ALONE = (_check_graph, clocks.check_alone, astra_sim.check_alone)
