"""A run's failures as values: what, from when to when, and in words."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from yantra.base.units import format_time


class Part(NamedTuple):
    """What fails as one: name, number in its kind, links or rank."""

    name: str
    number: int
    links: tuple[int, ...] = ()
    rank: int = -1


class FailureEvent(NamedTuple):
    """A failure; `until_ns` is infinite if it never ends."""

    what: str
    part: Part
    at_ns: float
    until_ns: float
    keeps: float
    slower: float


class Failures(NamedTuple):
    """Failures up to `known_until_ns`, by time; infinite without rates."""

    events: tuple[FailureEvent, ...] = ()
    known_until_ns: float = inf


NO_FAILURES = Failures()


def in_words(event: FailureEvent) -> str:
    """Such as `spine 1 down from 30.000 us to 80.000 us`."""
    if event.part.rank >= 0:
        how = f"{event.slower:g} times slower"
    else:
        how = "down" if event.keeps == 0.0 else f"at {100 * event.keeps:g} %"
    ends = "" if event.until_ns == inf else f" to {format_time(event.until_ns)}"
    return f"{event.part.name} {how} from {format_time(event.at_ns)}{ends}"
