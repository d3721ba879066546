"""Impossible events: left out of a trace, and counted."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Raw

from yantra.base.text import count

T = TypeVar("T")


class LeftOut:
    """Events of file `where` left out."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.reasons: list[str] = []
        self.indices: list[int] = []

    def add(self, index: int, field: str, reason: str, *, counts: bool = True) -> None:
        """Leave out event `index` for what is wrong with `field`.

        Unless it `counts`, the balance has it otherwise.
        """
        if counts:
            self.indices.append(index)
        self.reasons.append(f"{self.where} at $.traceEvents[{index}]{field}: {reason}")

    def problems(self) -> list[str]:
        if not self.reasons:
            return []
        events = count(len(self.reasons), "impossible event")
        return [f"{events} left out; the first: {self.reasons[0]}"]


def one_by_one(events: list[Raw], kind: type[T], left_out: LeftOut) -> list[T | None]:
    decoder = msgspec.json.Decoder(kind, strict=False)
    found: list[T | None] = []
    for index, raw in enumerate(events):
        try:
            found.append(decoder.decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            found.append(None)
            reason, _, place = str(error).partition(" - at ")
            field = place.strip("`").lstrip("$")
            left_out.add(index, field, reason[:1].lower() + reason[1:])
    return found
