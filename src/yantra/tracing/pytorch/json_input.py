"""JSON files of the PyTorch profiler into typed structs, with errors that name the place.

PyTorch writes some files that JSON forbids: NaN and Infinity as numbers, and control characters
inside strings. They are read too, on a slower way that is tried only when the strict one fails.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from yantra.base.errors import TraceError

T = TypeVar("T")


def decode(data: bytes, kind: type[T], where: str, what: str) -> T:
    """Decode JSON `data` as `kind`; `what` names what the file should be in errors.

    Raises TraceError with the file, the path inside it and what was expected there.
    """
    decoder = msgspec.json.Decoder(kind, strict=False)
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise _misfit(where, what, error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        lenient = _lenient(data, where, what, error)
    try:
        return decoder.decode(lenient)
    except msgspec.ValidationError as error:
        raise _misfit(where, what, error) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise TraceError(f"{where}: is not JSON: {_reason(error)}; expected {what}") from None


def _misfit(where: str, what: str, error: msgspec.ValidationError) -> TraceError:
    problem, _, place = str(error).partition(" - at ")
    spot = f" at {place.strip('`')}" if place else ""
    return TraceError(f"{where}{spot}: {_lower(problem)}; this is no {what}")


def _lenient(data: bytes, where: str, what: str, first: Exception) -> bytes:
    """Return `data` as strict JSON if Python's more tolerant reader can read it."""
    if not data.strip():
        raise TraceError(f"{where}: is empty; expected {what}") from None
    if "truncated" in str(first):
        raise TraceError(
            f"{where}: the JSON ends in the middle; expected {what}; the program was probably "
            "stopped before the profiler had finished: record again and let it finish"
        ) from None
    import json

    try:
        value: Any = json.loads(data, strict=False)
        return msgspec.json.encode(value)
    except (ValueError, RecursionError, OverflowError, msgspec.MsgspecError) as error:
        raise TraceError(
            f"{where}: is not JSON: {_reason(first) or _reason(error)}; expected {what}"
        ) from None


def _reason(error: Exception) -> str:
    return _lower(str(error).removeprefix("JSON is malformed: "))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
