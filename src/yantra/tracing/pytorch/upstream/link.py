"""Upstream's linker for a host and a device trace, byte for byte, in n log n time.

Defects kept: device ops hang on the operator its search finds, not always the one that launched
them; colliding External ids repeat device ops; memory sets are dropped; pauses between threads are
guessed. Its failures are a TraceError, except of its search for synchronisation (no GPU, no
ProfilerStep): then linked without.

Source: MLCommons Chakra 1.0.0 (21585d8), linker of host and device traces.
"""

from __future__ import annotations

import io
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import IO, Any

import msgspec

from yantra.base.errors import TraceError, show
from yantra.base.output import whole_file
from yantra.chakra import files
from yantra.tracing.pytorch.collector import without_collector
from yantra.tracing.pytorch.upstream.critical_path import sync_dependencies
from yantra.tracing.pytorch.upstream.device import (
    CpuOp,
    Device,
    Event,
    read_events,
)

SCHEMAS = (
    "1.0.1",
    *(f"{v}-chakra.0.0.4" for v in ("1.0.2", "1.0.3", "1.0.4", "1.1.0", "1.1.1")),
)

_Document = dict[str, Any]
_BAD_JSON = (msgspec.MsgspecError, ValueError, RecursionError)


class _Attr(msgspec.Struct, gc=False):
    name: str
    value: Any = None


class _Head(msgspec.Struct, gc=False):
    id: int
    ctrl_deps: int | None = None
    parent: int | None = None
    rf_id: Any = None
    attrs: list[_Attr] = []

    def record(self, flat: bool) -> int | None:
        if flat:
            return None if self.rf_id is None else int(self.rf_id)
        values = [attr.value for attr in self.attrs if attr.name == "rf_id"]
        if not values:
            raise ValueError("it has no attribute `rf_id`")
        return int(values[-1])


class _Node(msgspec.Struct, gc=False):
    id: int
    place: int
    op: CpuOp | None
    thread_dep: int | None
    event: Event | None = None


@without_collector
def link_files(
    host: str | os.PathLike[str], device: str | os.PathLike[str], rank: int = 0
) -> bytes:
    """The linked trace of a host and a device trace: JSON, indented by 4.

    `rank` changes nothing, as upstream. Raises TraceError where upstream fails.
    """
    del rank
    out = io.BytesIO()
    _Linker(os.fspath(host), os.fspath(device)).write(out)
    return out.getvalue()


@without_collector
def write_linked(
    host: str | os.PathLike[str], device: str | os.PathLike[str], output: str | os.PathLike[str]
) -> None:
    linker = _Linker(os.fspath(host), os.fspath(device))
    with whole_file(output) as name, open(name, "wb") as out:
        linker.write(out)


class _Linker:
    def __init__(self, host: str, device: str) -> None:
        self.where = host
        self.host = _read_host(host)
        self.heads = [self._head(place) for place in range(len(self.host.nodes))]
        self.new_ids: dict[Any, int] = {}
        self.next_id = 0
        self.waiting_for: dict[Any, list[int]] = {}  # old or new id of an operator: device ops
        events = read_events(device)
        syncs = sync_dependencies(events)
        linked = Device(events, device)
        waiting = _waiting_ops(linked, syncs) if syncs else {}
        nodes = self._numbered(self._matched(linked), linked.gpu_by_parent(), waiting)
        self.out = sorted(nodes, key=_id)

    def _head(self, place: int) -> _Head:
        node = self.host.nodes[place]
        try:
            if isinstance(node, msgspec.Raw):
                try:
                    return _HEADS.decode(node)
                except _BAD_JSON:
                    node = _lenient_json(node)
            return msgspec.convert(node, _Head)
        except _BAD_JSON as error:
            raise TraceError(f"{self.where}: nodes[{place}]: {error}") from None

    def _matched(self, device: Device) -> dict[int, tuple[CpuOp, int | None]]:
        matched: dict[int, tuple[CpuOp, int | None]] = {}
        by_id = {head.id: head for head in self.heads}
        for node_id in self._reachable(by_id):
            op = device.by_record.get(self._record(by_id[node_id]))
            if op is None:
                continue
            op.host = node_id
            before = device.by_record[op.thread_dep].host if op.thread_dep else None
            matched[node_id] = (op, before)
        return matched

    def _record(self, head: _Head) -> int | None:
        try:
            return head.record(self.host.flat)
        except (TypeError, ValueError, OverflowError) as error:
            raise TraceError(f"{self.where}: node {head.id}: {error}") from None

    def _reachable(self, by_id: dict[int, _Head]) -> list[int]:
        if 1 not in by_id:
            raise TraceError(f"{self.where}: no node has id 1; upstream's linker starts there")
        children: dict[Any, list[int]] = {}
        for head in by_id.values():
            if head.id != 1:
                parent = head.parent if self.host.flat else head.ctrl_deps
                children.setdefault(parent, []).append(head.id)
        found = [1]
        for node_id in found:
            found += children.get(node_id, ())
        return sorted(found)

    def _new_id(self, old: Any) -> int:
        if old not in self.new_ids:
            self.new_ids[old] = self.next_id
            self.next_id += 1
        return self.new_ids[old]

    def _numbered(
        self,
        matched: dict[int, tuple[CpuOp, int | None]],
        by_parent: dict[int, list[Event]],
        waiting: dict[int, list[CpuOp]],
    ) -> Iterator[_Node]:
        done: set[int] = set()
        for place in sorted(range(len(self.heads)), key=lambda place: self.heads[place].id):
            old = self.heads[place].id
            new = self._new_id(old)
            if old not in matched:
                yield _Node(new, place, None, None)
                continue
            op, before = matched[old]
            thread_dep = None if before is None else self.new_ids.get(before, before)
            yield _Node(new, place, op, thread_dep)
            if old in done:
                continue
            done.add(old)
            for event in sorted(by_parent.get(op.external, ()), key=_start):
                yield _Node(self.next_id, place, op, thread_dep, event)
                self._note_sync(self.next_id, waiting.get(id(event), ()))
                self.next_id += 1

    def _note_sync(self, device_op: int, waiting: Sequence[CpuOp]) -> None:
        # By the ids upstream has at this moment.
        hosts = [op.host for op in waiting if op.host is not None]
        for target in dict.fromkeys(self.new_ids.get(host, host) for host in hosts):
            self.waiting_for.setdefault(target, []).append(device_op)

    def _syncs_by_id(self) -> dict[int, list[int]]:
        # Upstream looks the ids up a second time.
        return {self.new_ids.get(key, key): ops for key, ops in self.waiting_for.items()}

    def write(self, out: IO[bytes]) -> None:
        self.syncs = self._syncs_by_id()
        opening = b"{"
        for name, value in self.host.fields.items():
            out.write(opening + b"\n    " + _key(name))
            opening = b","
            if name == "nodes":
                self._write_nodes(out)
            else:
                out.write(json.dumps(value, indent=4).encode().replace(b"\n", b"\n    "))
        out.write(b"\n}")

    def _write_nodes(self, out: IO[bytes]) -> None:
        opening = b"["
        for node in self.out:
            out.write(opening + b"\n        ")
            out.write(self._text(node).replace(b"\n", b"\n        "))
            opening = b","
        out.write(b"\n    ]" if self.out else b"[]")

    def _text(self, node: _Node) -> bytes:
        try:
            strict, fields = self.host.node(node.place)
        except _BAD_JSON as error:
            raise TraceError(f"{self.where}: nodes[{node.place}]: {error}") from None
        fields["id"] = node.id
        if node.op is not None:
            fields["inclusive_dur"] = _number(node.op.dur)
            fields["exclusive_dur"] = _number(node.op.exclusive)
            fields["ts"] = _number(node.op.ts)
            fields["inter_thread_dep"] = node.thread_dep
        if node.event is not None:
            _become_device_op(fields, node.event, self.heads[node.place].id)
        if node.id in self.syncs:
            fields["sync_dep"] = self.syncs[node.id]
        if "ctrl_deps" in fields:
            fields["ctrl_deps"] = self._parent(fields["ctrl_deps"])
        return _text(fields, strict)

    def _parent(self, old: Any) -> int:
        known = old in self.new_ids
        new = self._new_id(old)
        if not known and old in self.waiting_for:
            self.syncs = self._syncs_by_id()
        return new


def _become_device_op(fields: _Document, event: Event, parent: int) -> None:
    dur = _number(event.lasts)
    fields["ctrl_deps"] = parent
    fields["cat"] = event.cat
    fields["name"] = event.name
    fields["ph"] = event.ph
    fields["inclusive_dur"] = dur
    fields["exclusive_dur"] = dur
    fields["ts"] = _number(event.start)
    fields["stream"] = event.args.stream
    if "ncclDevKernel" in event.name and event.args.group is not None:
        fields["pg_name"] = event.args.group


def _waiting_ops(device: Device, syncs: dict[Any, list[Any]]) -> dict[int, list[CpuOp]]:
    """Keys are `id()` of events. An External id means the last event that has it."""
    last_with = {event.external: event for event in device.by_time}
    times = [op.ts for op in device.cpu]
    threads: dict[Any, list[Event]] = {}
    for event in device.by_time:
        threads.setdefault(event.tid, []).append(event)
    waiting: dict[int, list[CpuOp]] = {}
    for event in (event for events in threads.values() for event in events):
        for external in syncs.get(event.external, ()):
            place = bisect_right(times, event.start)
            if external in last_with and place < len(times):
                waiting.setdefault(id(last_with[external]), []).append(device.cpu[place])
    return waiting


# Reading and writing JSON


class _Host:
    def __init__(self, fields: _Document, nodes: list[Any]) -> None:
        self.fields = fields
        self.nodes = nodes
        self.flat = fields["schema"] == "1.0.1"

    def node(self, place: int) -> tuple[bool, _Document]:
        node = self.nodes[place]
        if not isinstance(node, msgspec.Raw):
            return False, dict(node)
        try:
            return True, _FIELDS.decode(node)
        except _BAD_JSON:
            return False, _lenient_json(node)


def _text(fields: _Document, strict: bool) -> bytes:
    if strict:
        compact = msgspec.json.encode(fields)
        if compact.isascii() and b"\x7f" not in compact:
            return msgspec.json.format(compact, indent=4)
        fields = json.loads(compact)
    return json.dumps(fields, indent=4, default=_plain).encode()


def _read_host(where: str) -> _Host:
    data = files.load(where)
    nodes: Any
    try:
        raws = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        fields = {name: None if name == "nodes" else json.loads(bytes(raws[name])) for name in raws}
        nodes = msgspec.json.decode(raws.get("nodes", b"null"), type=list[msgspec.Raw] | None)
    except _BAD_JSON:
        try:
            fields = _lenient_json(data)
        except _BAD_JSON as error:
            raise TraceError(f"{where}: not JSON: {error}; expected a host trace") from None
        fields = fields if isinstance(fields, dict) else {}
        nodes = fields.get("nodes")
    if not isinstance(nodes, list) or fields.get("schema") not in SCHEMAS:
        problem = f"schema {show(fields['schema'])}" if "schema" in fields else "no schema"
        raise TraceError(
            f"{where}: {problem if isinstance(nodes, list) else 'no list `nodes`'}; expected a "
            f"host trace of PyTorch's execution trace observer, schema {', '.join(SCHEMAS)}"
        )
    return _Host(fields, nodes)


def _lenient_json(text: Any) -> Any:
    # msgspec refuses NaN, numbers beyond a double and lone surrogates.
    return json.loads(bytes(text))


def _number(value: Any) -> Any:
    # msgspec would write 0.00001 where Python writes 1e-05.
    if type(value) is not float or value == 0 or 1e-4 <= abs(value) < 1e16:
        return value
    return msgspec.Raw(repr(value).encode())


def _plain(value: Any) -> Any:
    return json.loads(bytes(value))


def _key(name: str) -> bytes:
    return json.dumps(name).encode() + b": "


def _id(node: _Node) -> int:
    return node.id


def _start(event: Event) -> int | float:
    return event.start


_HEADS = msgspec.json.Decoder(_Head)
_FIELDS = msgspec.json.Decoder(_Document, float_hook=lambda text: _number(float(text)))
