"""Communicators of a workload: their members, their tags, and the slots their work occupies."""

from __future__ import annotations

from typing import Any

from yantra import _core
from yantra.errors import UnsupportedError
from yantra.scenario import Groups, Resources

_TAGS = 500_000_000  # ASTRA-sim takes stream numbers modulo this for tags
_MOST_COLOURS = 240  # slots are numbered in a byte
_STREAMS_PER_GROUP = 1_000_000  # ASTRA-sim numbers the streams of group g from this times g


class Communicators:
    """Communicator 0 is all ranks; the groups follow by ascending id.

    `colours` number communicators so that those that share a rank differ, with few numbers in all.
    """

    def __init__(self, groups: Groups, ranks: int) -> None:
        self.ranks = ranks
        self.ids = [0, *(group for group, _ in groups)]
        self.members: list[tuple[int, ...]] = [(), *(members for _, members in groups)]
        self.by_name = {"": 0, "0": 0}
        for index, group in enumerate(self.ids[1:], start=1):
            self.by_name[str(group)] = index
        self.colours = self._colours()

    def first_stream(self, index: int) -> int:
        """Return the number from which a communicator counts its streams."""
        return self.ids[index] * _STREAMS_PER_GROUP

    def size(self, index: int) -> int:
        """Return the number of members."""
        return len(self.members[index]) or self.ranks

    def tags_may_collide(self) -> bool:
        """Return whether upstream's tags of two communicators can be equal."""
        return self.first_stream(len(self.ids) - 1) + _STREAMS_PER_GROUP > _TAGS

    def spans_all(self, index: int) -> bool:
        """Return whether a communicator has every rank."""
        return not self.members[index] or len(self.members[index]) == self.ranks

    def find(self, name: str) -> int | None:
        """Return the communicator of a `pg_name`, or None."""
        if name in self.by_name:
            return self.by_name[name]
        try:
            return self.by_name.get(str(int(name)))
        except ValueError:
            return None

    def resource_map(self, resources: Resources) -> Any:
        """Return the slots of a rank and which of them each kind of node occupies."""
        slots = _core.ResourceMap()
        slots.cpu, slots.compute, slots.memory = 0, 1, 2
        if resources.communication == "one_slot":
            slots.capacity = [resources.cpu_slots or 1, resources.compute_streams or 1, 1]
            slots.collective = slots.send = [2] * len(self.ids)
            return slots
        width = max(self.colours) + 1
        if width > _MOST_COLOURS:
            raise UnsupportedError(
                f"workload.groups: a rank is in {width - 1} groups; with communication "
                f"per_communicator it may be in {_MOST_COLOURS - 1}; use one_slot"
            )
        slots.collective = [3 + colour for colour in self.colours]
        slots.send = [3 + width, *(3 + colour for colour in self.colours[1:])]
        slots.capacity = [
            resources.cpu_slots or 1,
            resources.compute_streams or 1,
            resources.copy_engines,
            *[1] * (width + 1),
        ]
        return slots

    def _colours(self) -> list[int]:
        taken: list[int] = [1] * self.ranks
        colours = [0]
        for members in self.members[1:]:
            used = 0
            for member in members:
                used |= taken[member]
            colour = (~used & (used + 1)).bit_length() - 1
            for member in members:
                taken[member] |= 1 << colour
            colours.append(colour)
        return colours
