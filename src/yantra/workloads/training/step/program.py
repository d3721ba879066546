"""Which variant of each pass a device plays: the first forward pass gathers weights, the last
backward pass reduces gradients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.schedule import Order, Pair, Step
from yantra.workloads.training.step.passes import PassKey


class Play(NamedTuple):
    key: PassKey
    microbatch: int


Action = tuple[Play, ...]
"""One pass, or an overlapping forward and backward pass."""


Name = int | tuple[int, ...]
"""Distinguishes passes played at once from others of the step. A step has one object per key, whose
id is faster to look up."""


class Program(NamedTuple):
    """A device's order: its actions, each one's name, and each name's first action."""

    actions: Sequence[Action]
    names: list[Name]
    first: dict[Name, Action]

    @classmethod
    def of(cls, actions: Sequence[Action]) -> Program:
        names: list[Name] = [
            id(action[0].key) if len(action) == 1 else tuple([id(play.key) for play in action])
            for action in actions
        ]
        latest = dict(zip(reversed(names), reversed(actions), strict=True))  # the first stays
        return cls(actions, names, {name: latest[name] for name in dict.fromkeys(names)})

    @property
    def has_pairs(self) -> bool:
        return any(len(action) > 1 for action in self.first.values())

    @property
    def microbatches(self) -> list[int]:
        return [action[0].microbatch for action in self.actions]

    def times(self) -> Counter[PassKey]:
        found: Counter[PassKey] = Counter()
        for name, count in Counter(self.names).items():
            for play in self.first[name]:
                found[play.key] += count
        return found


class Programs:
    """What a pipeline's devices do, in order; equal keys and plays are one object.

    Most passes of a chunk are neither first nor last, and equal on all devices.
    """

    def __init__(self, plan: Plan, chunks: int) -> None:
        self._plan = plan
        self._chunks = chunks
        self._keys: dict[tuple[Any, ...], PassKey] = {}
        self._usual: dict[int, Action] = {}  # by id of an action that the orders keep

    def of(self, order: Order) -> tuple[Action, ...]:
        program = self._program(order)
        return program if self._plan.overlap_experts == "none" else self._hiding(program)

    def _program(self, order: Order) -> tuple[Action, ...]:
        last = _numbers(order, "BW", self._chunks, backwards=True)
        if self._plan.zero == 3:
            return self._sharded(order, last)
        first = _numbers(order, "F", self._chunks)
        usual = self._usual
        for action in order:
            if id(action) not in usual:
                usual[id(action)] = self._plays(action, {}, {}, 0)
        program = [usual[place] for place in map(id, order)]
        for number in {*first.values(), *last.values()}:
            program[number] = self._plays(order[number], first, last, number)
        return tuple(program)

    def _hiding(self, program: tuple[Action, ...]) -> tuple[Action, ...]:
        """The same, hiding messages where forward and backward passes alternate."""
        kinds = [action[0].key.kind for action in program]
        first = kinds.index("B") - 1
        end = len(kinds) - kinds[::-1].index("F") + 1
        share = self._plan.exposed_experts
        made: list[Action] = list(program)
        for at in range(max(first, 0), end):
            ((key, microbatch),) = program[at]
            if int((microbatch + 1) * share) == int(microbatch * share):
                key = self._key(*key._replace(hides=True))
                made[at] = (_make(Play, (key, microbatch)),)
        return tuple(made)

    def _plays(
        self, action: Step | Pair, first: dict[int, int], last: dict[int, int], number: int
    ) -> Action:
        gathers = self._plan.zero > 0 and self._plan.overlap_parameters
        plays = []
        for kind, microbatch, chunk in action.steps:
            is_first = kind == "F" and first.get(chunk) == number
            is_last = kind in "BW" and last.get(chunk) == number
            key = self._key(kind, chunk, is_first and gathers, False, is_last)
            plays.append(_make(Play, (key, microbatch)))
        return tuple(plays)

    def _sharded(self, order: Order, last: dict[int, int]) -> tuple[Action, ...]:
        in_flight: dict[int, int] = {}
        program = []
        for number, action in enumerate(order):
            plays = []
            for kind, microbatch, chunk in action.steps:
                gathers, reshards = self._gathers_and_reshards(kind, chunk, in_flight)
                is_last = kind in "BW" and last.get(chunk) == number
                key = self._key(kind, chunk, gathers, reshards, is_last)
                plays.append(_make(Play, (key, microbatch)))
            program.append(tuple(plays))
        return tuple(program)

    def _gathers_and_reshards(
        self, kind: str, chunk: int, in_flight: dict[int, int]
    ) -> tuple[bool, bool]:
        if kind == "W":
            return False, False
        if self._plan.reshard_after_forward:
            return True, True
        held = in_flight.get(chunk, 0)
        now = in_flight[chunk] = held + (1 if kind == "F" else -1)
        return kind == "F" and held == 0, kind != "F" and now == 0

    def _key(self, *fields: Any) -> PassKey:
        found = self._keys.get(fields)
        if found is None:
            found = self._keys[fields] = PassKey(*fields)
        return found


def _numbers(order: Order, kinds: str, chunks: int, *, backwards: bool = False) -> dict[int, int]:
    found: dict[int, int] = {}
    numbers = range(len(order))
    for number in reversed(numbers) if backwards else numbers:
        for kind, _, chunk in order[number].steps:
            if kind in kinds:
                found.setdefault(chunk, number)
        if len(found) == chunks:
            break
    return found


_make = tuple.__new__
