"""How deep a JSON text nests, before anything reads it,

as recursive readers' limits differ between interpreters. Trade-off: what is no JSON is left to the
parser.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import accumulate

from yantra.base import bounds

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # signed bytes: one level in, one out
_PIECE = 1 << 18
_TEXT = r'"[^"\\]*(?:\\.[^"\\]*)*"'


def is_too_deep(text: str | bytes) -> bool:
    """Return whether a JSON text nests too deeply; brackets in strings do not count."""
    most = bounds.of(len(text)).depth_of_json
    depth = 0
    for brackets in _brackets(text):
        steps = array("b", brackets)
        if depth + len(steps) > most and max(accumulate(steps, initial=depth)) > most:
            return True
        depth += sum(steps)
    return False


def too_deep_at(text: str) -> int | None:
    if not is_too_deep(text):
        return None
    import re

    depth, most = 0, bounds.of(len(text)).depth_of_json
    for found in re.finditer(_TEXT + r"|[\[\]{}]", text, flags=re.DOTALL):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > most:
            return found.start()
    return 0  # brackets that do not match


def _brackets(text: str | bytes) -> Iterator[bytes]:
    inside, escape = False, b""
    for at in range(0, len(text), _PIECE):
        piece = text[at : at + _PIECE]
        data = escape + (piece.encode(errors="replace") if isinstance(piece, str) else piece)
        escape = b""
        if b"\\" in data:
            data = data.replace(b"\\\\", b"")
            if data.endswith(b"\\"):
                escape, data = b"\\", data[:-1]
            data = data.replace(b'\\"', b"")
        parts = data.split(b'"')
        yield b"".join(parts[inside::2]).translate(_STEPS, _NOT_BRACKETS)
        inside ^= len(parts) % 2 == 0
