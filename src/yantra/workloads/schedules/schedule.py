"""A pipeline schedule: the order, without times, in which devices work on micro-batches.

A new schedule gives `order`; also `stages` if not in a loop, and `limits` if some numbers are
impossible. Letters, as in the papers: p devices, m micro-batches (of one step and one replica), v
chunks of layers per device.
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
"""Forward, whole backward, and its parts: gradient of the input, gradient of the weights."""


class Step(NamedTuple):
    """One pass of one micro-batch through one chunk of a device."""

    kind: Kind
    """Forward, or a part of the backward."""
    microbatch: int
    """From 0."""
    chunk: int = 0
    """Of the device, from 0."""

    def __str__(self) -> str:
        chunk = f".{self.chunk}" if self.chunk else ""
        return f"{self.kind}{self.microbatch}{chunk}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """Only this one."""
        return (self,)


class Pair(NamedTuple):
    """An overlapping forward and whole backward, with common start and end."""

    forward: Step
    """The forward."""
    backward: Step
    """The whole backward that overlaps with it."""

    def __str__(self) -> str:
        return f"{self.forward}&{self.backward}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """Both, the forward first."""
        return tuple(self)


def in_turns(forward: Sequence[Step], backward: Sequence[Step], warm_up: int) -> list[Step]:
    """`warm_up` forward passes, then a backward for each further forward, then the rest."""
    alternating = zip(forward[warm_up:], backward, strict=False)
    behind = backward[len(forward) - warm_up :]
    return [*forward[:warm_up], *chain.from_iterable(alternating), *behind]


def one_more_ahead(order: Sequence[Action]) -> tuple[Action, ...]:
    """The order with one more forward pass first, so that backward passes are beside forward ones
    (Megatron-LM, core/pipeline_parallel/schedules.py).
    """
    steps = [step for action in order for step in action.steps]
    forward = [step for step in steps if step.kind == "F"]
    backward = [step for step in steps if step.kind != "F"]
    ahead = next((at for at, step in enumerate(steps) if step.kind != "F"), len(forward))
    return tuple(in_turns(forward, backward, min(ahead, len(forward))))


Action = Step | Pair
Order = tuple[Action, ...]
Orders = tuple[Order, ...]
"""By device."""


class Schedule(ABC):
    """One way to run m micro-batches through p devices.

    `vpp` are the possible chunks per device (Megatron's virtual pipeline size): None for any from
    2. If two are fixed, 1 means "not asked for".
    """

    vpp: ClassVar[tuple[int, ...] | None] = (1,)
    """Possible chunks per device; None for any from 2."""

    def __init__(self, name: str = "") -> None:
        self.name = name or type(self).__name__.lower()
        """Its name in texts."""

    def requires(self, p: int, m: int, v: int = 1) -> str | None:
        """None, or what it needs that p, m and v are not, and the nearest that is."""
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
        """As `requires`, for limits of its own."""
        return None

    def stages(self, p: int, v: int = 1) -> Stages:
        """The places of the stages."""
        return loop(p, v)

    @abstractmethod
    def order(self, device: int, p: int, m: int, v: int) -> Sequence[Action]:
        """What one device does, in order; p, m and v are possible ones."""

    def orders(self, p: int, m: int, v: int = 1) -> Orders:
        """What every device does; ConfigError if that is impossible."""
        reason = self.requires(p, m, v)
        if reason is not None:
            raise ConfigError("schedule", f"{self.name} {reason}")
        return tuple(tuple(self.order(device, p, m, v)) for device in range(p))
