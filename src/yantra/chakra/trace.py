"""`Trace`: one rank's Chakra trace, as immutable columns in the core; node objects are made on
demand.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from yantra import _core
from yantra.base.errors import TraceError, did_you_mean
from yantra.chakra import files
from yantra.chakra.graphs import not_a_trace
from yantra.chakra.schema import (
    Attribute,
    IOInfo,
    Kind,
    Metadata,
    Node,
    NodeType,
    checked_text,
    whole_number,
)
from yantra.chakra.versions import stated_version, tell_if_newer

_UINT64 = 2**64 - 1
_INT32 = 2**31 - 1
_ZEROS = 64  # bytes; fewer may be nodes without a field


class Trace:
    """Nodes of a rank, in file order.

    `len(trace)`, `trace[position]` and iteration give nodes, `trace.node(id)` one by id. Equal if
    their files would be.
    """

    __slots__ = ("__weakref__", "_digest", "native")

    def __init__(self, nodes: Iterable[Node] = (), metadata: Metadata | None = None) -> None:
        recorder = _core.TraceRecorder()
        about = metadata or Metadata()
        for item in about.attributes:
            recorder.attribute(item.name, item.kind, item.value, item.doc)
        _record_foreign(recorder, about.foreign, "metadata")
        recorder.end_metadata(checked_text("metadata", "version", about.version))
        for node in nodes:
            _record(recorder, node)
        self.native = recorder.finish()
        """The core's trace."""
        self._digest: int | None = None

    @classmethod
    def from_bytes(cls, data: bytes, where: str = "trace", layout: str | None = None) -> Trace:
        """Decode a trace file's content; `where` begins errors.

        .et, jsonizer text or a v1 JSON workload, plain or gzip.
        """
        return cls.from_native(decode(files.unpack(data, where), where, layout))

    @classmethod
    def from_native(cls, native: _core.Trace) -> Trace:
        """Take over a `TraceRecorder`'s result, without `Node` objects."""
        trace = cls.__new__(cls)
        trace.native = native
        trace._digest = None
        return trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Trace.from_bytes, (self.to_bytes(),)

    @property
    def metadata(self) -> Metadata:
        """The trace about itself."""
        return metadata_of(self.native)

    @property
    def layout(self) -> str:
        """Layout of the file, one of `LAYOUTS`.

        Nodes have today's meaning; `to_bytes` writes 0.0.4.
        """
        return self.native.layout

    def node(self, id: int) -> Node:
        """Node `id`; the last one if repeated."""
        ids = self.native.id
        for position in range(len(ids) - 1, -1, -1):
            if ids[position] == id:
                return self[position]
        raise TraceError(f"node {id}: the trace has no node of this id")

    def to_bytes(self) -> bytes:
        """Unpacked .et content; equal for equal traces."""
        return self.native.encode()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write to `path`, packed if the name ends in `.gz`."""
        files.save(self.to_bytes(), path)

    def graph(self, *, merge_duplicates: bool = False, kernels: bool = False) -> _core.Graph:
        """Resolve dependencies into the simulated form; `diagnostics` has what is wrong.

        Nodes of one id are merged (the last body, all dependencies), an error unless
        `merge_duplicates`. `kernels` keeps what compute models need: operator classes, types and
        shapes.
        """
        return self.native.graph(merge_duplicates, kernels)

    def __len__(self) -> int:
        return len(self.native)

    def __getitem__(self, position: int) -> Node:
        count = len(self.native)
        if not -count <= position < count:
            raise IndexError(f"the trace has {count} nodes, there is no position {position}")
        return _node(self.native, position % count)

    def __iter__(self) -> Iterator[Node]:
        return (_node(self.native, position) for position in range(len(self.native)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return self is other or self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        if self._digest is None:
            self._digest = hash(self.to_bytes())
        return self._digest

    def __repr__(self) -> str:
        counts = Counter(self.native.type)
        parts = ", ".join(f"{counts[kind]} {_type_name(kind)}" for kind in sorted(counts))
        return f"<Trace of {len(self)} nodes{': ' + parts if parts else ''}>"


def metadata_of(native: _core.Trace) -> Metadata:
    attributes = tuple(_attributes(native.metadata))
    return Metadata(native.version, attributes, native.metadata_foreign)


def read(source: str | os.PathLike[str] | bytes, *, layout: str | None = None) -> Trace:
    """Read a Chakra trace from a file or its content.

    .et of any layout and JSON, plain or gzip, by content, not name. Only the few .et files that fit
    two layouts (`LAYOUTS`) with different meanings need `layout`.
    """
    if isinstance(source, bytes):
        return Trace.from_bytes(source, layout=layout)
    return Trace.from_bytes(files.load(source), os.fspath(source), layout)


def upgrade(
    source: str | os.PathLike[str] | bytes,
    path: str | os.PathLike[str],
    *,
    layout: str | None = None,
) -> Trace:
    """Read any form and layout, write today's to `path`; return it."""
    trace = read(source, layout=layout)
    trace.write(path)
    return trace


LAYOUTS = {
    "0.0.1": "January 2023, one field for every property",
    "0.0.2": "June 2023, attributes",
    "0.0.3a": "July 2023, metadata nodes and bools",
    "0.0.3": "August 2023, unsigned integers",
    "0.0.4a": "October 2023, today's but without metadata",
    "0.0.4": "today's",
}
"""Layouts of .et files, oldest first, with their novelties."""


def decode(plain: bytes, where: str, layout: str | None = None) -> _core.Trace:
    if layout is not None and layout not in LAYOUTS:
        hint = did_you_mean(layout, LAYOUTS) or f"; the layouts are {', '.join(LAYOUTS)}"
        raise TraceError(f"{where}: no layout is named {layout}{hint}")
    if layout is None and files.is_json(plain):
        from yantra.chakra.json_reader import decode_json
        from yantra.chakra.other_formats import recognised

        if profiler := recognised(plain, where):
            raise TraceError(f"{where}: {profiler}")
        native = decode_json(plain, where)
        tell_if_newer(native.version, where)
        return native
    tell_if_newer(stated_version(plain), where)
    if len(plain) >= _ZEROS and not plain.strip(b"\0"):
        problem = "holds zeros alone, as a copy that was not finished; copy or record it again"
        raise TraceError(f"{where}: {problem}")
    try:
        return _core.decode_trace(plain, layout or "")
    except _core.TraceFault as fault:
        raise not_a_trace(plain, where, fault) from None


def _record(recorder: _core.TraceRecorder, node: Node) -> None:
    where = node.label
    for item in node.attributes:
        recorder.attribute(item.name, item.kind, item.value, item.doc)
    for is_output, info in enumerate((node.inputs, node.outputs)):
        if info is not None:
            side = "outputs" if is_output else "inputs"
            texts = [
                checked_text(where, f"{side}.{part}", text) for part, text in info._asdict().items()
            ]
            recorder.io(bool(is_output), *texts)
    _record_foreign(recorder, node.foreign, where)
    recorder.node(
        whole_number(where, "id", node.id, 0, _UINT64),
        checked_text(where, "name", node.name),
        whole_number(where, "type", node.type, -_INT32 - 1, _INT32),
        whole_number(where, "start_micros", node.start_micros, 0, _UINT64),
        whole_number(where, "duration_micros", node.duration_micros, 0, _UINT64),
        [whole_number(where, "data_deps", parent, 0, _UINT64) for parent in node.data_deps],
        [whole_number(where, "ctrl_deps", parent, 0, _UINT64) for parent in node.ctrl_deps],
    )


def _record_foreign(recorder: _core.TraceRecorder, fields: bytes, where: str) -> None:
    if fields and not recorder.foreign(fields):
        raise TraceError(f"{where}: foreign: expected whole fields that the schema does not know")


def _node(native: _core.Trace, record: int) -> Node:
    inputs, outputs = native.inputs(record), native.outputs(record)
    return Node(
        native.id[record],
        native.name(record),
        native.type[record],
        native.duration_micros[record],
        native.data_deps(record),
        native.ctrl_deps(record),
        _attributes(native.attributes(record)),
        start_micros=native.start_micros[record],
        inputs=None if inputs is None else IOInfo(*inputs),
        outputs=None if outputs is None else IOInfo(*outputs),
        foreign=native.foreign(record),
    )


def _attributes(rows: list[_core.AttributeRow]) -> Iterator[Attribute]:
    return (Attribute(name, value, Kind(kind), doc) for name, kind, value, doc in rows)


def _type_name(number: int) -> str:
    return NodeType(number).name if number in set(NodeType) else f"type {number}"
