"""Laws that are known not to hold, each with a case that breaks it.

A line is a law, a network, the seed of a case, and why. The tests hold all other laws on all other
networks, and that each of these cases still breaks its law: when one no longer does, delete its
line.
"""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """The law `law` does not hold on `network`; the case of `seed` breaks it."""

    law: str
    network: str
    seed: int
    why: str


CHUNKS = "a cluster of several levels cuts what stays inside one level in chunks, too"
BARE = "inter_dimension is for bare collectives alone"
FLIGHT = "a send that another message follows never ends"
PORTS = "messages do not share the port of a rank"
MEETINGS = "validate does not ask whether messages and collectives meet"

KNOWN: tuple[Known, ...] = (
    Known("replica", "analytical", 14, CHUNKS),
    Known("replica", "store_and_forward", 192, CHUNKS),
    Known("replica", "flow", 225, CHUNKS),
    Known("replica", "packet", 0, FLIGHT),
    Known("replica", "external", 216, CHUNKS),
    Known("replica", "ideal", 17, CHUNKS),
    Known("idle", "analytical", 101, CHUNKS),
    Known("idle", "store_and_forward", 147, CHUNKS),
    Known("idle", "flow", 82, CHUNKS),
    Known("idle", "packet", 3, FLIGHT),
    Known("idle", "external", 0, CHUNKS),
    Known("idle", "ideal", 16, CHUNKS),
    Known("all", "analytical", 6, BARE),
    Known("all", "store_and_forward", 9, BARE),
    Known("all", "flow", 5, BARE),
    Known("all", "packet", 12, FLIGHT),
    Known("all", "external", 8, BARE),
    Known("all", "ideal", 32, BARE),
    Known("validate", "analytical", 0, MEETINGS),
    Known("validate", "store_and_forward", 1, MEETINGS),
    Known("validate", "flow", 0, MEETINGS),
    Known("validate", "packet", 2, MEETINGS),
    Known("validate", "external", 0, MEETINGS),
    Known("validate", "ideal", 4, MEETINGS),
    Known("parts", "analytical", 36, PORTS),
    Known("rates", "analytical", 41, PORTS),
    Known("bounds", "analytical", 2, PORTS),
    Known("numbers", "packet", 6, FLIGHT),
    Known("units", "packet", 0, FLIGHT),
    Known("parts", "packet", 3, FLIGHT),
    Known("faster", "packet", 4, FLIGHT),
    Known("rates", "packet", 0, FLIGHT),
    Known("bounds", "packet", 3, FLIGHT),
    Known("iterations", "packet", 5, FLIGHT),
    Known("later", "packet", 0, FLIGHT),
    Known("work", "packet", 1, FLIGHT),
    Known("sums", "packet", 0, FLIGHT),
    Known("again", "packet", 1, FLIGHT),
    Known("ends", "packet", 1, FLIGHT),
)
