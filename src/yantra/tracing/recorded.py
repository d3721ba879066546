"""What a replay of a recorded trace does not show by itself: serialised streams, and delays.

A rank of ASTRA-sim has one slot for the CPU and one for kernels. A recording of several threads and
streams takes longer there, by what they did at the same time. And time that nothing recorded
explains is a delay: it takes as long in every what-if. Both follow from the graph and the recorded
durations (`native/accounting/recorded_timeline.hpp`), so they are told before anything runs.
Trade-off: communication counts with its recorded time, and that it has one slot there does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from yantra import _core
from yantra.base.text import count
from yantra.base.units import format_time

WORTH_TELLING = 0.01
"""A replay that is longer by less than this share of the recorded time is not reported."""

MANY_DELAYS = 0.1
"""A share of delays in the recorded time above which a run reports it."""

_NS_PER_US = 1000
_DELAY = "delay"


class Slots(NamedTuple):
    """How many operations of a kind a rank runs at once; 0: any number."""

    cpu: int = 0
    compute: int = 0


ONE_EACH = Slots(1, 1)
"""The slots of a rank of ASTRA-sim."""

ONE_EACH_IN_WORDS = "ASTRA-sim's semantics has one slot for the CPU and one for kernels"


class Recorded(NamedTuple):
    """A recorded trace: its length, its length on few slots, and of its length the delays.

    `overlaps` has, by what overlaps, the microseconds in which two or more are busy, and how many
    are at most.
    """

    length_us: int
    in_slots_us: int
    delay_us: int
    overlaps: dict[str, tuple[int, int]]

    @property
    def times_as_long(self) -> float:
        """How many times the recorded length a replay on the slots takes."""
        return self.in_slots_us / self.length_us if self.length_us else 1.0

    @property
    def is_serialised(self) -> bool:
        """Whether the slots make a replay longer by more than is left untold."""
        return self.times_as_long > 1 + WORTH_TELLING

    @property
    def delay_share(self) -> float:
        """The share of the recorded length that is delays."""
        return self.delay_us / self.length_us if self.length_us else 0.0

    def serialised(self, why: str, remedy: str) -> str:
        """Return in words what the slots do to a replay; `why` names them, `remedy` what helps."""
        took, takes = (format_time(us * _NS_PER_US) for us in (self.length_us, self.in_slots_us))
        return (
            f"{self._busy()}; {why}, and replays one after the other what overlapped: {takes} for "
            f"{took} recorded, {self.times_as_long:.2f} times as long; {remedy}"
        )

    def delayed(self) -> str:
        """Return in words how much of the recording is delays."""
        took = format_time(self.length_us * _NS_PER_US)
        share = f"{self.delay_share * 100:.0f}" if self.delay_share >= 0.01 else "less than 1"
        return (
            f"{share} % of the recorded {took} is delays, constant in every what-if "
            "(`convert pytorch --no-gaps` leaves them out)"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain values for JSON."""
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
    """Kernels that communicate, by their mark or name, and whose size is not known."""

    kernels: int
    us: int
    of_us: int
    example: str

    def in_words(self, counts_as: str) -> str:
        """Return in words what a run makes of them: it `counts_as` communication, or compute."""
        took, of = (format_time(us * _NS_PER_US) for us in (self.us, self.of_us))
        return (
            f"{count(self.kernels, 'kernel')} of communication whose size is not known "
            f"({self.example}): {took} of {of} of kernels; a run counts them as {counts_as} of "
            "their recorded time, on any network"
        )


def unsized(graph: _core.Graph) -> Unsized | None:
    """Return the kernels of a recorded graph that communicate and have no size, None for none."""
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
    """Return what the recorded durations of a graph make of it."""
    found = _core.recorded_timeline(graph, *slots)
    overlaps = {
        "CPU threads": (found.cpu.us, found.cpu.most),
        "streams": (found.compute.us, found.compute.most),
    }
    return Recorded(found.length_us, found.in_slots_us, found.delay_us, overlaps)
