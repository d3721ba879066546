"""When replicas come and go: `2 to 8, waiting 4, delay 60 s, idle 300 s`."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from yantra.base.errors import ConfigError, expected_got
from yantra.base.units import parse

_RANGE = re.compile(r"(\d{1,6})\s+to\s+(\d{1,6})")
_FORM = "such as '2 to 8, waiting 4, delay 60 s, idle 300 s'"
_PS = 1e12


class Scaling(NamedTuple):
    """Between `least` and `most` replicas: one more while over `waiting` requests wait for each.

    It is there `delay_s` later, and goes when it had nothing to do for `idle_s` (None: never).
    """

    least: int
    most: int
    waiting: float = 1.0
    delay_s: float = 0.0
    idle_s: float | None = None

    @classmethod
    def of(cls, text: str, where: str) -> Scaling:
        """Read the text form. Raises ConfigError at `where`."""
        first, *others = (part.strip() for part in text.split(","))
        match = _RANGE.fullmatch(first)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise ConfigError(where, expected_got(f"replicas {_FORM}", text))
        found: dict[str, float] = {}
        for other in others:
            name, _, value = other.partition(" ")
            if name == "waiting":
                found["waiting"] = _number(value, where, text)
            elif name in ("delay", "idle"):
                found[f"{name}_s"] = parse(value.strip(), "time", "s", where)
            else:
                raise ConfigError(where, expected_got(_FORM, text))
        return cls(int(match[1]), int(match[2]), **found)

    def give(self, core: Any, role: str) -> None:
        """Let replicas of a role of a fleet come and go."""
        idle = -1 if self.idle_s is None else round(self.idle_s * _PS)
        core.scale(role, self.waiting, round(self.delay_s * _PS), idle, self.least)


def _number(value: str, where: str, text: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise ConfigError(where, expected_got(f"waiting requests above 0, {_FORM}", text))
    return number
