"""Collectives of a host trace alone, which has neither times nor kernels.

Each call becomes work of the network without duration, behind its operator and the call before it
in its group. Nothing says what waited for it.
"""

from __future__ import annotations

from msgspec import structs

from yantra.tracing.pytorch.calls import Call, Calls, sort_of
from yantra.tracing.pytorch.communication import collective_of
from yantra.tracing.pytorch.cpu_collectives import NETWORK
from yantra.tracing.pytorch.linked import DeviceOp, Linked, Operator
from yantra.tracing.pytorch.linked_columns import as_objects

_SORTS = ("record", "label", "api")  # the first that occurs knows most
_MESSAGES = ("send", "recv")


def with_host_collectives(linked: Linked) -> Linked:
    """The trace with its calls as device ops; itself if it has times or none."""
    if linked.device_ops or any(op.start_ns is not None for op in linked.operators):
        return linked
    linked = as_objects(linked)
    calls = Calls(linked.operators)
    made: list[DeviceOp] = []
    latest: dict[str | None, int] = {}
    first = max((op.id for op in linked.operators), default=-1) + 1
    for operator in _callers(linked, calls):
        call = calls.of(operator.id)
        if call is None or not _moves(call):
            continue
        before = latest.get(call.group)
        op = _device_op(first + len(made), operator, call, before)
        latest[call.group] = op.id
        made.append(op)
    return structs.replace(linked, device_ops=made) if made else linked


def _callers(linked: Linked, calls: Calls) -> list[Operator]:
    by_sort: dict[str, list[Operator]] = {}
    for operator in linked.operators:
        by_sort.setdefault(sort_of(operator.name), []).append(operator)
    found = next((by_sort[sort] for sort in _SORTS if sort in by_sort), [])
    ids = {operator.id for operator in found}
    return [operator for operator in found if not _is_inside(operator, ids, calls)]


def _is_inside(operator: Operator, ids: set[int], calls: Calls) -> bool:
    seen = {operator.id}
    at = operator.parent
    while at is not None and at not in seen:
        if at in ids:
            return True
        seen.add(at)
        outer = calls.by_id.get(at)
        at = None if outer is None else outer.parent
    return False


def _moves(call: Call) -> bool:
    return call.name.startswith(_MESSAGES) or collective_of(call.name) is not None


def _device_op(id: int, operator: Operator, call: Call, before: int | None) -> DeviceOp:
    return DeviceOp(
        id=id,
        name=operator.name,
        cat="comm",
        device=NETWORK,
        stream=0,
        start_ns=0,
        dur_ns=0,
        correlation=-1,
        parent=operator.id,
        after=[] if before is None else [before],
        pg_name=call.group or "",
        comm=operator.comm,
    )
