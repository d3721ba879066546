"""Communicators of a workload: their forms, their tags, and the slots their work occupies.

Groups that lie alike share a form: the offsets of their members from the lowest, once. The core
keeps a form and a lowest rank for each, and no lists of members.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from yantra import _core
from yantra.errors import UnsupportedError
from yantra.scenario import Resources
from yantra.workloads.template.rules import Family

_TAGS = 500_000_000  # ASTRA-sim takes stream numbers modulo this for tags
_MOST_COLOURS = 240  # slots are numbered in a byte
_STREAMS_PER_GROUP = 1_000_000  # ASTRA-sim numbers the streams of group g from this times g


class Form(NamedTuple):
    """What communicators that lie alike have in common.

    `number` is the core's, `key` equal for equal offsets, `whole` the dimensions of which their
    ranks are exactly the product, if so, and `lowest` the lowest dimension in which they differ.
    """

    number: int
    size: int
    key: Hashable
    is_world: bool
    spans_all: bool
    whole: frozenset[int] | None
    lowest: int


class Communicators:
    """Communicator 0 is all ranks; the groups follow by ascending id.

    Their colours number them so that those that share a rank differ, with few numbers in all.
    """

    def __init__(self, native: _core.Model, ranks: int) -> None:
        self._native = native
        self._ranks = ranks
        self._forms: dict[Hashable, tuple[int, int, int]] = {}
        self.forms: list[Form] = []
        self.by_name = {"": 0, "0": 0}
        self.last_id = 0
        world = self._form((None, ((ranks, 1, ()),)), ((ranks, 1, ()),), ranks, ascending=True)
        self._add(0, (0, 0), 0, (), world)

    def add_groups(self, groups: Iterable[tuple[int, Sequence[int]]]) -> None:
        """Add groups given by their ranks, by ascending id."""
        for index, (group, members) in enumerate(groups, start=1):
            base = min(members)
            offsets = tuple([member - base for member in members])
            form = self._form(offsets, ((len(offsets), 0, offsets),), len(offsets))
            self._add(index, (group * _STREAMS_PER_GROUP, 0), base, (), form)
            self.by_name[str(group)] = index
            self.last_id = group

    def add_families(self, families: Iterable[Family], count: int) -> None:
        """Add the groups of templates, `count` in all; their ids count from 1."""
        for family in families:
            size = 1
            for members, _, _ in family.offsets:
                size *= members
            form = self._form(family.offsets, family.offsets, size, ascending=True)
            streams = (family.first_id * _STREAMS_PER_GROUP, _STREAMS_PER_GROUP)
            self._add(family.first_id, streams, family.base, family.axes, form)
        self.last_id = count

    def _form(
        self,
        key: Hashable,
        axes: Sequence[tuple[int, int, tuple[int, ...]]],
        size: int,
        *,
        ascending: bool = False,
    ) -> tuple[int, int, int]:
        """Return the form of some offsets, that of those whose base is aligned, and with what."""
        if key in self._forms:
            return self._forms[key]
        number = _core.add_form(self._native, axes, ascending)
        lowest, whole = _core.span_of(self._native, number)
        about = (size, key, not self.forms, size == self._ranks)
        self.forms.append(Form(number, *about, None, lowest))
        aligned = number
        if whole is not None:
            aligned = _core.copy_form(self._native, number)
            dimensions = frozenset(d for d in range(whole.bit_length()) if whole >> d & 1)
            self.forms.append(Form(aligned, *about, dimensions, lowest))
        self._forms[key] = number, aligned, whole or 0
        return self._forms[key]

    def _add(
        self,
        index: int,
        streams: tuple[int, int],
        base: int,
        axes: Sequence[tuple[int, int, int]],
        form: tuple[int, int, int],
    ) -> None:
        number, aligned, whole = form
        _core.add_communicators(self._native, index, streams, base, axes, (number, aligned), whole)

    def tags_may_collide(self) -> bool:
        """Return whether upstream's tags of two communicators can be equal."""
        return (self.last_id + 1) * _STREAMS_PER_GROUP > _TAGS

    def find(self, name: str) -> int | None:
        """Return the communicator of a `pg_name`, or None."""
        if name in self.by_name:
            return self.by_name[name]
        try:
            return self.by_name.get(str(int(name)))
        except ValueError:
            return None

    def set_slots(self, resources: Resources) -> None:
        """Tell the core the slots of a rank and which of them each kind of node occupies."""
        slots = _core.ResourceMap()
        slots.cpu, slots.compute, slots.memory = 0, 1, 2
        width = _core.colour(self._native)
        if resources.communication == "one_slot":
            slots.capacity = [resources.cpu_slots or 1, resources.compute_streams or 1, 1]
            _core.set_slots(self._native, slots, 2)
            return
        if width > _MOST_COLOURS:
            raise UnsupportedError(
                f"workload.groups: a rank is in {width - 1} groups; with communication "
                f"per_communicator it may be in {_MOST_COLOURS - 1}; use one_slot"
            )
        slots.capacity = [
            resources.cpu_slots or 1,
            resources.compute_streams or 1,
            resources.copy_engines,
            *[1] * (width + 1),
        ]
        _core.set_slots(self._native, slots, 3, 3 + width)
