"""PyTorch profiler JSON into typed structs, with errors that name the place.

Some files have non-finite numbers as C++ (`inf`, `-nan`) or Python prints them, control characters
in strings, or names that are not UTF-8. A slower reader then takes such a number as null, such a
byte as the replacement character, and an event without a time as impossible.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from yantra.base.errors import TraceError
from yantra.base.nesting import is_too_deep
from yantra.base.text import count
from yantra.chakra.other_formats import recognised

T = TypeVar("T")

_BOM = b"\xef\xbb\xbf"
# Strings match whole, to keep numbers inside them.
_NOT_FINITE = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"'
    rb"|[-+]?\b(?:inf(?:inity)?|nan(?:\([a-z0-9_]*\))?|1\.#[a-z]+\d*)(?![a-z0-9_])",
    re.IGNORECASE | re.DOTALL,
)
_TIME = re.compile(rb'"(?:ts|dur)"\s*:\s*$')
_LONGEST_KEY = 32
_TRAILING = re.compile(r"trailing characters \(byte (\d+)\)")
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(data: bytes, kind: type[T], where: str, what: str) -> T:
    decoder = msgspec.json.Decoder(kind, strict=False)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        if profiler := recognised(data, where):
            raise TraceError(f"{where}: {profiler}") from None
        raise _misfit(where, what, error) from None
    except _REFUSED as error:
        lenient = strict_json(data, where, what, error)
    try:
        return decoder.decode(lenient)
    except msgspec.ValidationError as error:
        raise _misfit(where, what, error) from None
    except _REFUSED as error:
        raise TraceError(f"{where}: is not JSON: {_reason(error)}; expected {what}") from None


def strict_json(data: bytes, where: str, what: str, first: Exception | None = None) -> bytes:
    if not data.strip():
        raise TraceError(f"{where}: is empty; expected {what}") from None
    if kind := recognised(data, where):
        raise TraceError(f"{where}: {kind}") from None
    mended = _mended(data)
    try:
        msgspec.json.decode(mended)
        return mended
    except _REFUSED as error:
        first = error if first is None or mended != data else first
    if "truncated" in str(first):
        raise TraceError(
            f"{where}: the JSON ends in the middle; expected {what}; the program was probably "
            "stopped before the profiler had finished: record again and let it finish"
        ) from None
    _check_one_text(mended, where, what, first)
    try:
        if is_too_deep(mended):
            raise ValueError("nested too deeply")
        value: Any = json.loads(mended, strict=False)
        return msgspec.json.encode(value)
    except (ValueError, RecursionError, OverflowError, msgspec.MsgspecError) as error:
        raise TraceError(
            f"{where}: is not JSON: {_reason(first) or _reason(error)}; expected {what}"
        ) from None


def _mended(data: bytes) -> bytes:
    data = data.removeprefix(_BOM)
    try:
        data.decode()
    except UnicodeDecodeError:
        data = data.decode(errors="replace").encode()
    return _NOT_FINITE.sub(_as_json, data)


def _as_json(found: re.Match[bytes]) -> bytes:
    if found[0][:1] == b'"':
        return found[0]
    before = found.string[max(0, found.start() - _LONGEST_KEY) : found.start()]
    return b'"nan"' if _TIME.search(before) else b"null"


def _check_one_text(data: bytes, where: str, what: str, first: Exception) -> None:
    texts, begin, second = 1, 0, 0
    problem: Exception | None = first
    while found := _TRAILING.search(str(problem)):
        begin += int(found[1]) - 1  # counted from 1
        if data[begin:].lstrip()[:1] not in (b"{", b"["):
            break
        texts += 1
        second = second or begin + 1
        problem = _problem(data[begin:])
    if texts > 1:
        raise TraceError(
            f"{where}: holds {count(texts, 'JSON text')}, the second from byte {second} on; "
            f"expected one {what}; the recorder was started twice with the same file: record to a "
            "new file each time, or start it once"
        ) from None


def _problem(data: bytes) -> Exception | None:
    try:
        msgspec.json.decode(data)
    except _REFUSED as error:
        return error
    return None


def _misfit(where: str, what: str, error: msgspec.ValidationError) -> TraceError:
    problem, _, place = str(error).partition(" - at ")
    spot = f" at {place.strip('`')}" if place else ""
    return TraceError(f"{where}{spot}: {_lower(problem)}; this is no {what}")


def _reason(error: Exception) -> str:
    return _lower(str(error).removeprefix("JSON is malformed: "))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
