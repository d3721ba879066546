"""What an engine is to the time of an iteration: numbers, each with its source.

The host schedules, samples, detokenises and streams between iterations. What of it the device
waits for is a time of an iteration, and of each sequence and new token in it. Trade-off: one number
a term, whatever the host's processor is.
"""

from __future__ import annotations

from typing import NamedTuple

from yantra.base.records import Record
from yantra.fabric.clusters.types import Number


class Host(NamedTuple):
    """Nanoseconds that a device waits for its host in an iteration."""

    ns_per_iteration: float = 0.0
    ns_per_sequence: float = 0.0
    ns_per_token: float = 0.0


class Power(NamedTuple):
    """Watts of a device: `idle` + joules for each byte of memory and each operation.

    Where `is_stated` is false these are of another class of devices, scaled.
    """

    idle_w: float
    joules_per_byte: float
    joules_per_flop: float

    def watts(self, bytes_per_s: float, flops_per_s: float) -> float:
        """The power at these rates."""
        moved = self.joules_per_byte * bytes_per_s
        return self.idle_w + moved + self.joules_per_flop * flops_per_s


class Engine(Record):
    """An engine and its version.

    `kernels` names the framework whose measured kernels it runs, empty for the fastest.
    `interval` is the half-width of 90 % of iterations, as a logarithm.
    """

    name: str
    title: str
    version: str
    kernels: str
    iteration: Number
    sequence: Number
    token: Number
    interval: Number
    sources: tuple[tuple[str, str], ...]

    @property
    def host(self) -> Host:
        """What the host adds to an iteration."""
        return Host(self.iteration.value, self.sequence.value, self.token.value)
