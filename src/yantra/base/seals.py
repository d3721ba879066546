"""Length and digest that end files Yantra reads again, to notice damage.

    a line of a journal   {..., "sealed": {"bytes": 120, "sha256": "ab12..."}}
    a JSON file           the same member, as its last
    a YAML file           # sealed by Yantra: sha256 ab12... of the 120 bytes above

The digest is of the UTF-8 bytes before it, line ends ` `, in a journal after a key, so that
another's lines are noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Literal

State = Literal["whole", "changed", "unsealed"]
"""What a seal says of a text: it is as it was written, it is not, or there is no seal."""

MEMBER = "sealed"
"""The member of JSON that holds the seal."""

_IN_JSON = f'"{MEMBER}": {{"bytes": '
_IN_YAML = "# sealed by Yantra: sha256 "
_MOST_DIGITS = 18


def seal_line(line: str, key: str = "") -> str:
    body = line[:-1]
    return f"{body}, {_member(len(_bytes(body)), _digest(key, body))}}}"


def seal_pieces(pieces: Iterable[str]) -> Iterator[str]:
    digest, length, last = sha256(), 0, ""
    for piece in pieces:
        content = _bytes(last)
        digest.update(content)
        length += len(content)
        if last:
            yield last
        last = piece
    body = last.removesuffix("\n}\n")
    content = _bytes(body)
    digest.update(content)
    yield f"{body},\n  {_member(length + len(content), digest.hexdigest())}\n}}\n"


def seal_yaml(text: str) -> str:
    return f"{text}{_IN_YAML}{_digest('', text)} of the {len(_bytes(text))} bytes above\n"


def state_of_json(text: str, key: str = "") -> State:
    at = text.rfind(_IN_JSON)
    body = text[:at].rstrip(" \n").removesuffix(",") if at >= 0 else ""
    length, comma, digest = text[at + len(_IN_JSON) :].partition(', "sha256": "')
    digest, quote, end = digest.partition('"')
    if at < 0 or not comma or not quote or end.split() not in (["}}"], ["}", "}"]):
        return "unsealed"
    return _state(body, length, digest, key)


def state_of_yaml(text: str) -> State:
    at = text.rfind(_IN_YAML)
    if at < 0 or (at and text[at - 1] != "\n"):
        return "unsealed"
    digest, _, length = text[at + len(_IN_YAML) :].partition(" of the ")
    return _state(text[:at], length.removesuffix("\n").removesuffix(" bytes above"), digest, "")


def _state(body: str, length: str, digest: str, key: str) -> State:
    is_count = length.isascii() and length.isdigit() and len(length) <= _MOST_DIGITS
    if not is_count or int(length) != len(_bytes(body)):
        return "changed"
    return "whole" if digest == _digest(key, body) else "changed"


def _member(length: int, digest: str) -> str:
    return f'{_IN_JSON}{length}, "sha256": "{digest}"}}'


def _digest(key: str, body: str) -> str:
    return sha256(_bytes(key + body)).hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode(errors="backslashreplace")  # as written
