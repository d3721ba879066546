"""Protocol buffers to a dictionary of field names, and back.

Fields present were sent; unknown ones are skipped, as in proto3. Enums are names. 32-bit floats are
the shortest decimal, as in protobuf's JSON: 0.005, not 0.004999999888.

Source: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10
_WIRE_TYPES = {"double": _FIXED64, "float": _FIXED32, "string": _BYTES, "bytes": _BYTES}
_DEEPEST = 32
_UNSPECIFIED = "unspecified"
_SHORTEST, _LONGEST = 6, 9  # decimal digits of a 32-bit float


class WireError(ValueError):
    """Bytes that are no such message; names the field."""


class Field(NamedTuple):
    """A message's field. `kind`: a proto3 type, `enum` or a message."""

    name: str
    number: int
    kind: str
    repeated: bool = False
    names: tuple[tuple[int, str], ...] = ()


Messages = Mapping[str, Mapping[int, Field]]
"""Each message's fields by number."""


def decode(data: bytes, message: str, messages: Messages) -> dict[str, Any]:
    return _decode(data, message, messages, {}, message, _DEEPEST)


def encode(values: Mapping[str, Any], message: str, messages: Messages) -> bytes:
    by_name = {field.name: field for field in messages[message].values()}
    out = bytearray()
    for name, value in values.items():
        if name not in by_name:
            raise WireError(f"{message} has no field {name}")
        field = by_name[name]
        for one in value if field.repeated else (value,):
            out += _field(one, field, messages)
    return bytes(out)


def _decode(
    data: bytes, message: str, messages: Messages, into: dict[str, Any], where: str, depth: int
) -> dict[str, Any]:
    if not depth:
        raise WireError(f"{where}: messages are nested too deeply")
    fields = messages[message]
    for number, wire_type, raw in _fields(data, where):
        field = fields.get(number)
        if field is None:
            continue
        place = f"{where}.{field.name}"
        if field.kind in messages:
            _expect(wire_type, _BYTES, place)
            before = {} if field.repeated else into.get(field.name, {})
            value = _decode(raw, field.kind, messages, before, place, depth - 1)
            _put(into, field, value)
        elif wire_type == _BYTES and field.repeated and _wire_type(field) != _BYTES:
            for one in _packed(raw, field, place):
                _put(into, field, one)
        else:
            _expect(wire_type, _wire_type(field), place)
            _put(into, field, _value(raw, field, place))
    return into


def _put(into: dict[str, Any], field: Field, value: Any) -> None:
    if field.repeated:
        into.setdefault(field.name, []).append(value)
    else:
        into[field.name] = value


def _fields(data: bytes, where: str) -> Iterator[tuple[int, int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at, where)
        number, wire_type = tag >> 3, tag & 7
        if not number:
            raise WireError(f"{where}: has a field with number 0")
        if wire_type == _VARINT:
            value, at = _varint(data, at, where)
            yield number, wire_type, value
            continue
        if wire_type == _BYTES:
            size, at = _varint(data, at, where)
        elif wire_type in (_FIXED32, _FIXED64):
            size = 4 if wire_type == _FIXED32 else 8
        else:
            raise WireError(f"{where}: has a field of wire type {wire_type}, which proto3 lacks")
        if at + size > len(data):
            raise WireError(f"{where}: ends within field {number}")
        yield number, wire_type, data[at : at + size]
        at += size


def _varint(data: bytes, at: int, where: str) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(data):
            raise WireError(f"{where}: ends within a number")
        byte = data[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value & (2**64 - 1), at + place + 1
    raise WireError(f"{where}: has a number of more than {_LONGEST_VARINT} bytes")


def _packed(raw: bytes, field: Field, where: str) -> Iterator[Any]:
    size = {"double": 8, "float": 4}.get(field.kind)
    at = 0
    while at < len(raw):
        if size is None:
            value, at = _varint(raw, at, where)
            yield _value(value, field, where)
        else:
            if at + size > len(raw):
                raise WireError(f"{where}: ends within a number")
            yield _value(raw[at : at + size], field, where)
            at += size


def _wire_type(field: Field) -> int:
    return _WIRE_TYPES.get(field.kind, _VARINT)


def _expect(got: int, expected: int, where: str) -> None:
    if got != expected:
        raise WireError(f"{where}: expected wire type {expected}, got {got}")


def _value(raw: Any, field: Field, where: str) -> Any:
    kind = field.kind
    if kind == "string":
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise WireError(f"{where}: is not UTF-8") from None
    if kind == "bytes":
        return raw
    if kind == "double":
        return struct.unpack("<d", raw)[0]
    if kind == "float":
        return _shortest(raw)
    if kind == "bool":
        return bool(raw)
    if kind == "enum":
        return dict(field.names).get(raw, _UNSPECIFIED if raw == 0 else raw)
    if kind == "uint32":
        return raw & (2**32 - 1)
    if kind == "int32":
        return (raw + 2**31) % 2**32 - 2**31
    return raw - 2**64 if kind == "int64" and raw >= 2**63 else raw


def _shortest(raw: bytes) -> float:
    value: float = struct.unpack("<f", raw)[0]
    for digits in range(_SHORTEST, _LONGEST):
        short = float(f"{value:.{digits}g}")
        if _as_float(short) == raw:
            return short
    return float(f"{value:.{_LONGEST}g}")


def _as_float(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:  # rounded up past the largest
        return b""


def _field(value: Any, field: Field, messages: Messages) -> bytes:
    kind = field.kind
    if kind in messages:
        return _tagged(field, encode(value, kind, messages))
    if kind in ("string", "bytes"):
        return _tagged(field, value.encode() if kind == "string" else bytes(value))
    if kind in ("double", "float"):
        form = "<d" if kind == "double" else "<f"
        return _tag(field, _wire_type(field)) + struct.pack(form, value)
    if kind == "enum":
        value = next((number for number, name in field.names if name == value), 0)
    return _tag(field, _VARINT) + _written(int(value) % 2**64)


def _tagged(field: Field, data: bytes) -> bytes:
    return _tag(field, _BYTES) + _written(len(data)) + data


def _tag(field: Field, wire_type: int) -> bytes:
    return _written(field.number << 3 | wire_type)


def _written(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
