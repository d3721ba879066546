"""Plays a device's program: copies the blocks of its passes and ties each to what came before.

The computations of a device form one chain, the collectives of each communicator another. Sends
and receives stand on neither. Of two passes that overlap, segments take turns, and what both send
goes out when both are done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from yantra.base.errors import InternalError
from yantra.workloads.templates.builder import Edge, TemplateBuilder
from yantra.workloads.training.step.draft import Source
from yantra.workloads.training.step.encode import Encoded, Segment, encode
from yantra.workloads.training.step.passes import Drafted, PassKey
from yantra.workloads.training.step.program import Action, Play
from yantra.workloads.training.step.turns import in_turns, parts_of

GRADIENT_GROUPS = frozenset({"dp_cp", "fsdp", "replica", "edp"})


class Neighbours(NamedTuple):
    """The chunks of the same device that hold the stage before and the stage after one."""

    before: int | None
    after: int | None


class _Played(NamedTuple):
    """A pass that was copied: the id of the first node of each segment."""

    encoded: Encoded
    firsts: list[int]

    def id_of(self, key: int) -> int:
        segment, position = self.encoded.place[key]
        return self.firsts[segment] + position


class Player:
    """Writes the template of one device."""

    def __init__(
        self,
        passes: Mapping[PassKey, Drafted],
        neighbours: Sequence[Neighbours],
        tags_per_microbatch: int,
    ) -> None:
        self.builder = TemplateBuilder()
        self._passes = passes
        self._neighbours = neighbours
        self._tags = tags_per_microbatch
        self._encoded: dict[tuple[PassKey, bool], Encoded] = {}
        self._order: dict[tuple[PassKey, ...], tuple[tuple[int, int], ...]] = {}
        self._computed: int | None = None
        self._communicated: dict[str, int] = {}
        self._blocking: list[int] = []
        self._played: dict[tuple[str, int, int], _Played] = {}

    def play(self, action: Action) -> None:
        """Add one pass, or two that overlap."""
        keys = tuple(play.key for play in action)
        played = [_Played(self._encode(key, len(keys) > 1), []) for key in keys]
        for number, at in self._turns(keys):
            self._stamp(action[number], played[number].encoded.segments[at], played[number])
        for play, one in zip(action, played, strict=True):
            self._blocking += map(one.id_of, self._passes[play.key].blocking)
            what = _direction(play.key.kind)
            if what:
                self._played[what, play.key.chunk, play.microbatch] = one

    def finish(self, drafted: Drafted) -> None:
        """Add what happens once, behind all passes."""
        encoded = encode(parts_of(drafted.items, overlaps=False), None)
        played = _Played(encoded, [])
        for segment in encoded.segments:
            self._stamp(None, segment, played)

    def _encode(self, key: PassKey, overlaps: bool) -> Encoded:
        if (key, overlaps) not in self._encoded:
            parts = parts_of(self._passes[key].items, overlaps=overlaps)
            self._encoded[key, overlaps] = encode(parts, key.chunk)
        return self._encoded[key, overlaps]

    def _turns(self, keys: tuple[PassKey, ...]) -> tuple[tuple[int, int], ...]:
        if keys not in self._order:
            overlaps = len(keys) > 1
            parts = [parts_of(self._passes[key].items, overlaps=overlaps) for key in keys]
            self._order[keys] = tuple(in_turns(parts))
        return self._order[keys]

    def _stamp(self, play: Play | None, segment: Segment, played: _Played) -> None:
        microbatch = None if play is None else play.microbatch
        first = self.builder.stamp(
            segment.block,
            list(self._edges(play, segment, played)),
            microbatch=microbatch,
            tag_base=(microbatch or 0) * self._tags,
        )
        played.firsts.append(first)
        if segment.last_compute is not None:
            self._computed = first + segment.last_compute
            self._blocking.clear()
        for chain in segment.chains:
            self._communicated[chain.group] = first + chain.last

    def _edges(self, play: Play | None, segment: Segment, played: _Played) -> Iterator[Edge]:
        if self._computed is not None:
            if segment.first_compute is not None:
                yield segment.first_compute, self._computed, True
            for position in segment.starts:
                if position != segment.first_compute:
                    yield position, self._computed, True
        if segment.first_compute is not None:
            for earlier in self._blocking:
                yield segment.first_compute, earlier, True
        for chain in segment.chains:
            if chain.group in self._communicated:
                yield chain.first, self._communicated[chain.group], True
        for position, number, place, is_control in segment.inner:
            yield position, played.firsts[number] + place, is_control
        for position, source, key, is_control in segment.outer:
            for id in self._found(play, source, key):
                yield position, id, is_control

    def _found(self, play: Play | None, source: Source, key: int) -> Iterator[int]:
        """Yield the nodes that a dependency on another pass means."""
        if source == "reductions":
            yield from (id for group, id in self._communicated.items() if group in GRADIENT_GROUPS)
            return
        if play is None:
            raise InternalError(f"the end of the step cannot wait for a {source} pass")
        chunk, what = play.key.chunk, source
        if source == "neighbour":
            what = "forward" if play.key.kind == "F" else "backward"
            sides = self._neighbours[chunk]
            side = sides.before if play.key.kind == "F" else sides.after
            if side is None:
                raise InternalError(f"chunk {chunk} has no neighbour on its device")
            chunk = side
        yield self._played[what, chunk, play.microbatch].id_of(key)


def _direction(kind: str) -> Source | None:
    """Return as what other passes look for a pass; nobody waits for weight gradients."""
    return {"F": "forward", "B": "backward", "b": "backward"}.get(kind)  # type: ignore[return-value]
