"""A JSON object whose one large list is decoded in blocks.

A block is cut where an element seems to begin; that the piece before parses as a list proves it, as
none inside a string or bracket does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import IO, Any, NamedTuple, Protocol

import msgspec

from yantra.base.unpacking import Unpacked

Header = dict[str, Any]
REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_BLOCK = 1 << 20
_BETWEEN = re.compile(rb"\}\s*(,)\s*\{\s*$")


class Form(NamedTuple):
    """The list's name, and the key with which an element usually begins."""

    name: str
    first: bytes


class Fed(Protocol):
    def feed(self, elements: bytes, /) -> bool: ...


class InCore:
    """Stands for a decoder: elements go into a reader of the core, and none is left to take."""

    def __init__(self, file: Fed) -> None:
        self._file = file

    def decode(self, elements: bytes | msgspec.Raw) -> list[Any]:
        text = bytes(elements)
        if not text.isascii():
            text.decode()
        if not self._file.feed(text):
            raise msgspec.ValidationError("not of the usual form")
        return []


class Decoder(Protocol):
    def decode(self, elements: bytes | msgspec.Raw, /) -> list[Any]: ...


def texts_of(json: list[bytes]) -> list[str]:
    """What JSON texts without their quotes say. Raises one of `REFUSED`."""
    return [msgspec.json.decode(b'"' + one + b'"', type=str) for one in json]


def read_list(
    file: IO[bytes] | Unpacked,
    form: Form,
    decoder: Decoder,
    take: Callable[[list[Any]], None],
    check: Callable[[Header], None] = lambda header: None,
) -> Header | None:
    """Pass lists of elements to `take`; return the other fields, None if it does not begin so.

    `check` gets the fields before the list, once. Raises one of `REFUSED` where it is no such JSON,
    after any number of elements.
    """
    text = file.read(_BLOCK)
    begin = re.search(rb'"' + form.name.encode() + rb'"\s*:\s*\[', text)
    header = _header(text[: begin.end()], form) if begin else None
    if begin is None or header is None:
        return None
    check(header)
    return header | _blocks(file, text[begin.end() :], form, decoder, take)


def _header(text: bytes, form: Form) -> Header | None:
    try:
        header = msgspec.json.decode(text + b"]}", type=Header)
    except REFUSED:
        return None
    return header if header.pop(form.name, None) == [] else None


def _blocks(
    file: IO[bytes] | Unpacked,
    text: bytes,
    form: Form,
    decoder: Decoder,
    take: Callable[[list[Any]], None],
) -> Header:
    size = _BLOCK
    while block := file.read(size):
        text += block
        size = len(text)
        cut = _last_cut(text, form.first)
        if cut is None or (elements := _decoded(text[:cut], decoder)) is None:
            continue
        take(elements)
        text = text[cut + 1 :]
        size = _BLOCK
    begin = b'{"' + form.name.encode() + b'":['
    tail = msgspec.json.decode(begin + text, type=dict[str, msgspec.Raw])
    take(decoder.decode(tail.pop(form.name)))
    return {name: msgspec.json.decode(value) for name, value in tail.items()}


def _decoded(text: bytes, decoder: Decoder) -> list[Any] | None:
    try:
        return decoder.decode(b"[" + text + b"]")
    except msgspec.ValidationError:
        raise
    except REFUSED:
        return None


def _last_cut(text: bytes, first: bytes) -> int | None:
    end = len(text)
    for _ in range(8):
        end = text.rfind(first, 0, end)
        if end < 0:
            return None
        between = _BETWEEN.search(text, max(0, end - 200), end)
        if between:
            return between.start(1)
    return None
