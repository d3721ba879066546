"""A host trace from a device trace alone: who called whom, by the times.

Kineto's operators and ranges nest on their thread as the calls did. Lost: tensor identities, types
in lists, outputs and, without `record_shapes`, all inputs and with them some sizes and FLOPs.

A gloo worker's work goes to the calling thread, as in a host trace, if there is just one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw

from yantra import _core
from yantra.base.documents import json_value
from yantra.tracing.pytorch.calls import sort_of
from yantra.tracing.pytorch.event_columns import NONE, Column, Events, distinct, is_number
from yantra.tracing.pytorch.host import HostTrace
from yantra.tracing.pytorch.host_columns import Nodes, layout_of
from yantra.tracing.pytorch.linked import EMPTY_IO, Attr
from yantra.tracing.pytorch.tensors import dtype_bytes

SCHEMA = "1.1.1-chakra.0.0.4"
_PROCESS, _THREAD = (f"[pytorch|profiler|execution_trace|{what}]" for what in ("process", "thread"))
_USER_SCOPE = 7
_WHOLE = (
    ("rf_id", "uint64"),
    ("fw_parent", "uint64"),
    ("seq_id", "int64"),
    ("scope", "uint64"),
    ("tid", "uint64"),
    ("fw_tid", "uint64"),
)
_ATTRS = [*(Attr(name, kind, 0) for name, kind in _WHOLE), Attr("op_schema", "string", "")]
_EMPTY = bytes(EMPTY_IO)
_WORDS = re.compile(r"\b(?:True|False)\b")
_FRACTION = re.compile(r"(\d)\.(?=[,\]\se]|$)")
_ROOT = 1


def nested(events: Events) -> tuple[HostTrace, Column]:
    """The host trace, and the event of each of its nodes, -1 for roots."""
    external = np.where(events.external == NONE, 0, events.external)
    order = np.lexsort((events.place, external, -events.end, events.start))
    lane = events.tid[order]
    tids, first, thread = np.unique(lane, return_index=True, return_inverse=True)
    rank = np.empty(len(tids), np.int64)
    rank[np.argsort(first)] = np.arange(len(tids))
    roots = len(tids) + 1  # the process and its threads
    thread = _ROOT + 1 + rank[thread]
    called = np.unique(thread[_are(events, order, lambda name: sort_of(name) == "api")])
    if len(called) == 1:  # the thread of all calls of collectives
        thread[_are(events, order, lambda name: name.startswith("gloo:"))] = called[0]
    around = np.asarray(_core.enclosing(events.start[order], events.end[order], lane))
    parent = np.where(around < 0, thread, _ROOT + roots + around)
    seq_id = np.where(events.seq_id == NONE, -1, events.seq_id)[order]
    rf_id = np.where(events.rf_id == NONE, 0, events.rf_id)[order]
    scope = np.where(events.is_of("user_annotation")[order], _USER_SCOPE, 0)
    of_thread = np.arange(_ROOT, _ROOT + roots)
    of_thread[0] = 0
    zeros = np.zeros(roots, np.int64)
    columns: dict[str, Column] = {
        "id": np.arange(_ROOT, _ROOT + roots + len(order)),
        "parent": np.concatenate([zeros + _ROOT, parent]),
        "rf_id": np.concatenate([zeros, rf_id]),
        "seq_id": np.concatenate([zeros - 1, seq_id]),
        "scope": np.concatenate([zeros + _USER_SCOPE, scope]),
        "tid": np.concatenate([of_thread, thread]),
    }
    names = distinct([*events.texts, _PROCESS, _THREAD], np.arange(len(events.texts) + 2))
    texts, places = names
    own = np.full(roots, places[-1])
    own[0] = places[-2]
    columns["name"] = np.concatenate([own, places[events.name[order]]]).astype(np.uint32)
    nodes = _nodes(columns, texts, events, order)
    found = np.concatenate([zeros - 1, order])
    pids = events.pid[order]
    pid = pids[is_number(pids)][:1].tolist()
    return HostTrace(SCHEMA, pid[0] if pid else 0, "", 0, 0, nodes), found


def _are(events: Events, order: Column, holds: Callable[[str], bool]) -> Column:
    return events.named(holds)[order]


def _nodes(columns: dict[str, Column], texts: list[str], events: Events, order: Column) -> Nodes:
    layout, said = layout_of(_ATTRS)
    count = len(columns["id"])
    zeros = np.zeros(count, np.int64)
    named = {**columns, "fw_parent": zeros, "fw_tid": zeros}
    numbers = np.stack([named[name] for name, _ in _WHOLE], axis=1)
    made = [_EMPTY, *(_inputs(shapes) for shapes in events.inputs)]
    tensors, places = distinct(made, np.arange(len(made), dtype=np.uint32))
    inputs = np.zeros(count, np.uint32)
    if len(events.shapes):
        inputs[count - len(order) :] = places[1 + events.shapes[order]]
    roots = count - len(order)
    columns["tid"][:roots] = columns["scope"][:roots] = 0  # in their attributes only
    columns |= {
        "fw_tid": zeros,
        "layout": np.zeros(count, np.uint32),
        "inputs": inputs,
        "outputs": np.zeros(count, np.uint32),
        "numbers": numbers.reshape(-1),
        "first": np.arange(count, dtype=np.uint64) * np.uint64(len(said)),
    }
    return Nodes(columns, texts, [layout], tensors)


def _inputs(shapes: bytes) -> bytes:
    dims, types, concrete, strides = (_list(text) for text in shapes.split(b"\0")[:4])
    return bytes(_io(dims, types, concrete, strides))


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
