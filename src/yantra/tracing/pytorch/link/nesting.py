"""A host trace from a device trace alone: who called whom, by the times.

Kineto's operators and ranges nest on their thread as the calls did. Lost: tensor identities, types
in lists, outputs and, without `record_shapes`, all inputs and with them some sizes and FLOPs.

A gloo worker's work goes to the calling thread, as in a host trace, if there is just one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod
from typing import Any

import msgspec
from msgspec import Raw

from yantra.base.documents import json_value
from yantra.tracing.pytorch.calls import sort_of
from yantra.tracing.pytorch.host import HostNode, HostTrace
from yantra.tracing.pytorch.kineto import Event, KinetoTrace, ShapedArgs
from yantra.tracing.pytorch.link.threads import encloses
from yantra.tracing.pytorch.linked import EMPTY_IO, Attr
from yantra.tracing.pytorch.tensors import dtype_bytes

SCHEMA = "1.1.1-chakra.0.0.4"
_PROCESS, _THREAD = (f"[pytorch|profiler|execution_trace|{what}]" for what in ("process", "thread"))
_USER_SCOPE = 7
_WORDS = re.compile(r"\b(?:True|False)\b")
_FRACTION = re.compile(r"(\d)\.(?=[,\]\se]|$)")
_ROOT = 1


def nested(trace: KinetoTrace) -> tuple[HostTrace, list[Event | None]]:
    events = sorted(trace.cpu, key=_order)
    threads = {tid: number for number, tid in enumerate(_threads(events), _ROOT + 1)}
    nodes = [_root(_ROOT, _PROCESS, 0)]
    nodes += [_root(number, _THREAD, number) for number in threads.values()]
    found: list[Event | None] = [None] * len(nodes)
    caller = _caller(events)
    inputs = _Inputs()
    stacks: dict[Any, list[tuple[Event, int]]] = {tid: [] for tid in threads}
    for id, event in enumerate(events, len(nodes) + 1):
        tid = event.tid if caller is None or not _is_work(event) else caller
        stack = stacks[event.tid]
        while stack and not encloses(stack[-1][0], event):
            stack.pop()
        parent = stack[-1][1] if stack else threads[tid]
        stack.append((event, id))
        nodes.append(_node(id, event, parent, threads[tid], inputs))
        found.append(event)
    pid = next((event.pid for event in events if isinstance(event.pid, int)), 0)
    return HostTrace(SCHEMA, pid, "", 0, 0, nodes), found


def _order(event: Event) -> tuple[int, int, int, int]:
    # A caller sorts before what it called, also at equal times.
    return event.start, -event.end, event.detail.external_id or 0, event.index


def _threads(events: Iterable[Event]) -> Iterable[Any]:
    return dict.fromkeys(event.tid for event in events)


def _caller(events: Iterable[Event]) -> Any:
    # The thread of all calls of collectives, None if several.
    threads = {event.tid for event in events if sort_of(event.name or "") == "api"}
    return threads.pop() if len(threads) == 1 else None


def _is_work(event: Event) -> bool:
    return (event.name or "").startswith("gloo:")


def _root(id: int, name: str, thread: int) -> HostNode:
    return HostNode(id, name, _ROOT, _attrs(0, -1, _USER_SCOPE, thread), EMPTY_IO, EMPTY_IO)


def _node(id: int, event: Event, parent: int, thread: int, inputs: _Inputs) -> HostNode:
    detail = event.detail
    scope = _USER_SCOPE if event.cat == "user_annotation" else 0
    seq_id = -1 if detail.seq_id is None else detail.seq_id
    rf_id = detail.rf_id or 0
    return HostNode(
        id=id,
        name=event.name or "",
        parent=parent,
        attrs=_attrs(rf_id, seq_id, scope, thread),
        inputs=inputs.of(detail) if isinstance(detail, ShapedArgs) else EMPTY_IO,
        outputs=EMPTY_IO,
        rf_id=rf_id,
        tid=thread,
        seq_id=seq_id,
        scope=scope,
    )


def _attrs(rf_id: int, seq_id: int, scope: int, thread: int) -> list[Attr]:
    return [
        Attr("rf_id", "uint64", rf_id),
        Attr("fw_parent", "uint64", 0),
        Attr("seq_id", "int64", seq_id),
        Attr("scope", "uint64", scope),
        Attr("tid", "uint64", thread),
        Attr("fw_tid", "uint64", 0),
        Attr("op_schema", "string", ""),
    ]


class _Inputs:
    def __init__(self) -> None:
        self._known: dict[tuple[bytes, bytes, bytes, bytes], Raw] = {}

    def of(self, args: ShapedArgs) -> Raw:
        key = bytes(args.dims), bytes(args.types), bytes(args.concrete), bytes(args.strides)
        made = self._known.get(key)
        if made is None:
            made = self._known[key] = _io(*(_list(text) for text in key))
        return made


def _list(text: bytes) -> list[Any]:
    value = msgspec.json.decode(text)
    return value if isinstance(value, list) else []


def _io(dims: list[Any], types: list[Any], concrete: list[Any], strides: list[Any]) -> Raw:
    if not types:
        return EMPTY_IO
    values, shapes, kinds = [], [], []
    for place, type in enumerate(types):
        shape = dims[place] if place < len(dims) else []
        text = concrete[place] if place < len(concrete) else ""
        value, kind = _value(shape, str(type), str(text))
        values.append(value)
        shapes.append(shape)
        kinds.append(kind)
    form = {"values": values, "shapes": shapes, "types": kinds}
    return Raw(msgspec.json.encode(form | ({"strides": strides} if strides else {})))


def _value(shape: Any, type: str, text: str) -> tuple[Any, str]:
    width = dtype_bytes(type)
    if width is not None and _is_shape(shape):
        return _tensor(shape, width), f"Tensor({type})"
    if type == "TensorList" and isinstance(shape, list):
        found = [_tensor(part, 0) for part in shape if _is_shape(part)]  # of unknown width
        return found, f"GenericList[{','.join(['Tensor()'] * len(found))}]"
    return _plain(text), type


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and all(isinstance(size, int) for size in shape)


def _tensor(shape: list[int], width: int) -> list[Any]:
    return [0, 0, 0, prod(shape), width, ""]


def _plain(text: str) -> Any:
    """The value of a text in Python's form, such as `0.` or `[True, False]`."""
    if not text:
        return None
    said = _FRACTION.sub(r"\1.0", _WORDS.sub(lambda word: word[0].lower(), text))
    try:
        return json_value(said)
    except ValueError:
        return text
