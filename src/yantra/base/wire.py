"""Reads protobuf's wire format without a schema.

Trade-off: a generator a message, some MB a second, in place of generated code.

Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator

Span = tuple[int, int]
"""Begin and end of a field that holds bytes."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST = 63  # bits before the last group of a varint
_TOP = 1 << 64


class WireError(ValueError):
    """No such message; `at` is the byte."""

    def __init__(self, at: int, problem: str) -> None:
        super().__init__(f"byte {at}: {problem}")
        self.at = at


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The number at `at`, and where it ends."""
    value = shift = 0
    begin = at
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _LONGEST:
            raise WireError(begin, "a number of more than ten bytes")
    raise WireError(begin, "ends inside a field")


def fields(data: bytes, begin: int = 0, end: int = -1) -> Iterator[tuple[int, int, int]]:
    """Yield (number, value, end): for bytes begin and end, for numbers the value and -1.

    Fixed numbers come as unsigned bits. Raises WireError.
    """
    at, end = begin, len(data) if end < 0 else end
    while at < end:
        start = at
        tag = data[at]
        at += 1
        if tag >= 0x80:
            tag, at = varint(data, start, end)
        kind = tag & 7
        if tag < 8:
            raise WireError(start, "a field of the number 0")
        if kind == _BYTES:
            size, at = varint(data, at, end)
            if size > end - at:
                raise WireError(start, "ends inside a field")
            yield tag >> 3, at, at + size
            at += size
        elif kind == _VARINT:
            value, at = varint(data, at, end)
            yield tag >> 3, value, -1
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            if size > end - at:
                raise WireError(start, "ends inside a field")
            yield tag >> 3, int.from_bytes(data[at : at + size], "little"), -1
            at += size
        else:
            raise WireError(start, f"no field is of the kind {kind}")


def numbers(data: bytes, begin: int, end: int) -> list[int]:
    """A repeated number: packed, or one value with `end` -1."""
    if end < 0:
        return [begin]
    found = []
    at = begin
    while at < end:
        value, at = varint(data, at, end)
        found.append(value)
    return found


def signed(value: int) -> int:
    """An int64 from its unsigned bits."""
    value %= _TOP
    return value - _TOP if value >= _TOP >> 1 else value
