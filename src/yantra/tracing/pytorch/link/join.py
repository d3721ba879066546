"""Joins a host and a device trace into the linked form."""

from __future__ import annotations

from collections import defaultdict

from yantra.tracing.pytorch import host as host_traces
from yantra.tracing.pytorch import kineto as device_traces
from yantra.tracing.pytorch.balance import Sum
from yantra.tracing.pytorch.collector import without_collector
from yantra.tracing.pytorch.host import HostNode, HostTrace
from yantra.tracing.pytorch.kineto import Event, KinetoTrace
from yantra.tracing.pytorch.link import (
    by_order,
    flows,
    launch_calls,
    launches,
    match,
    nesting,
    streams,
    threads,
    waits,
)
from yantra.tracing.pytorch.link.records import Record, records
from yantra.tracing.pytorch.linked import Annotation, DeviceOp, Flow, Linked, Operator, Wait


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
        return link_alone(alone, rank=unsaid if rank is None and alone.rank is None else rank)
    host_trace = host_traces.read(host)
    device_trace = device_traces.read(device)
    if rank is None and device_trace.rank is None:
        rank = unsaid
    where = f"{host} and {device}"
    return link(host_trace, device_trace, rank=rank, where=where, partial=partial)


@without_collector
def link(
    host: HostTrace,
    device: KinetoTrace,
    *,
    rank: int | None = None,
    where: str = "link",
    partial: bool = False,
) -> Linked:
    found = match.match(host.nodes, device.cpu, where, partial=partial)
    linked = _joined(host, device, found, rank)
    _count_nodes(linked)
    pids = {event.pid for event in device.cpu if isinstance(event.pid, int)}
    if host.pid and pids and host.pid not in pids:
        linked.report.problems.append(
            f"the host trace is of process {host.pid} and the device trace of process {min(pids)}: "
            "are they of one run?"
        )
    return linked


@without_collector
def link_alone(device: KinetoTrace, *, rank: int | None = None) -> Linked:
    host, found = nesting.nested(device)
    linked = _joined(host, device, found, rank)
    linked.report.nested = True
    return linked


def _joined(
    host: HostTrace, device: KinetoTrace, found: list[Event | None], rank: int | None
) -> Linked:
    linked = _frame(host, device, rank)
    linked.report.unread = device.unread
    linked.report.uncategorised = device.uncategorised
    linked.report.balance.events = device.balance
    linked.report.problems += device.problems
    linked.origin_ns = min(
        (event.start for events in device.lists()[:3] for event in events[:1]), default=0
    )
    on_thread = match.threads(host.nodes, found)
    linked.operators = _operators(host.nodes, found, on_thread, linked.origin_ns)
    _link_devices(linked, host, device, found)
    linked.flows = flows.flows(host.nodes, found, on_thread, device)
    _unclaimed(linked, device, found)
    _count_operators(linked, host, found)
    _number(linked)
    return linked


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


def _operators(
    nodes: list[HostNode], found: list[Event | None], on_thread: dict[int, int], origin: int
) -> list[Operator]:
    place = {node.id: index for index, node in enumerate(nodes)}
    operators = []
    for index, (node, event) in enumerate(zip(nodes, found, strict=True)):
        parent = place.get(node.parent)
        operator = Operator(
            id=index,
            host_id=node.id,
            name=node.name,
            parent=None if parent == index else parent,
            tid=on_thread.get(node.tid, node.tid),
            attrs=node.attrs,
            inputs=node.inputs,
            outputs=node.outputs,
        )
        if event is not None:
            if isinstance(event.tid, int):
                operator.tid = event.tid
            operator.start_ns = event.start - origin
            operator.dur_ns = operator.exclusive_ns = event.end - event.start
            if event.args is not None:
                operator.comm = event.args.comm()
        operators.append(operator)
    return operators


def _link_devices(
    linked: Linked, host: HostTrace, device: KinetoTrace, found: list[Event | None]
) -> None:
    report = linked.report
    origin = linked.origin_ns
    used = {event.detail.correlation for event in device.device}
    lost = launch_calls.count(device.calls, used, report)
    unnumbered = by_order.unnumbered(device.device)
    blocking = [call for call in lost if waits.is_blocking_copy(call)]
    searched = {id(call) for call in (lost if unnumbered else blocking)}
    calls = [call for call in device.calls if _matters(call, used) or id(call) in searched]
    threads.nest(linked.operators, found, calls)
    pairs = by_order.paired(unnumbered, lost, linked.operators) if unnumbered else {}
    by_correlation = launches.by_correlation(calls)
    owners = ((index, event) for index, event in enumerate(found) if event is not None)
    ops = launches.device_ops(device.device, by_correlation, pairs, owners, origin, report)
    launch_calls.settle(report, len(unnumbered) - len(pairs), len(pairs))
    linked.device_ops = ops
    streams.stream_order(ops, report)
    queues = streams.Queues(ops)
    known = records(host.nodes)
    collectives = _collectives(linked, known)
    blocked = waits.Waits(queues, origin, report)
    recorded = streams.Records(calls)
    if device.syncs:
        streams.recorded_waits(device.syncs, by_correlation, recorded, queues, origin, report)
        blocked.recorded(device.syncs, by_correlation)
    if device.unnamed or not device.syncs:
        unsaid = calls if not device.syncs else _unnamed(calls, device)
        named = _awaited(known, collectives)
        stream_waits = [call for call in unsaid if _makes_wait(call, linked)]
        streams.inferred_waits(stream_waits, recorded, queues, origin, named, report)
        blocked.inferred(unsaid)
    blocked.blocking_copies(ops, by_correlation)
    blocked.without_records(blocking)
    streams.communicator_order([(op, record.group) for op, record in collectives], report)
    linked.waits = waits.merged(blocked.found)
    report.clock_problems += sum(
        op.launch_start_ns is not None and op.start_ns < op.launch_start_ns for op in ops
    )


_BESIDES_LAUNCHES = (
    waits.SYNC_CALLS
    | streams.WAIT_CALLS
    | streams.RECORD_CALLS
    | {"cudaEventQuery", "cudaStreamQuery", "hipEventQuery", "hipStreamQuery"}
)


def _matters(call: Event, used: set[int | None]) -> bool:
    return call.name in _BESIDES_LAUNCHES or call.detail.correlation in used


def _unnamed(calls: list[Event], device: KinetoTrace) -> list[Event]:
    return [call for call in calls if call.detail.correlation in device.unnamed]


def _makes_wait(call: Event, linked: Linked) -> bool:
    # NCCL's own waits are no waits of the program.
    if call.name not in streams.WAIT_CALLS:
        return False
    return call.owner < 0 or not linked.operators[call.owner].name.startswith("nccl:")


def _collectives(linked: Linked, known: dict[int, Record]) -> list[tuple[DeviceOp, Record]]:
    names = {group.name for group in linked.groups}
    found = []
    for op in linked.device_ops:
        if not streams.is_collective(op):
            continue
        at = op.parent
        for _ in range(3):  # nccl:* inside record_param_comms inside c10d::*
            if at is None or at in known:
                break
            at = linked.operators[at].parent
        record = known.get(at) if at is not None else None
        comm = linked.operators[at].comm if at is not None else None
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


def _unclaimed(linked: Linked, device: KinetoTrace, found: list[Event | None]) -> None:
    claimed = {event.index for event in found if event is not None}
    for event in device.cpu:
        if event.index in claimed:
            continue
        if event.cat == "user_annotation":
            tid = event.tid if isinstance(event.tid, int) else -1
            start = event.start - linked.origin_ns
            span = event.end - event.start
            linked.annotations.append(Annotation(event.name or "", tid, start, span))
        else:
            linked.report.unclaimed += 1


def _count_operators(linked: Linked, host: HostTrace, found: list[Event | None]) -> None:
    report = linked.report
    report.operators = len(found)
    report.matched = sum(event is not None for event in found)
    silent = sum(
        event is None and _has_no_event(node.name)
        for node, event in zip(host.nodes, found, strict=True)
    )
    report.unmatched = report.operators - report.matched - silent
    report.missing_parents = host.missing_parents


def _has_no_event(name: str) -> bool:
    return name in host_traces.ROOT_NAMES or "process_group:init" in name


def _count_nodes(linked: Linked) -> None:
    report = linked.report
    nodes = report.balance.nodes = Sum(len(linked.operators))
    nodes.add("operators with times", report.matched)
    nodes.add("operators without times", report.unmatched)
    silent = report.operators - report.matched - report.unmatched
    nodes.add("roots and records of process groups", silent)


def _number(linked: Linked) -> None:
    children: defaultdict[int, list[DeviceOp]] = defaultdict(list)
    alone = []
    for op in linked.device_ops:
        if op.parent is None:
            alone.append(op)
        else:
            children[op.parent].append(op)
    of_operator = []
    of_device = [0] * len(linked.device_ops)
    ordered = []
    next_id = 0
    for index in range(len(linked.operators)):
        of_operator.append(next_id)
        next_id += 1
        for op in children.get(index, ()):
            of_device[op.id] = next_id
            next_id += 1
            ordered.append(op)
    for op in alone:
        of_device[op.id] = next_id
        next_id += 1
        ordered.append(op)
    linked.device_ops = ordered
    _renumber(linked, of_operator, of_device)


def _renumber(linked: Linked, of_operator: list[int], of_device: list[int]) -> None:
    for operator in linked.operators:
        operator.id = of_operator[operator.id]
        if operator.parent is not None:
            operator.parent = of_operator[operator.parent]
    for op in linked.device_ops:
        op.id = of_device[op.id]
        if op.parent is not None:
            op.parent = of_operator[op.parent]
        op.after = [of_device[other] for other in op.after]
    for wait in linked.waits:
        _renumber_wait(wait, of_operator, of_device)
    linked.flows = [
        Flow(flow.kind, of_operator[flow.source], of_operator[flow.target]) for flow in linked.flows
    ]


def _renumber_wait(wait: Wait, of_operator: list[int], of_device: list[int]) -> None:
    if wait.op is not None:
        wait.op = of_operator[wait.op]
    wait.after = [of_device[other] for other in wait.after]
