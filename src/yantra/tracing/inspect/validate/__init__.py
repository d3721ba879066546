"""Checks of the traces of a job, each alone and all together.

report = check_job(["job.{rank}.et"], groups=members)
report.valid, report.findings, report.text()

One module per question: `collectives`, `messages`, `membership`, `deadlock` (with `order` and
`waits`), `clocks`, `astra_sim`. What is said of a whole job needs the traces of all its ranks; with
fewer, only what they can tell is checked, and the report says so.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from yantra.base.errors import TraceError
from yantra.chakra import files
from yantra.chakra.diagnostics import from_native
from yantra.chakra.trace import Trace
from yantra.tracing.inspect.columns import Columns
from yantra.tracing.inspect.groups import Groups
from yantra.tracing.inspect.rank_traces import RankTrace, TraceFile, find_traces
from yantra.tracing.inspect.validate.astra_sim import check_astra_sim
from yantra.tracing.inspect.validate.clocks import check_clocks
from yantra.tracing.inspect.validate.collectives import check_collectives
from yantra.tracing.inspect.validate.deadlock import check_deadlocks
from yantra.tracing.inspect.validate.loaded import LoadedJob
from yantra.tracing.inspect.validate.membership import check_membership
from yantra.tracing.inspect.validate.messages import check_messages, find_messages
from yantra.tracing.inspect.validate.order import Order
from yantra.tracing.inspect.validate.report import Finding, Report

__all__ = ["Finding", "Report", "check_job", "check_traces"]


def check_job(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    groups: Groups | None = None,
    world_size: int | None = None,
) -> Report:
    """Check a job's trace files; `arguments` as in `find_traces`.

    `groups`: members of communicators. Without `world_size`, several traces of ranks 0 to n-1 are
    the whole job, or metadata says. Faults are in the report. Raises ConfigError for arguments that
    name no job.
    """
    report = Report()
    known: dict[bytes, Trace | None] = {}
    job = []
    for rank, path in find_traces(arguments):
        content = _content(report, TraceFile(rank, path))
        if content is None:
            continue
        if content not in known:
            known[content] = _decoded(report, TraceFile(rank, path), content)
        trace = known[content]
        if trace is not None:
            job.append(RankTrace(rank, path, trace))
    _check(report, job, groups, world_size)
    return report


def check_traces(
    traces: Sequence[Trace], *, groups: Groups | None = None, world_size: int | None = None
) -> Report:
    """As `check_job`, for traces in memory of ranks 0, 1, ..."""
    report = Report()
    job = [RankTrace(rank, f"trace of rank {rank}", trace) for rank, trace in enumerate(traces)]
    _check(report, job, groups, world_size)
    return report


def _content(report: Report, file: TraceFile) -> bytes | None:
    try:
        return files.load(file.path)
    except TraceError as error:
        report.add(Finding("error", "unreadable", "file", file.rank, None, "", str(error)))
        return None


def _decoded(report: Report, file: TraceFile, content: bytes) -> Trace | None:
    try:
        return Trace.from_bytes(content, file.path)
    except TraceError as error:
        report.add(Finding("error", "malformed", "file", file.rank, None, "", str(error)))
        return None


def _check(
    report: Report, traces: Sequence[RankTrace], groups: Groups | None, world_size: int | None
) -> None:
    whole = len(traces) > 1 and [entry.rank for entry in traces] == list(range(len(traces)))
    world = world_size if world_size is not None else len(traces) if whole else _told(traces)
    job = LoadedJob(report, groups, world, groups is not None)
    analysed: dict[int, tuple[Columns, Order]] = {}
    for rank, path, trace in traces:
        if id(trace) not in analysed:
            columns = Columns(trace)
            analysed[id(trace)] = columns, Order(columns)
            _check_alone(report, rank, trace)
        job.add(rank, path, *analysed[id(trace)])
        report.nodes += len(trace)
    report.ranks = len(traces)
    if world is None or world > len(traces):
        report.remark("the job's other ranks are not here, so nothing was compared with them")
    _check_together(job)
    report.groups = job.groups
    if world == len(traces) == len(job.members):
        report.traces = [trace for _, _, trace in traces]
    check_clocks(job)
    check_astra_sim(job)


def _told(traces: Sequence[RankTrace]) -> int | None:
    told = {
        value
        for trace in {id(trace): trace for _, _, trace in traces}.values()
        for name, _, value, _ in trace.native.metadata
        if name == "world_size" and isinstance(value, int) and value > 0
    }
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


def _check_alone(report: Report, rank: int, trace: Trace) -> None:
    graph = trace.graph()
    for found in from_native([*graph.diagnostics, *trace.native.check(graph)]):
        byte = "" if found.byte_offset is None else f" (byte {found.byte_offset})"
        report.add(
            Finding(
                found.severity,
                found.code,
                "trace",
                rank,
                found.node_id,
                found.name,
                found.message + byte,
            )
        )
