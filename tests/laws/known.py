"""Laws that are known not to hold, each with a case that breaks it."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    law: str
    network: str
    seed: int
    why: str


ORDER = "packets of one tick go in an order of what ranks do in the whole job"
"""So numbers of ranks decide nothing: two ranks with one past may differ in what comes alone."""

KNOWN: tuple[Known, ...] = (Known("later", "packet", 500005, ORDER),)
