"""Traces as the text of upstream's jsonizer, byte for byte.

Source: the protobuf JSON mapping, https://protobuf.dev/programming-guides/json, as Python's
`google.protobuf.json_format` (6.x) writes it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from json.encoder import encode_basestring_ascii
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

from yantra import _core
from yantra.chakra.schema import Kind, NodeType

if TYPE_CHECKING:
    from yantra.chakra.trace import Trace

NODE_TYPES = {int(type): f"{type.name}_NODE" for type in NodeType}
"""Upstream's names of node types."""


def objects(trace: Trace) -> Iterator[str]:
    native = trace.native
    about = [f'  "version": {_text(native.version)}'] if native.version else []
    yield _object(about + _attributes(native.metadata))
    ids, types = native.id, native.type
    starts, durations = native.start_micros, native.duration_micros
    for record in range(len(native)):
        yield _node(native, record, ids[record], types[record], starts[record], durations[record])


def to_json(trace: Trace) -> str:
    """The trace as the jsonizer's text."""
    return "".join(objects(trace))


def write_json(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write the jsonizer's text, packed if the name ends in `.gz`."""
    from yantra.chakra import files

    if os.fspath(path).endswith(".gz"):
        files.save(to_json(trace).encode(), path)
        return
    files.save_text(objects(trace), path)


def _node(
    native: _core.Trace, record: int, id: int, type: int, start_micros: int, duration_micros: int
) -> str:
    members = []
    if id:
        members.append(f'  "id": "{id}"')
    if name := native.name(record):
        members.append(f'  "name": {_text(name)}')
    if type:
        known = NODE_TYPES.get(type)
        members.append(f'  "type": "{known}"' if known else f'  "type": {type}')
    if deps := native.ctrl_deps(record):
        members.append(_ids("ctrlDeps", deps))
    if deps := native.data_deps(record):
        members.append(_ids("dataDeps", deps))
    if start_micros:
        members.append(f'  "startTimeMicros": "{start_micros}"')
    if duration_micros:
        members.append(f'  "durationMicros": "{duration_micros}"')
    if (io := native.inputs(record)) is not None:
        members.append(_io("inputs", io))
    if (io := native.outputs(record)) is not None:
        members.append(_io("outputs", io))
    return _object(members + _attributes(native.attributes(record)))


def _object(members: list[str]) -> str:
    return "{\n" + ",\n".join(members) + "\n}" if members else "{}"


def _ids(name: str, ids: list[int]) -> str:
    lines = '",\n    "'.join(map(str, ids))
    return f'  "{name}": [\n    "{lines}"\n  ]'


def _io(side: str, texts: tuple[str, str, str]) -> str:
    parts = [
        f'    "{name}": {_text(text)}'
        for name, text in zip(("values", "shapes", "types"), texts, strict=True)
        if text
    ]
    inner = "{\n" + ",\n".join(parts) + "\n  }" if parts else "{}"
    return f'  "{side}": {inner}'


def _attributes(rows: list[_core.AttributeRow]) -> list[str]:
    if not rows:
        return []
    return ['  "attr": [\n    ' + ",\n    ".join(map(_attribute, rows)) + "\n  ]"]


def _attribute(row: _core.AttributeRow) -> str:
    name, kind, value, doc = row
    members = []
    if name:
        members.append(f'      "name": {_text(name)}')
    if doc:
        members.append(f'      "docString": {_text(doc)}')
    if kind:
        field, form = _FORMS[kind]
        members.append(f'      "{field}": {form(value)}')
    return "{\n" + ",\n".join(members) + "\n    }" if members else "{}"


def _list_of(form: Callable[[Any], str]) -> Callable[[list[Any]], str]:
    def write(values: list[Any]) -> str:
        if not values:
            return "{}"
        lines = ",\n          ".join(map(form, values))
        return '{\n        "values": [\n          ' + lines + "\n        ]\n      }"

    return write


_text = encode_basestring_ascii


def _number(value: int) -> str:
    return str(value)


def _quoted(value: int) -> str:
    return f'"{value}"'


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _double(value: float) -> str:
    if isfinite(value):
        return repr(value)
    return '"NaN"' if isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'


_FLOAT32 = struct.Struct("<f")


def _float(value: float) -> str:
    if not isfinite(value):
        return _double(value)
    for digits in range(6, 10):
        short = float(f"{value:.{digits}g}")
        try:
            (again,) = _FLOAT32.unpack(_FLOAT32.pack(short))
        except OverflowError:  # rounded past the largest float32
            continue
        if again == value:
            return repr(short)
    return repr(value)


def _bytes(value: bytes) -> str:
    from binascii import b2a_base64

    return '"' + b2a_base64(value, newline=False).decode() + '"'


_SCALAR_FORMS: dict[Kind, Callable[[Any], str]] = {
    Kind.DOUBLE: _double,
    Kind.FLOAT: _float,
    Kind.BOOL: _truth,
    Kind.STRING: _text,
    Kind.BYTES: _bytes,
}


def _forms() -> list[tuple[str, Callable[[Any], str]]]:
    table: list[tuple[str, Callable[[Any], str]]] = [("", _number)] * 33
    for kind in Kind:
        if kind is Kind.NONE:
            continue
        by_width = _quoted if kind.element.name.endswith("64") else _number
        form = _SCALAR_FORMS.get(kind.element, by_width)
        name = kind.element.name.lower()
        table[kind] = (f"{name}List", _list_of(form)) if kind.is_list else (f"{name}Val", form)
    return table


_FORMS = _forms()
