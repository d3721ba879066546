"""Joins a host and a device trace into the linked form."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from yantra.tracing.pytorch import host as host_traces
from yantra.tracing.pytorch import kineto as device_traces
from yantra.tracing.pytorch.balance import Sum
from yantra.tracing.pytorch.collector import without_collector
from yantra.tracing.pytorch.event_columns import ODD, Column, Events, flags, is_number
from yantra.tracing.pytorch.events import Event
from yantra.tracing.pytorch.host import HostTrace
from yantra.tracing.pytorch.host_nodes import ROOT_NAMES
from yantra.tracing.pytorch.kineto import KinetoTrace
from yantra.tracing.pytorch.link import (
    by_order,
    columns,
    flows,
    launch_calls,
    launches,
    match,
    nesting,
    streams,
    waits,
)
from yantra.tracing.pytorch.link.operators import Operators
from yantra.tracing.pytorch.link.ops import Ops
from yantra.tracing.pytorch.link.records import Record, records
from yantra.tracing.pytorch.linked import Annotation, DeviceOp, Linked, LinkReport


@without_collector
def link_files(
    host: str | None,
    device: str,
    rank: int | None = None,
    *,
    partial: bool = False,
    unsaid: int = 0,
) -> Linked:
    """Link two files; `rank` overrides the trace's, `unsaid` replaces a missing one.

    Without a host trace, the device trace's operators nest by time. Raises TraceError when a file
    is wrong or the two are of different runs; `partial` accepts traces that share few operators.
    """
    if host is None:
        alone = device_traces.read(device, shapes=True)
        made = _alone(alone, unsaid if rank is None and alone.rank is None else rank)
        del alone  # much, which numbering needs no more
        return columns.numbered(*made)
    host_trace = host_traces.read(host)
    device_trace = device_traces.read(device)
    if rank is None and device_trace.rank is None:
        rank = unsaid
    made = _both(host_trace, device_trace, rank, f"{host} and {device}", partial)
    del host_trace, device_trace
    return columns.numbered(*made)


@without_collector
def link(
    host: HostTrace,
    device: KinetoTrace,
    *,
    rank: int | None = None,
    where: str = "link",
    partial: bool = False,
) -> Linked:
    return columns.numbered(*_both(host, device, rank, where, partial))


def _both(
    host: HostTrace, device: KinetoTrace, rank: int | None, where: str, partial: bool
) -> tuple[Linked, Operators, Ops]:
    events = Events.of(device.cpu, device.where)
    found = match.match(host.nodes, events, where, partial=partial)
    made = _joined(host, device, events, found, rank)
    report = made[0].report
    _count_nodes(report)
    pids = events.pid[is_number(events.pid)]
    if host.pid and len(pids) and host.pid not in pids:
        report.problems.append(
            f"the host trace is of process {host.pid} and the device trace of process "
            f"{pids.min()}: are they of one run?"
        )
    return made


@without_collector
def link_alone(device: KinetoTrace, *, rank: int | None = None) -> Linked:
    return columns.numbered(*_alone(device, rank))


def _alone(device: KinetoTrace, rank: int | None) -> tuple[Linked, Operators, Ops]:
    events = Events.of(device.cpu, device.where)
    host, found = nesting.nested(events)
    made = _joined(host, device, events, found, rank)
    made[0].report.nested = True
    return made


def _joined(
    host: HostTrace, device: KinetoTrace, events: Events, found: Column, rank: int | None
) -> tuple[Linked, Operators, Ops]:
    linked = _frame(host, device, rank)
    linked.report.unread = device.unread
    linked.report.uncategorised = device.uncategorised
    linked.report.balance.events = device.balance
    linked.report.problems += device.problems
    calls, works = Events.of(device.calls, device.where), Events.of(device.device, device.where)
    linked.origin_ns = min(
        (int(some.start[0]) for some in (events, calls, works) if len(some)), default=0
    )
    on_thread = match.threads(host.nodes, events, found)
    operators = Operators(host.nodes, events, found, on_thread, linked.origin_ns)
    ops = _link_devices(linked, operators, calls, works, device)
    ends = Events.of(device.forward, device.where), Events.of(device.backward, device.where)
    linked.flows = flows.flows(operators, on_thread, *ends)
    _unclaimed(linked, events, found)
    _count_operators(linked, host, found)
    del operators.events
    return linked, operators, ops


def _frame(host: HostTrace, device: KinetoTrace, rank: int | None) -> Linked:
    groups = device.groups or host.groups
    ranks = [r for group in groups for r in group.ranks]
    known = device.rank if rank is None else rank
    return Linked(
        schema=host.schema,
        pid=host.pid,
        time=host.time,
        start_ts=host.start_ts,
        finish_ts=host.finish_ts,
        rank=known or 0,
        world_size=device.world_size or max(ranks, default=known or 0) + 1,
        origin_ns=0,
        base_ns=device.base_ns,
        groups=groups,
    )


def _link_devices(
    linked: Linked, operators: Operators, every: Events, works: Events, device: KinetoTrace
) -> Ops:
    report = linked.report
    origin = linked.origin_ns
    used = np.unique(works.correlation)
    lost = launch_calls.count(every, used, report)
    unnumbered = by_order.unnumbered(works)
    blocking = lost[every.named(waits.is_blocking_copy)[lost]]
    kept = every.named(_BESIDES_LAUNCHES.__contains__) | np.isin(every.correlation, used)
    kept[lost if unnumbered else blocking] = True
    calls = every.rows(kept)
    operators.nest(calls)
    here = np.cumsum(kept) - 1
    lost_calls = [calls[row] for row in here[lost]] if unnumbered else []
    pairs = by_order.paired(unnumbered, lost_calls, operators) if unnumbered else {}
    by_correlation = launches.ByCorrelation(calls)
    ops = launches.device_ops(works, by_correlation, pairs, operators, origin, report)
    launch_calls.settle(report, len(unnumbered) - len(pairs), len(pairs))
    ops.follow(report)
    queues = streams.Queues(ops)
    known = records(operators.nodes)
    collectives = _collectives(linked, operators, ops, known)
    blocked = waits.Waits(queues, origin, report)
    recorded = streams.Records(calls)
    if device.syncs:
        syncs = list(device.syncs)
        streams.recorded_waits(syncs, by_correlation, recorded, queues, origin, report)
        blocked.recorded(syncs, by_correlation)
    if device.unnamed or not device.syncs:
        unsaid = _waiting(calls, device)
        named = _awaited(known, collectives)
        stream_waits = [call for call in unsaid if _makes_wait(call, operators)]
        streams.inferred_waits(stream_waits, recorded, queues, origin, named, report)
        blocked.inferred(unsaid)
    blocked.blocking_copies(ops, by_correlation)
    blocked.without_records(calls[row] for row in here[blocking])
    streams.communicator_order([(op, record.group) for op, record in collectives], report)
    linked.waits = waits.merged(blocked.found)
    early = ops.launched & (ops.start < ops.launch_start)
    report.clock_problems += int(np.count_nonzero(early))
    return ops


_BESIDES_LAUNCHES = (
    waits.SYNC_CALLS
    | streams.WAIT_CALLS
    | streams.RECORD_CALLS
    | {"cudaEventQuery", "cudaStreamQuery", "hipEventQuery", "hipStreamQuery"}
)


def _waiting(calls: Events, device: KinetoTrace) -> list[Event]:
    """Calls that wait, of which no record says for what."""
    wait = calls.named(lambda name: name in waits.SYNC_CALLS or name in streams.WAIT_CALLS)
    if device.syncs:
        wait &= np.isin(calls.correlation, list(device.unnamed))
    return [calls[row] for row in np.flatnonzero(wait)]


def _makes_wait(call: Event, operators: Operators) -> bool:
    # NCCL's own waits are no waits of the program.
    if call.name not in streams.WAIT_CALLS:
        return False
    return call.owner < 0 or not operators.name(call.owner).startswith("nccl:")


def _collectives(
    linked: Linked, operators: Operators, ops: Ops, known: dict[int, Record]
) -> list[tuple[DeviceOp, Record]]:
    names = {group.name for group in linked.groups}
    found = []
    for op in map(ops.at, ops.named(streams.COLLECTIVES)):
        at = op.parent
        for _ in range(3):  # nccl:* inside record_param_comms inside c10d::*
            if at is None or at in known:
                break
            at = operators.above(at)
        record = known.get(at) if at is not None else None
        comm = operators.comm.get(at) if at is not None else None
        if comm is not None and op.comm is None:
            op.comm = comm
        group = op.pg_name or (comm.group_name if comm else "") or (record.group if record else "")
        if group and (group in names or not names):
            op.pg_name = group
        found.append((op, record or Record(group, -1, "")))
    return found


def _awaited(
    known: dict[int, Record], collectives: list[tuple[DeviceOp, Record]]
) -> dict[int, DeviceOp | None]:
    issued: defaultdict[int, list[DeviceOp]] = defaultdict(list)
    for op, record in collectives:
        if record.sequence >= 0 and record.call != "wait":
            issued[record.sequence].append(op)
    return {
        index: issued[record.sequence][-1] if record.sequence in issued else None
        for index, record in known.items()
        if record.call == "wait" and record.sequence >= 0
    }


def _unclaimed(linked: Linked, events: Events, found: Column) -> None:
    claimed = np.zeros(len(events), bool)
    claimed[found[found >= 0]] = True
    noted = events.is_of("user_annotation")
    for row in np.flatnonzero(~claimed & noted).tolist():
        tid, name = int(events.tid[row]), events.texts[events.name[row]]
        start, end = int(events.start[row]), int(events.end[row])
        thread = tid if tid > ODD else -1
        linked.annotations.append(Annotation(name, thread, start - linked.origin_ns, end - start))
    linked.report.unclaimed += int(np.count_nonzero(~claimed & ~noted))


def _count_operators(linked: Linked, host: HostTrace, found: Column) -> None:
    report = linked.report
    report.operators = len(found)
    report.matched = int(np.count_nonzero(found >= 0))
    silent = flags(host.nodes.names, _has_no_event)[host.nodes.name] & (found < 0)
    report.unmatched = report.operators - report.matched - int(np.count_nonzero(silent))
    report.missing_parents = host.missing_parents


def _has_no_event(name: str) -> bool:
    return name in ROOT_NAMES or host_traces.GROUP_INIT in name


def _count_nodes(report: LinkReport) -> None:
    nodes = report.balance.nodes = Sum(report.operators)
    nodes.add("operators with times", report.matched)
    nodes.add("operators without times", report.unmatched)
    silent = report.operators - report.matched - report.unmatched
    nodes.add("roots and records of process groups", silent)
