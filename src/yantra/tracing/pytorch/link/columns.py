"""A trace that is being linked, as the columns of a linked trace: ids, and what refers to them."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import numpy as np

from yantra import _core
from yantra.tracing.pytorch.event_columns import NONE, Column, distinct
from yantra.tracing.pytorch.link.operators import Operators
from yantra.tracing.pytorch.link.ops import Ops
from yantra.tracing.pytorch.linked import CommArgs, DeviceOp, Flow, Linked, Operator
from yantra.tracing.pytorch.linked_columns import NONE as NO_PLACE
from yantra.tracing.pytorch.linked_columns import Common, DeviceOps
from yantra.tracing.pytorch.linked_columns import Operators as Rows


def numbered(linked: Linked, operators: Operators, ops: Ops) -> Linked:
    """Number operators, each with its device ops behind it; `linked` takes both.

    Its waits and flows, which name places, then name ids.
    """
    children = np.bincount(ops.parent[ops.parent >= 0], minlength=len(operators))
    before = np.cumsum(children) - children
    of_operator = np.arange(len(operators)) + before
    order = np.argsort(np.where(ops.parent < 0, len(operators), ops.parent), kind="stable")
    behind = np.arange(len(ops)) + np.minimum(ops.parent[order], len(operators)) + 1
    behind[ops.parent[order] < 0] = len(operators) + np.flatnonzero(ops.parent[order] < 0)
    of_op = np.empty(len(ops), np.int64)
    of_op[order] = behind
    for wait in linked.waits:
        wait.op = None if wait.op is None else int(of_operator[wait.op])
        wait.after = of_op[wait.after].tolist() if wait.after else []
    linked.flows = [
        Flow(flow.kind, int(of_operator[flow.source]), int(of_operator[flow.target]))
        for flow in linked.flows
    ]
    common = Common(_file(operators, of_operator, ops, order, of_op))
    linked.operators = cast("list[Operator]", Rows(common))
    linked.device_ops = cast("list[DeviceOp]", DeviceOps(common))
    return linked


def _file(
    operators: Operators, of_operator: Column, ops: Ops, order: Column, of_op: Column
) -> _core.LinkedFile:
    texts = [operators.nodes.names, ops.texts, ops.launch_texts]
    groups: dict[str, int] = {"": 0}
    group = np.zeros(len(ops), np.int64)
    for op, comm in ops.comms.items():
        group[op] = groups.setdefault(comm.group_name, len(groups))
    comms: dict[Any, CommArgs] = dict(ops.comms)
    for op, made in ops.made.items():
        group[op] = groups.setdefault(made.pg_name, len(groups))
        if made.comm is not None:
            comms[op] = made.comm
    texts.append(list(groups))
    starts = np.cumsum([0, *map(len, texts)])
    every = [text for some in texts for text in some]
    names, places = distinct(every, np.arange(len(every), dtype=np.uint32))
    named = [places[starts[at] : starts[at + 1]] for at in range(len(texts))]
    place = np.empty(len(ops), np.int64)
    place[order] = np.arange(len(ops))
    talking = place[np.fromiter(comms, np.int64)]
    encode = msgspec.json.encode
    return _core.linked_of(
        _operators(operators, of_operator, named[0]),
        _ops(ops, order, of_op, place, (named[1], named[2], named[3][group])),
        [encode(name)[1:-1] for name in names],
        operators.nodes.layouts,
        operators.nodes.tensors,
        {at: encode(comm) for at, comm in sorted(operators.comm.items())},
        {at: encode(comms[order[at]]) for at in np.sort(talking).tolist()},
    )


def _operators(operators: Operators, ids: Column, names: Column) -> dict[str, Any]:
    nodes = operators.nodes
    return {
        "id": ids,
        "host_id": nodes.id,
        "tid": operators.tid,
        "start": operators.start,
        "dur": operators.dur,
        "exclusive": operators.exclusive,
        "parent": _places(operators.parent),
        "name": names[nodes.name],
        "layout": nodes.layout,
        "inputs": nodes.inputs,
        "outputs": nodes.outputs,
        "first": nodes.first,
        "numbers": nodes.numbers,
        "holes": nodes.holes,
    }


def _ops(
    ops: Ops, order: Column, ids: Column, place: Column, names: tuple[Column, ...]
) -> dict[str, Any]:
    after, first = ops.awaited()
    counts = np.diff(first)[order]
    ends = np.cumsum(counts)
    moved = np.repeat(first[:-1][order] - (ends - counts), counts) + np.arange(len(after))
    launched = ops.launched[order]
    launch_end = np.where(ops.launch_end == 0, ops.launch_start, ops.launch_end)
    return {
        "id": ids[order],
        "device": ops.device[order],
        "stream": ops.stream[order],
        "start": ops.start[order],
        "dur": (ops.end - ops.start)[order],
        "launch_tid": ops.launch_tid[order],
        "launch_start": ops.launch_start[order],
        "launch_end": launch_end[order],
        "correlation": ops.correlation[order],
        "bytes": np.where(ops.size == NONE, -1, ops.size)[order],
        "parent": _places(ops.parent[order]),
        "name": names[0][ops.name[order]],
        "cat": names[0][ops.cat[order]],
        "launch_name": names[1][ops.launch_name[order]],
        "group": names[2][order],
        "after": place[after[moved]].astype(np.uint32),
        "first": np.concatenate([[0], ends]).astype(np.uint32),
        "is_launched": launched.astype(np.uint8),
    }


def _places(places: Column) -> Column:
    return np.where(places < 0, NO_PLACE, places).astype(np.uint32)
