"""Why ASTRA-sim stops at a job: a known end, and a feature that leads to it
(docs/concepts/quirks.md).
"""

from __future__ import annotations

import re
from typing import NamedTuple

ANY = frozenset({"*"})


class Reason(NamedTuple):
    said: str
    features: frozenset[str]
    at_start: bool = False


def _of(*features: str) -> frozenset[str]:
    return frozenset(features)


_CORRUPTS = _of("a window", "a shared bus", "a group", "doubleBinaryTree", "remote memory")
STOPS = (
    Reason("No dependancy free nodes found", _of("an empty rank")),
    Reason("get_event_time\\(\\) > current_time", ANY, at_start=True),
    Reason("event_time_ns >= event_queue", _of("a shared bus", "gigabytes")),
    Reason("chunk_size > 0", _of("a size below its chunks", "gigabytes")),
    Reason("!connected\\(id\\)", _of("a ring of two")),
    Reason("tag >= 0", _of("large tags")),
    Reason("get_operator_type", _of("the CPU", "metadata", "remote memory")),
    Reason("status 0: .*Exiting", _of("a group, then all ranks", "five dimensions")),
    Reason("status 0: .*Exiting", _of("a size below its chunks", "the CPU", "metadata")),
    Reason("status -(6|11):", _CORRUPTS),
)
"""Ends of ASTRA-sim; the first whose text and features fit counts."""

REFUSALS = (
    Reason("needs a power of two positions", _of("doubleBinaryTree", "halvingDoubling")),
    Reason("power of two", _of("halvingDoubling")),
    Reason("in the 32 bits that ASTRA-sim keeps of it", _of("gigabytes")),
    Reason("selects no dimension", _of("involved_dim")),
    Reason(
        "ASTRA-sim hangs here, too, by its quirk",
        _of("several dimensions", "several queues", "a group"),
    ),
    Reason("deadlock", _of("a group", "halvingDoubling", "a size below its chunks")),
    Reason("error: .*(2\\^63|longer than|lasts at most)", _of("gigabytes")),
)
"""What Yantra refuses with a reason."""


def why_theirs_stops(said: str, features: frozenset[str], finished: int) -> Reason | None:
    return _found(STOPS, said, features, finished)


def why_ours_refuses(told: str, features: frozenset[str]) -> Reason | None:
    return _found(REFUSALS, told, features, 0)


def _found(
    reasons: tuple[Reason, ...], text: str, features: frozenset[str], finished: int
) -> Reason | None:
    for reason in reasons:
        fits = reason.features is ANY or not reason.features.isdisjoint(features)
        if fits and re.search(reason.said, text, re.DOTALL) and not (reason.at_start and finished):
            return reason
    return None
