"""How deep the lists and objects of a JSON text are inside each other, before anything reads it.

What reads a tree, writes or compares it calls itself once a level, and the depth at which that ends
differs between interpreters. Pairs of brackets that hold nothing are taken out again and again: a
round is a search by the C library, so this costs a few percent of reading.
"""

from __future__ import annotations

from yantra.base import bounds

_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_ONE_KIND = bytes.maketrans(b"{}", b"[]")  # what does not match is a mistake that others find
_LONG = 1 << 20  # bytes; of more, brackets in texts are believed to pair as all others do
_TEXT = rb'"[^"\\]*(?:\\.[^"\\]*)*"'


def is_too_deep(text: str | bytes) -> bool:
    """Return whether a JSON text has more levels than a reader takes; texts in it do not count."""
    most = bounds.of(len(text)).depth_of_json
    data = text.encode(errors="replace") if isinstance(text, str) else text
    if len(data) > _LONG and not _left(data, most):
        return False
    import re

    left = _left(re.sub(_TEXT, b"", data, flags=re.DOTALL), most)
    return b"[]" in left or len(left) - len(left.lstrip(b"[")) > most


def too_deep_at(text: str) -> int | None:
    """Return where the first bracket is that opens one level too many; None if none does."""
    if not is_too_deep(text):
        return None
    import re

    depth, most = 0, bounds.of(len(text)).depth_of_json
    for found in re.finditer(_TEXT.decode() + r"|[\[\]{}]", text, flags=re.DOTALL):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth > most:
            return found.start()
    return 0  # brackets that do not match


def _left(data: bytes, rounds: int) -> bytes:
    """Return the brackets of data that so many rounds leave, all as if of one kind."""
    left = data.translate(_ONE_KIND, _NOT_BRACKETS)
    for _ in range(rounds):
        size = len(left)
        left = left.replace(b"[]", b"")
        if len(left) == size:
            break
    return left
