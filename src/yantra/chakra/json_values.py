"""JSON values in a row, with line and column of mistakes.

Source: RFC 8259; values without separator are the jsonizer's habit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from yantra.base.bounds import DIGITS
from yantra.base.errors import TraceError, show
from yantra.base.nesting import too_deep_at

_SPACE = re.compile(r"[ \t\r\n]*")

Path = tuple[str | int, ...]


class JsonText:
    """A text of JSON values; `where` is for errors."""

    def __init__(self, data: bytes, where: str) -> None:
        self.where = where
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise TraceError(f"{where}: not UTF-8 text at byte {error.start}") from None
        if (at := too_deep_at(self.text)) is not None:
            line, column = self._place(at)
            raise TraceError(f"{where}, line {line}, column {column}: not JSON: nested too deeply")
        self._decoder = json.JSONDecoder(
            object_pairs_hook=_members, parse_constant=_refuse_constant, parse_int=_whole
        )

    def values(self) -> Iterator[tuple[int, Any]]:
        at = self._after_space(0)
        while at < len(self.text):
            value, end = self._decoded(at)
            yield at, value
            at = self._after_space(end)

    def error(self, begin: int, path: Path, problem: str) -> TraceError:
        at = begin
        for step in path:
            at = self._step(at, step)
        line, column = self._place(at)
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
        about = f"{name.removeprefix('.')}: " if name else ""
        return TraceError(f"{self.where}, line {line}, column {column}: {about}{problem}")

    def _decoded(self, at: int) -> tuple[Any, int]:
        try:
            return self._decoder.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            line, column = self._place(error.pos)
            problem = error.msg[:1].lower() + error.msg[1:]
        except _NotJsonError as error:
            line, column = self._place(at)
            problem = f"in the value that begins here, {error}"
        raise TraceError(f"{self.where}, line {line}, column {column}: not JSON: {problem}")

    def _after_space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def _place(self, at: int) -> tuple[int, int]:
        return self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)

    def _step(self, at: int, step: str | int) -> int:
        here = self._after_space(at + 1)
        for place in range(len(self.text)):
            key: str | int = place
            if isinstance(step, str):
                key, here = scanstring(self.text, here + 1, True)
                here = self._after_space(self._after_space(here) + 1)
            if key == step:
                return here
            _, here = self._decoder.raw_decode(self.text, here)
            here = self._after_space(self._after_space(here) + 1)
        return at


class _NotJsonError(Exception):
    """What Python's decoder takes but JSON does not have."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    seen: set[str] = set()
    twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
    raise _NotJsonError(f"the member {show(twice)} is given twice")


def _refuse_constant(word: str) -> NoReturn:
    raise _NotJsonError(f"{word} is not a JSON value")


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise _NotJsonError(f"a number has {len(digits)} digits")
    return int(digits)
