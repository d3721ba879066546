"""The template of a pipeline device's ranks.

Passes are encoded once and copied for every micro-batch (`yantra.chakra.playing`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from yantra.chakra.passes import EncodedPass, PassEncoder, PassTotals
from yantra.chakra.playing import BACKWARD, FORWARD, PassPlayer, Place
from yantra.chakra.stamping import Copies
from yantra.workloads.training.step.draft import Item
from yantra.workloads.training.step.passes import Drafted, PassKey
from yantra.workloads.training.step.program import Action, Program
from yantra.workloads.training.step.shared import Shared
from yantra.workloads.training.step.turns import in_turns, parts_of

GRADIENT_GROUPS = frozenset({"dp_cp", "fsdp", "replica", "edp"})
_DIRECTIONS = {"F": FORWARD, "B": BACKWARD, "b": BACKWARD}  # nobody waits for weight gradients


class Neighbours(NamedTuple):
    """The chunks of the same device that hold the stages before and after one."""

    before: int | None
    after: int | None


class Encodings:
    """A step's encoded passes and their totals, by draft."""

    def __init__(self) -> None:
        # Shared objects know only the encoder: with this one it would be a cycle.
        encoder = self._encoder = PassEncoder()
        self.totals = Shared(lambda one: encoder.totals(one.parts))
        self.whole = Shared(lambda one: _encoded(encoder, one, one.chunk, overlaps=False))
        self.in_parts = Shared(lambda one: _encoded(encoder, one, one.chunk, overlaps=True))
        self._programs: dict[int, Program] = {}

    def program(self, actions: Sequence[Action]) -> Program:
        found = self._programs.get(id(actions))
        if found is None:  # keeps the actions, so no others get their ids
            found = self._programs[id(actions)] = Program.of(actions)
        return found

    def total(self, items: tuple[Item, ...]) -> PassTotals:
        return self._encoder.totals(items)

    def encode(self, drafted: Drafted, chunk: int | None, *, overlaps: bool) -> EncodedPass:
        """Encode a pass; `chunk` is None for what comes after all passes."""
        return _encoded(self._encoder, drafted, chunk, overlaps=overlaps)


def _encoded(
    encoder: PassEncoder, drafted: Drafted, chunk: int | None, *, overlaps: bool
) -> EncodedPass:
    parts = parts_of(drafted.items, overlaps=True) if overlaps else (drafted.parts,)
    return encoder.encode(parts, chunk)


class Player:
    def __init__(
        self,
        passes: Mapping[PassKey, Drafted],
        neighbours: Sequence[Neighbours],
        tags_per_microbatch: int,
        encodings: Encodings | None = None,
    ) -> None:
        self._player = PassPlayer(GRADIENT_GROUPS, tags_per_microbatch)
        self._passes = passes
        self._neighbours = neighbours
        self._encodings = encodings or Encodings()
        self._end: int | None = None
        self._added: dict[tuple[PassKey, bool], int] = {}
        self._order: dict[tuple[PassKey, ...], list[tuple[int, int]]] = {}

    def play(self, actions: Sequence[Action], first_microbatch: int = 0) -> None:
        """Add a step's passes, one or two overlapping at a time, micro-batches from
        `first_microbatch`.
        """
        program = self._encodings.program(actions)
        if not program.has_pairs:
            added = {
                name: self._add(action[0].key, False) for name, action in program.first.items()
            }
            numbers = [added[name] for name in program.names]
            microbatches = [first_microbatch + number for number in program.microbatches]
            self._player.play(numbers, microbatches)
            return
        numbers = []
        microbatches = []
        for action in actions:
            if len(action) == 1:
                numbers.append(self._add(action[0].key, False))
                microbatches.append(first_microbatch + action[0].microbatch)
                continue
            self._player.play(numbers, microbatches)
            numbers, microbatches = [], []
            keys = tuple(play.key for play in action)
            parts = [self._add(key, True) for key in keys]
            self._player.play_in_turns(
                parts, [first_microbatch + play.microbatch for play in action], self._turns(keys)
            )
        self._player.play(numbers, microbatches)

    def finish(self, drafted: Drafted) -> None:
        if self._end is None:
            encoded = self._encodings.encode(drafted, None, overlaps=False)
            self._end = self._player.add(encoded, drafted.blocking)
        self._player.finish(self._end)

    def template(self) -> Copies:
        return self._player.copies()

    def _add(self, key: PassKey, overlaps: bool) -> int:
        if (key, overlaps) not in self._added:
            drafted = self._passes[key]
            encodings = self._encodings.in_parts if overlaps else self._encodings.whole
            direction = _DIRECTIONS.get(key.kind)
            sides = self._neighbours[key.chunk]
            neighbour = FORWARD if key.kind == "F" else BACKWARD
            beside = sides.before if key.kind == "F" else sides.after
            place = Place(key.chunk, direction, neighbour, beside)
            self._added[key, overlaps] = self._player.add(
                encodings.of(drafted), drafted.blocking, place, drafted.moved
            )
        return self._added[key, overlaps]

    def _turns(self, keys: tuple[PassKey, ...]) -> list[tuple[int, int]]:
        if keys not in self._order:
            parts = [parts_of(self._passes[key].items, overlaps=True) for key in keys]
            self._order[keys] = list(in_turns(parts))
        return self._order[keys]
