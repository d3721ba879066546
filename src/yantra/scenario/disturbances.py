"""What may disturb a run: parts of a cluster that fail or are slow, and background traffic."""

from __future__ import annotations

from typing import Any

from yantra.base.plugin_files import Named
from yantra.base.records import Record


class Failure(Record):
    """Something that fails, or is slower for a while; times in ns from the start of the run.

    One of these: `switch`, a device of the fabric or all of a tier by its name, with all its links;
    `nic`, all links of some ranks, or those to the device `to`; `link`, the cables between two
    devices, or of all of two tiers; `ranks`, which compute `slower` times as slow. It begins at
    `at_ns`, or again and again with `mean_ns` of use between failures on average, for each part of
    its own. It lasts `for_ns`, to the end where that is None. It comes `times` times, every
    `every_ns`. Links keep a share of their rate: 0 is down.
    """

    switch: str | None = None
    nic: tuple[int, ...] | None = None
    link: tuple[str, ...] | None = None
    ranks: tuple[int, ...] | None = None
    to: str | None = None
    at_ns: float | None = None
    mean_ns: float | None = None
    for_ns: float | None = None
    every_ns: float | None = None
    times: int = 1
    keeps: float = 0.0
    slower: float | None = None
    seed: int = 0


class BackgroundTraffic(Record):
    """Flows of a generator of `yantra.network.traffic`, or of a file, that share the network.

    `options` are (field, value) pairs of the generator's own record; those of the kind `file` are
    ("path", ...). They are between `hosts`, all if None, numbered as in that list; those of the
    fabric where there is one, else the ranks. They begin at `at_ns`, `times` times every
    `every_ns`, each time with the next seed.
    """

    kind: Named
    options: tuple[tuple[str, Any], ...] = ()
    hosts: tuple[int, ...] | None = None
    at_ns: int = 0
    every_ns: int | None = None
    times: int = 1
    seed: int = 0
