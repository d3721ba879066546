"""A linked trace as the core reads it: in columns, by place instead of id."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from yantra.tracing.pytorch.graph.nodes import Columns
from yantra.tracing.pytorch.host_nodes import ROOT_NAMES
from yantra.tracing.pytorch.linked import DeviceOp, Linked, Operator
from yantra.tracing.pytorch.linked_columns import NO_TIME, NONE, DeviceOps, Layout, Operators

DELAY = "delay"
_MISSING = NONE - 1  # an id that nothing has
_INT64 = 1 << 63
_USER_SCOPE = 7
_COLLECTIVES = ("gloo:", "nccl:", "mpi:", "ucc:", "xccl:")
_TIMED, _ROOT, _ANNOTATION = 1, 2, 4
_HAS_THREAD, _LAUNCHED, _COMMUNICATES = 1, 2, 4
_KINDS = {"fwdbwd": 0, "thread": 1}


def columns_of(linked: Linked) -> Columns:
    return _of_rows(linked) if isinstance(linked.operators, Operators) else _of_objects(linked)


def _of_objects(linked: Linked) -> Columns:
    operators, ops = linked.operators, linked.device_ops
    names = {operator.name for operator in operators} | {op.name for op in ops}
    made = _Columns(linked, names | {op.launch_name for op in ops})
    operator_at = {operator.id: place for place, operator in enumerate(operators)}
    op_at = {op.id: place for place, op in enumerate(ops)}
    name_at = made.name_at

    def around(id: int | None) -> int:
        return NONE if id is None else operator_at.get(id, _MISSING)

    made.of("operator", operators, id=lambda one: one.id, tid=lambda one: one.tid)
    made.of("operator", operators, start=lambda one: one.start_ns or 0, dur=lambda one: one.dur_ns)
    made.places("operator", operators, parent=lambda one: around(one.parent))
    made.places("operator", operators, name=lambda one: name_at[one.name], flags=_flags)
    made.of("op", ops, id=lambda op: op.id, device=lambda op: op.device)
    made.of("op", ops, stream=lambda op: op.stream)
    made.of("op", ops, start=lambda op: op.start_ns, dur=lambda op: op.dur_ns)
    made.of("op", ops, launch_tid=lambda op: op.launch_tid or 0)
    made.of("op", ops, launch_start=lambda op: op.launch_start_ns or 0)
    made.of("op", ops, launch_end=lambda op: op.launch_end_ns or 0)
    made.of("op", ops, correlation=lambda op: op.correlation if _fits(op.correlation) else 0)
    made.places("op", ops, parent=lambda op: around(op.parent), name=lambda op: name_at[op.name])
    made.places("op", ops, launch_name=lambda op: name_at[op.launch_name], flags=_op_flags)
    made.lists("op", ops, op_at)
    made.waits_and_flows(around, op_at)
    return Columns(made.arrays, made.names, [*operator_at], [*op_at])


def _of_rows(linked: Linked) -> Columns:
    operators, ops = cast("Operators", linked.operators), cast("DeviceOps", linked.device_ops)
    common = operators.common
    made = _Columns(linked, {*common.names})
    places = np.array([made.name_at[name] for name in common.names], np.uint32)
    start = np.asarray(operators.start)
    arrays = made.arrays
    for kind, rows, kept in (
        ("operator", operators, ("id", "tid", "dur", "parent")),
        ("op", ops, ("id", "device", "stream", "start", "dur", "launch_tid", "launch_start")),
        ("op", ops, ("launch_end", "correlation", "parent", "first", "after")),
    ):
        arrays |= {f"{kind}.{name}": np.asarray(getattr(rows, name)) for name in kept}
    arrays["operator.start"] = np.where(start == NO_TIME, 0, start)
    arrays["operator.name"] = places[np.asarray(operators.name)]
    arrays["operator.flags"] = np.where(start == NO_TIME, 0, _TIMED).astype(np.uint32)
    arrays["operator.flags"] |= _named_flags(operators)
    arrays["op.name"] = places[np.asarray(ops.name)]
    arrays["op.launch_name"] = places[np.asarray(ops.launch_name)]
    communicates = np.array([_COMMUNICATES * (name == "comm") for name in common.names], np.uint32)
    launched = np.asarray(ops.is_launched).astype(np.uint32) * (_HAS_THREAD | _LAUNCHED)
    arrays["op.flags"] = communicates[np.asarray(ops.cat)] | launched
    operator_at, op_at = _Places(operators.id), _Places(ops.id)
    made.waits_and_flows(lambda id: NONE if id is None else operator_at[id], op_at)
    ids = (memoryview(cast(Any, np.array(rows.id))) for rows in (operators, ops))
    return Columns(arrays, made.names, *ids)


def _named_flags(operators: Operators) -> Any:
    """Roots and annotations."""
    common = operators.common
    roots = np.array([_ROOT * (name in ROOT_NAMES) for name in common.names], np.uint32)
    work = np.array([name.startswith(_COLLECTIVES) for name in common.names])
    scopes = [_scope(layout) for layout in common.layouts]
    layouts = np.asarray(common.columns["operator.layout"])
    hole = np.array([hole for hole, _ in scopes], np.int64)[layouts]
    is_user = np.array([is_user for _, is_user in scopes])[layouts]
    numbers = np.asarray(common.columns["operator.numbers"])
    first = np.asarray(common.columns["operator.first"])[:-1].astype(np.int64)
    said = hole >= 0
    is_user[said] = numbers[(first + hole)[said]] == _USER_SCOPE
    names = np.asarray(operators.name)
    return roots[names] | np.where(is_user & ~work[names], _ANNOTATION, 0).astype(np.uint32)


def _scope(layout: Layout) -> tuple[int, bool]:
    """Which number of such attributes is the scope, else whether it is a user's."""
    if "scope" not in layout.names:
        return -1, False
    at = layout.names.index("scope")
    hole = layout.holes.index(at) if at in layout.holes else -1
    return hole, bool(layout.values[at] == _USER_SCOPE)


class _Places:
    """Places of ascending ids."""

    def __init__(self, ids: memoryview) -> None:
        self._ids = ids

    def __getitem__(self, id: int) -> int:
        return bisect_left(self._ids, id)


class _Columns:
    def __init__(self, linked: Linked, names: set[str]) -> None:
        self.arrays: dict[str, Any] = {}
        self.names = sorted({DELAY, *names, *(wait.name for wait in linked.waits)})
        self.name_at = {name: place for place, name in enumerate(self.names)}
        self._linked = linked

    def waits_and_flows(self, around: Callable[[int | None], int], op_at: Any) -> None:
        waits, flows = self._linked.waits, self._linked.flows
        name_at = self.name_at
        self.of("wait", waits, tid=lambda wait: wait.tid, start=lambda wait: wait.start_ns)
        self.of("wait", waits, dur=lambda wait: wait.dur_ns)
        self.places("wait", waits, op=lambda wait: around(wait.op))
        self.places("wait", waits, name=lambda wait: name_at[wait.name])
        self.lists("wait", waits, op_at)
        self.places("flow", flows, source=lambda flow: around(flow.source))
        self.places("flow", flows, target=lambda flow: around(flow.target))
        self.places("flow", flows, kind=lambda flow: _KINDS.get(flow.kind, len(_KINDS)))

    def of(self, kind: str, values: list[Any], /, **columns: Callable[[Any], int]) -> None:
        self._add(np.int64, kind, values, columns)

    def places(self, kind: str, values: list[Any], /, **columns: Callable[[Any], int]) -> None:
        self._add(np.uint32, kind, values, columns)

    def lists(self, kind: str, values: list[Any], at: Any) -> None:
        """What each waits for, behind one another, and where each begins."""
        sizes = np.fromiter((len(one.after) for one in values), np.uint32, len(values))
        ends = np.cumsum(sizes, dtype=np.uint32)
        self.arrays[f"{kind}.first"] = np.concatenate((np.zeros(1, np.uint32), ends))
        after: Iterable[int] = (at[other] for one in values for other in one.after)
        self.arrays[f"{kind}.after"] = np.fromiter(after, np.uint32)

    def _add(
        self, type: Any, kind: str, values: list[Any], columns: dict[str, Callable[[Any], int]]
    ) -> None:
        for name, of in columns.items():
            self.arrays[f"{kind}.{name}"] = np.fromiter(map(of, values), type, len(values))


def _fits(number: int) -> bool:
    return -_INT64 <= number < _INT64


def _flags(operator: Operator) -> int:
    flags = 0 if operator.start_ns is None else _TIMED
    if operator.name in ROOT_NAMES:
        flags |= _ROOT
    # Collectives ("gloo:all_reduce") are work.
    if not operator.name.startswith(_COLLECTIVES) and operator.attr("scope") == _USER_SCOPE:
        flags |= _ANNOTATION
    return flags


def _op_flags(op: DeviceOp) -> int:
    flags = _COMMUNICATES if op.cat == "comm" else 0
    if op.launch_tid is not None:
        flags |= _HAS_THREAD
        if op.launch_start_ns is not None and op.launch_end_ns is not None:
            flags |= _LAUNCHED
    return flags
