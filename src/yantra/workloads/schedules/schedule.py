"""What a pipeline schedule is: the order in which each device works on its micro-batches.

A new schedule needs `order`, for one device; where its stages do not lie in a loop it also gives
`stages`, and where it cannot have any number of devices and micro-batches, `limits`. It knows no
time: how long things take, and when they start, is the executor's part.

Letters, as in the papers: p devices, m micro-batches (of one step and one replica), v chunks of
layers per device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import ClassVar, Literal, NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.schedules.limits import counted
from yantra.workloads.schedules.stages import Stages, loop

Kind = Literal["F", "B", "b", "W"]
"""Forward, whole backward, and its two parts: gradient of the input, gradient of the weights."""


class Step(NamedTuple):
    """One pass of one micro-batch through one chunk of a device."""

    kind: Kind
    """Forward, or a part of the backward."""
    microbatch: int
    """The number of the micro-batch, from 0."""
    chunk: int = 0
    """The number of the device's chunk, from 0."""

    def __str__(self) -> str:
        chunk = f".{self.chunk}" if self.chunk else ""
        return f"{self.kind}{self.microbatch}{chunk}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The step itself, as the only one."""
        return (self,)


class Pair(NamedTuple):
    """A forward and a whole backward that overlap: they start together and end together."""

    forward: Step
    """The forward."""
    backward: Step
    """The whole backward that overlaps with it."""

    def __str__(self) -> str:
        return f"{self.forward}&{self.backward}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """Both steps, the forward first."""
        return tuple(self)


def in_turns(forward: Sequence[Step], backward: Sequence[Step], warm_up: int) -> list[Step]:
    """Return `warm_up` forward passes, then one backward for each further forward, then the rest.

    There are as many passes of both kinds.
    """
    alternating = zip(forward[warm_up:], backward, strict=False)
    behind = backward[len(forward) - warm_up :]
    return [*forward[:warm_up], *chain.from_iterable(alternating), *behind]


Action = Step | Pair
Order = tuple[Action, ...]
Orders = tuple[Order, ...]
"""The order of every device."""


class Schedule(ABC):
    """One way to run m micro-batches through p devices.

    `vpp` are the numbers of chunks per device that may be asked for (Megatron's virtual pipeline
    size): None for any from 2. A schedule that always has two chunks takes 1 as "not asked for".
    """

    vpp: ClassVar[tuple[int, ...] | None] = (1,)
    """The numbers of chunks per device that may be asked for; None for any from 2."""

    def __init__(self, name: str = "") -> None:
        self.name = name or type(self).__name__.lower()
        """What texts call it."""

    def requires(self, p: int, m: int, v: int = 1) -> str | None:
        """Return None, or what it needs that p, m and v are not, and the nearest that is.

        The text goes on after the name of the schedule: "needs ..., got ...; the nearest ...".
        """
        for number, what in ((p, "device"), (m, "micro-batch"), (v, "chunk per device")):
            if number < 1:
                return f"needs at least 1 {what}, got {number}; the nearest is 1"
        if self.vpp is None and v == 1:
            return "needs at least 2 chunks per device, got 1; the nearest is 2"
        if self.vpp is not None and v not in self.vpp:
            nearest = self.vpp[-1]
            return (
                f"needs {counted(nearest, 'chunk')} per device, got {v}; the nearest is {nearest}, "
                "and the schedule interleaved takes any number from 2"
            )
        return self.limits(p, m, v)

    def limits(self, p: int, m: int, v: int) -> str | None:
        """Return what `requires` returns, for limits of this schedule's own."""
        return None

    def stages(self, p: int, v: int = 1) -> Stages:
        """Return where the stages lie."""
        return loop(p, v)

    @abstractmethod
    def order(self, device: int, p: int, m: int, v: int) -> Sequence[Action]:
        """Return what one device does, in order; p, m and v are possible ones."""

    def orders(self, p: int, m: int, v: int = 1) -> Orders:
        """Return what every device does; ConfigError if that is impossible."""
        reason = self.requires(p, m, v)
        if reason is not None:
            raise ConfigError("schedule", f"{self.name} {reason}")
        return tuple(tuple(self.order(device, p, m, v)) for device in range(p))
