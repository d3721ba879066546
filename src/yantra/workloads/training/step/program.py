"""A device's order of passes -> which variant of each pass it plays.

Passes of one kind and chunk differ only where the plan does something in the first or the last of
them: gathering weights before the first forward pass (ZeRO-1 and 2), reducing gradients in the
last backward pass, and keeping gathered weights while micro-batches are in flight (ZeRO-3 that does
not reshard after the forward pass).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.schedule import Order, Step
from yantra.workloads.training.step.passes import PassKey


class Play(NamedTuple):
    """One pass of one micro-batch."""

    key: PassKey
    microbatch: int


Action = tuple[Play, ...]
"""One pass, or a forward and a backward pass that overlap."""


def name_of(action: Action) -> object:
    """Return what tells passes that are played at once apart from others of a device's order.

    Of equal keys there is one object there, and its place in memory is faster to look up.
    """
    return id(action[0].key) if len(action) == 1 else tuple([id(play.key) for play in action])


def names_of(program: Sequence[Action]) -> list[object]:
    """Return the names of all actions of an order; faster than one by one."""
    return [id(action[0].key) if len(action) == 1 else name_of(action) for action in program]


def program_of(order: Order, plan: Plan) -> tuple[Action, ...]:
    """Return what a device does, in order."""
    steps_of = [action.steps for action in order]
    last = _last_of_chunks(steps_of)
    key_of = _Keys(plan).of
    program = []
    for number, steps in enumerate(steps_of):
        plays = []
        for step in steps:
            kind, microbatch, chunk = step
            is_last = last.get(chunk) == number and kind in "BW"
            plays.append(_make(Play, (key_of(kind, chunk, is_last), microbatch)))
        program.append(tuple(plays))
    return tuple(program)


def _last_of_chunks(steps_of: Sequence[Sequence[Step]]) -> dict[int, int]:
    """Return the number of the action with each chunk's last backward pass of weights."""
    left = {step.chunk for steps in steps_of for step in steps}
    last: dict[int, int] = {}
    for number in range(len(steps_of) - 1, -1, -1):
        for step in steps_of[number]:
            if step.kind in "BW" and step.chunk in left:
                left.discard(step.chunk)
                last[step.chunk] = number
        if not left:
            break
    return last


_make = tuple.__new__


class _Keys:
    """The keys of passes in the order of a device; of equal ones there is one object."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._seen: set[int] = set()
        self._in_flight: dict[int, int] = {}
        self._made: dict[tuple[str, int, bool, bool, bool], PassKey] = {}
        self._usual: dict[tuple[str, int, bool], PassKey] = {}

    def of(self, kind: str, chunk: int, is_last: bool) -> PassKey:
        """Return the key of the next pass."""
        usual = (kind, chunk, is_last)
        found = self._usual.get(usual)
        if found is not None:
            return found
        fields = (kind, chunk, *self._gathers_and_reshards(kind, chunk), is_last)
        is_usual = self._plan.zero < 3 and (kind != "F" or chunk in self._seen)
        if kind == "F":
            self._seen.add(chunk)
        found = self._made.get(fields)
        if found is None:
            found = self._made[fields] = PassKey(*fields)
        if is_usual:  # every pass behind the first has this key
            self._usual[usual] = found
        return found

    def _gathers_and_reshards(self, kind: str, chunk: int) -> tuple[bool, bool]:
        plan = self._plan
        if plan.zero == 0 or kind == "W":
            return False, False
        if plan.zero < 3:
            return kind == "F" and chunk not in self._seen and plan.overlap_parameters, False
        if plan.reshard_after_forward:
            return True, True
        held = self._in_flight.get(chunk, 0)
        now = self._in_flight[chunk] = held + (1 if kind == "F" else -1)
        return kind == "F" and held == 0, kind != "F" and now == 0
