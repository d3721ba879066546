"""What disturbs a run: parts that fail or slow down, and background traffic."""

from __future__ import annotations

from typing import Any

from yantra.base.plugin_files import Named
from yantra.base.records import Record


class Failure(Record):
    """Something that fails or slows down; times in ns from the run's start.

    One of: `switch`, a device of the fabric or a tier, with all its links; `nic`, links of some
    ranks, all or those to the device `to`; `link`, cables between two devices or tiers; `ranks`,
    which compute `slower` times as slow. It begins at `at_ns`, or repeatedly, with `mean_ns` of use
    between failures of each part. It lasts `for_ns`, None to the end, `times` times, every
    `every_ns`. Links keep a share of their rate, 0 if down.
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
    """Flows of a generator of `yantra.network.traffic`, or of a file, on the network.

    `options` are (field, value) pairs of the generator's record; for `file` ("path", ...). They are
    between `hosts`, numbered as in that list; None: all of the fabric, else all ranks. They begin
    at `at_ns`, `times` times every `every_ns`, with increasing seeds.
    """

    kind: Named
    options: tuple[tuple[str, Any], ...] = ()
    hosts: tuple[int, ...] | None = None
    at_ns: int = 0
    every_ns: int | None = None
    times: int = 1
    seed: int = 0
