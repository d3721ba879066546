"""What a recorded trace's replay hides: streams serialised on ASTRA-sim's slots, and delays."""

from __future__ import annotations

from typing import Any, NamedTuple

from yantra import _core
from yantra.base.text import count
from yantra.base.units import format_time

WORTH_TELLING = 0.01
"""A longer replay is reported from this share of the recorded time."""

MANY_DELAYS = 0.1
"""Delays are reported above this share of the recorded time."""

_NS_PER_US = 1000
_DELAY = "delay"


class Slots(NamedTuple):
    """Operations of a kind a rank runs at once; 0: any number."""

    cpu: int = 0
    compute: int = 0


ONE_EACH = Slots(1, 1)
"""A rank of ASTRA-sim."""

ONE_EACH_IN_WORDS = "ASTRA-sim's semantics has one slot for the CPU and one for kernels"


class Recorded(NamedTuple):
    """Lengths of a trace as recorded and on few slots, and its delays.

    `overlaps`: by kind, the us in which two or more are busy, and the most at once.
    """

    length_us: int
    in_slots_us: int
    delay_us: int
    overlaps: dict[str, tuple[int, int]]

    @property
    def times_as_long(self) -> float:
        return self.in_slots_us / self.length_us if self.length_us else 1.0

    @property
    def is_serialised(self) -> bool:
        return self.times_as_long > 1 + WORTH_TELLING

    @property
    def delay_share(self) -> float:
        return self.delay_us / self.length_us if self.length_us else 0.0

    def serialised(self, why: str, remedy: str) -> str:
        took, takes = (format_time(us * _NS_PER_US) for us in (self.length_us, self.in_slots_us))
        return (
            f"{self._busy()}; {why}, and replays one after the other what overlapped: {takes} for "
            f"{took} recorded, {self.times_as_long:.2f} times as long; {remedy}"
        )

    def delayed(self) -> str:
        took = format_time(self.length_us * _NS_PER_US)
        share = f"{self.delay_share * 100:.0f}" if self.delay_share >= 0.01 else "less than 1"
        return (
            f"{share} % of the recorded {took} is delays, constant in every what-if "
            "(`convert pytorch --no-gaps` leaves them out)"
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "recorded_us": self.length_us,
            "one_slot_us": self.in_slots_us,
            "delay_us": self.delay_us,
            "delay_share": self.delay_share,
        }

    def _busy(self) -> str:
        parts = [
            f"{lanes} overlap for {format_time(overlap_us * _NS_PER_US)} (up to {most} at once)"
            for lanes, (overlap_us, most) in self.overlaps.items()
            if overlap_us
        ]
        return " and ".join(parts)


class Unsized(NamedTuple):
    """Communicating kernels of unknown size, by mark or name."""

    kernels: int
    us: int
    of_us: int
    example: str

    def in_words(self, counts_as: str) -> str:
        took, of = (format_time(us * _NS_PER_US) for us in (self.us, self.of_us))
        return (
            f"{count(self.kernels, 'kernel')} of communication whose size is not known "
            f"({self.example}): {took} of {of} of kernels; a run counts them as {counts_as} of "
            "their recorded time, on any network"
        )


def unsized(graph: _core.Graph) -> Unsized | None:
    import numpy as np

    from yantra.chakra.schema import NodeType

    kinds, cpu = graph.type, graph.is_cpu_op.value
    durations = graph.duration_micros
    if not len(cpu):
        return None
    places = np.flatnonzero((np.asarray(kinds) == NodeType.COMP) & (np.asarray(cpu) == 0)).tolist()
    places = [place for place in places if graph.name(place) != _DELAY]
    found = [place for place in places if graph.communicates(place)]
    if not found:
        return None
    us = sum(int(durations[place]) for place in found)
    of_us = sum(int(durations[place]) for place in places)
    return Unsized(len(found), us, of_us, graph.name(found[0]).split("(", 1)[0])


def recorded(graph: _core.Graph, slots: Slots = ONE_EACH) -> Recorded:
    found = _core.recorded_timeline(graph, *slots)
    overlaps = {
        "CPU threads": (found.cpu.us, found.cpu.most),
        "streams": (found.compute.us, found.compute.most),
    }
    return Recorded(found.length_us, found.in_slots_us, found.delay_us, overlaps)
