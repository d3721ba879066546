"""When every pass of a schedule starts and ends, given how long passes take.

A device works strictly in order. F waits for F of the stage before; B or b for its own F and the
next stage's gradient, sent when B or b ends; W for b. Other devices' results add the latency.
Trade-off: messages occupy nothing; networks are the simulator's part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol

from yantra.base.errors import ConfigError
from yantra.base.records import Record
from yantra.workloads.schedules.schedule import Action, Orders, Pair, Step
from yantra.workloads.schedules.stages import Stages

PARTS = {"F": "forward", "b": "input gradient", "W": "weight gradient"}


class Timing(Protocol):
    """How long actions take, in any one unit of time."""

    @property
    def latency(self) -> float:
        """From the end of a pass to its use on another device."""

    def duration(self, device: int, action: Action) -> float:
        """How long a device works on an action."""


class Costs(Record):
    """Times of one pass through one chunk, the same for all stages.

    `overlapped` is a forward and a whole backward pass together; None for their sum.
    """

    forward: float = 1
    input_gradient: float = 1
    weight_gradient: float = 1
    overlapped: float | None = None
    latency: float = 0

    def duration(self, device: int, action: Action) -> float:
        backward = self.input_gradient + self.weight_gradient
        if isinstance(action, Pair):
            return self.forward + backward if self.overlapped is None else self.overlapped
        kinds = {
            "F": self.forward,
            "B": backward,
            "b": self.input_gradient,
            "W": self.weight_gradient,
        }
        return kinds[action.kind]


class Span(NamedTuple):
    action: Action
    start: float
    end: float


class Execution(NamedTuple):
    spans: tuple[tuple[Span, ...], ...]

    @property
    def makespan(self) -> float:
        """End of the last pass; the first starts at 0."""
        return max(spans[-1].end for spans in self.spans if spans)

    @property
    def busy(self) -> tuple[float, ...]:
        return tuple(sum(span.end - span.start for span in spans) for spans in self.spans)

    @property
    def idle(self) -> tuple[float, ...]:
        """How long each device idles, from 0 to the makespan."""
        return tuple(self.makespan - busy for busy in self.busy)

    @property
    def idle_inside(self) -> tuple[float, ...]:
        ends = (spans[-1].end - spans[0].start if spans else 0 for spans in self.spans)
        return tuple(end - busy for end, busy in zip(ends, self.busy, strict=True))

    @property
    def bubble(self) -> float:
        return 1 - sum(self.busy) / (len(self.spans) * self.makespan)


class Result(NamedTuple):
    kind: Literal["F", "b", "W"]
    device: int
    chunk: int
    microbatch: int


class Waiting(NamedTuple):
    """A stuck device: at which action, and for what."""

    device: int
    position: int
    awaited: Result


def execute(orders: Orders, stages: Stages, costs: Timing) -> Execution:
    """Execute an order. Raises ConfigError if it cannot end."""
    spans, stuck = attempt(orders, stages, costs)
    if stuck:
        waiting = stuck[0]
        action = orders[waiting.device][waiting.position]
        raise ConfigError(
            f"device {waiting.device}, operation {waiting.position}",
            f"{action} never starts; it waits for {describe(waiting.awaited)}",
        )
    return Execution(spans)


def attempt(
    orders: Orders, stages: Stages, costs: Timing
) -> tuple[tuple[tuple[Span, ...], ...], list[Waiting]]:
    spans: list[list[Span]] = [[] for _ in orders]
    ends: dict[Result, float] = {}
    waiting: dict[Result, list[int]] = {}
    awaited: dict[int, Result] = {}
    runnable = deque(range(len(orders)))
    while runnable:
        device = runnable.popleft()
        awaited.pop(device, None)
        order, done = orders[device], spans[device]
        while len(done) < len(order) and device not in awaited:
            action = order[len(done)]
            start = done[-1].end if done else 0
            for need in needs(stages, device, action):
                if need not in ends:
                    waiting.setdefault(need, []).append(device)
                    awaited[device] = need
                    break
                start = max(start, ends[need] + (costs.latency if need.device != device else 0))
            else:
                end = start + costs.duration(device, action)
                done.append(Span(action, start, end))
                for made in results(device, action):
                    ends[made] = end
                    runnable += waiting.pop(made, ())
    stuck = [Waiting(device, len(spans[device]), need) for device, need in sorted(awaited.items())]
    return tuple(map(tuple, spans)), stuck


def needs(stages: Stages, device: int, action: Action) -> Iterator[Result]:
    for kind, microbatch, chunk in action.steps:
        if kind == "W":
            yield Result("b", device, chunk, microbatch)
            continue
        if kind == "F":
            source = stages.before(device, chunk)
        else:
            yield Result("F", device, chunk, microbatch)
            source = stages.after(device, chunk)
        if source is not None:
            yield Result("F" if kind == "F" else "b", *source, microbatch)


def results(device: int, action: Action) -> Iterator[Result]:
    for kind, microbatch, chunk in action.steps:
        if kind == "B":
            yield Result("b", device, chunk, microbatch)
            yield Result("W", device, chunk, microbatch)
        else:
            yield Result(kind, device, chunk, microbatch)


def describe(result: Result) -> str:
    step = Step(result.kind, result.microbatch, result.chunk)
    return f"{step} ({PARTS[result.kind]}) of device {result.device}"
