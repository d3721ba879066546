"""Device ops and who launched them, by Kineto's correlation number.

External id decides only if the call is missing or outside its thread's operators.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra.tracing.pytorch.categories import FLOW
from yantra.tracing.pytorch.kineto import Event
from yantra.tracing.pytorch.linked import DeviceOp, LinkReport


def by_correlation(calls: list[Event]) -> dict[int, Event]:
    found: dict[int, Event] = {}
    for call in calls:
        number = call.detail.correlation
        if number is not None and (number not in found or launches(call)):
            found[number] = call
    return found


def launches(call: Event) -> bool:
    name = call.name or ""
    return ("Launch" in name or "Memcpy" in name or "Memset" in name) and "HostFunc" not in name


def device_ops(
    events: list[Event],
    calls: dict[int, Event],
    paired: dict[int, Event],
    owners: Iterable[tuple[int, Event]],
    origin: int,
    report: LinkReport,
) -> list[DeviceOp]:
    """Device ops by (start, end), with `parent` an index into the operators.

    `calls` by correlation; `paired`: launches found by order, by event index; `owners`: operator
    indices with events.
    """
    named: dict[int, tuple[int, Event]] = {}
    for index, event in owners:
        external = event.detail.external_id
        if external is not None:
            named.setdefault(external, (index, event))
    events = sorted(events, key=_order)
    ops = []
    for number, event in enumerate(events):
        op = _device_op(number, event, origin)
        call, how = paired.get(event.index), "by_order"
        if call is not None:
            op.correlation = call.detail.correlation or 0
        else:
            call = calls.get(op.correlation)
            how = "by_flow" if call is not None and call.cat == FLOW else "by_correlation"
        if call is not None:
            op.launch_tid = call.tid if isinstance(call.tid, int) else -1
            op.launch_start_ns = call.start - origin
            op.launch_end_ns = call.end - origin
            op.launch_name = call.name or ""
        op.parent = _parent(event, call, how, named, report)
        ops.append(op)
    report.device_ops = len(ops)
    return ops


def _device_op(number: int, event: Event, origin: int) -> DeviceOp:
    detail = event.detail
    device = detail.device if detail.device is not None else event.pid
    stream = detail.stream if detail.stream is not None else event.tid
    comm = detail.comm()
    return DeviceOp(
        id=number,
        name=event.name or "",
        cat=event.cat or "",
        device=device if isinstance(device, int) else 0,
        stream=stream if isinstance(stream, int) else 0,
        start_ns=event.start - origin,
        dur_ns=event.end - event.start,
        correlation=-1 if detail.correlation is None else detail.correlation,
        parent=None,
        bytes=detail.bytes,
        pg_name=comm.group_name if comm else "",
        comm=comm,
    )


def _parent(
    event: Event,
    call: Event | None,
    how: str,
    named: dict[int, tuple[int, Event]],
    report: LinkReport,
) -> int | None:
    if call is not None and call.owner >= 0:
        setattr(report, how, getattr(report, how) + 1)
        return call.owner
    external = event.detail.external_id
    if external is not None and external != event.detail.correlation and external in named:
        index, operator = named[external]
        if operator.start <= (call or event).start:
            report.by_external_id += 1
            return index
    if call is None:
        report.orphans += 1
    else:
        report.outside += 1
    return None


def _order(event: Event) -> tuple[int, int, int, int]:
    return event.start, event.end, event.detail.correlation or 0, event.index
