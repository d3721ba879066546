"""Which operators of a trace to replay: the topmost with a schema.

Nodes without a schema (annotations, autograd's functions, threads) are looked through;
communication needs other ranks. A call's time is that of its kernels, else its own.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import DecodeError, Raw, Struct, json, structs

from yantra.base.errors import TraceError
from yantra.chakra.files import load
from yantra.chakra.schema import IOInfo, Node
from yantra.chakra.trace import Trace
from yantra.tracing.pytorch.linked import Linked

COMMUNICATION = ("c10d::", "_c10d_functional::", "_c10d_functional_autograd::", "_dtensor::")
_NAMED_SO = ("record_param_comms", "nccl:", "gloo:")
_OPERATOR = re.compile(r"\w+::\w+")
_USER_SCOPE = 7  # the profiler's number for user ranges


class Io(Struct, gc=False):
    """One side of a call: values, shapes, types and, from 1.1.1, strides."""

    values: list[Any] = []
    shapes: list[Any] = []
    types: list[str] = []
    strides: list[Any] | None = None


class Call(Struct):
    """A trace node for replaying; times in ns, 0 if missing."""

    id: int
    name: str
    schema: str
    parent: int | None
    recorded_ns: int
    inputs: Io
    outputs: Io
    is_range: bool = False  # the user's range, or a root
    is_bare: bool = False  # the profiler's view, without schema and storages

    @property
    def is_communication(self) -> bool:
        return self.schema.startswith(COMMUNICATION) or self.name.startswith(_NAMED_SO)


def read(path: str, device_trace: str | None = None) -> list[Call]:
    """Calls of a host, linked or Chakra trace, in issue order.

    `device_trace` adds a host trace's missing times. Raises TraceError.
    """
    if load(path).lstrip()[:1] != b"{":
        if device_trace is not None:
            raise TraceError(f"{path}: is a Chakra trace, which has its times; leave out the other")
        return list(_of_chakra(path))
    if device_trace is not None:
        from yantra.tracing.pytorch.link import link_files

        return list(_of_linked(link_files(path, device_trace)))
    from yantra.tracing.pytorch import sources

    return list(_of_linked(sources.load(path)))


def named(calls: Iterable[Call]) -> list[Call]:
    """Calls that know their operators by name, where nothing recorded schemas (Kineto alone)."""
    found = list(calls)
    if any(call.schema for call in found):
        return found
    return [
        structs.replace(call, schema=call.name, is_bare=True) if _OPERATOR.fullmatch(call.name)
        else call
        for call in found
    ]  # fmt: skip


def topmost(calls: Iterable[Call]) -> list[Call]:
    found = list(calls)
    by_id = {call.id: call for call in found}
    parents = {call.parent for call in found}
    below: dict[int, bool] = {}  # whether it or one above is called

    def called(id: int | None) -> bool:
        way = []
        while id in by_id and id not in below:
            call = by_id[id]
            way.append(call.id)
            below[call.id] = bool(call.schema) or call.is_communication
            if below[call.id]:
                break
            id = call.parent
        answer = below.get(id, False) if id is not None else False
        below.update(dict.fromkeys(way, answer))
        return answer

    def counts(call: Call) -> bool:
        if call.schema or call.is_communication:
            return True
        return call.id not in parents and not call.is_range

    return [call for call in found if counts(call) and not called(call.parent)]


def _of_linked(linked: Linked) -> Iterator[Call]:
    parents = {operator.id: operator.parent for operator in linked.operators}
    launched = [(op.parent, op.dur_ns) for op in linked.device_ops]
    kernels = _summed(launched, parents)
    for operator in linked.operators:
        yield Call(
            id=operator.id,
            name=operator.name,
            schema=_text(operator.attr("op_schema", "")),
            parent=operator.parent,
            recorded_ns=kernels[operator.id] or operator.dur_ns,
            inputs=_io(operator.inputs),
            outputs=_io(operator.outputs),
            is_range=_is_range(operator.name, operator.attr("scope")),
        )


def _of_chakra(path: str) -> Iterator[Call]:
    operators: list[tuple[Node, dict[str, Any]]] = []
    parents: dict[int, int | None] = {}
    pieces: list[tuple[int | None, int]] = []
    launched: list[tuple[int | None, int]] = []
    for node in Trace.from_bytes(load(path), path):
        facts = {attribute.name: attribute.value for attribute in node.attributes}
        parent = node.ctrl_deps[0] if node.ctrl_deps else None
        exact = facts.get("duration_ns")
        span = exact if isinstance(exact, int) else node.duration_micros * 1000
        if facts.get("is_cpu_op", True):
            parents[node.id] = parent
            pieces.append((node.id, span))
            if "op_schema" in facts:
                operators.append((node, facts))
        else:
            launched.append((parent, span))
    own, kernels = _summed(pieces, parents), _summed(launched, parents)
    for node, facts in operators:
        yield Call(
            id=node.id,
            name=node.name,
            schema=_text(facts["op_schema"]),
            parent=parents[node.id],
            recorded_ns=kernels[node.id] or own[node.id],
            inputs=_io_of_texts(node.inputs),
            outputs=_io_of_texts(node.outputs),
            is_range=_is_range(node.name, facts.get("scope")),
        )


def _summed(
    parts: Iterable[tuple[int | None, int]], parents: Mapping[int, int | None]
) -> Counter[int]:
    total: Counter[int] = Counter()
    for at, span in parts:
        above: set[int] = set()  # against cycles
        while at is not None and at not in above:
            total[at] += span
            above.add(at)
            at = parents.get(at)
    return total


def _is_range(name: str, scope: object) -> bool:
    return scope == _USER_SCOPE or name.startswith(("[pytorch|", "## "))


def _io(raw: Raw) -> Io:
    try:
        return json.decode(raw, type=Io)
    except DecodeError:
        return Io()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _io_of_texts(texts: IOInfo | None) -> Io:
    if texts is None:
        return Io()
    values, shapes, types = (_literal(text) for text in texts)
    return Io(values, shapes, [str(type) for type in types])


def _literal(text: str) -> list[Any]:
    try:
        value = ast.literal_eval(text or "[]")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return value if isinstance(value, list) else []
