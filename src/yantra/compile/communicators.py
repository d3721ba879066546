"""A workload's communicators: layouts, tags, slots.

Groups of equal offsets from the lowest member share a layout; the core keeps a layout and a lowest
rank each, no lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from yantra import _core
from yantra.base.errors import UnsupportedError
from yantra.scenario import Resources

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from yantra.workloads.templates.rules import Family

_TAGS = 500_000_000  # ASTRA-sim's tags are stream numbers modulo this
_MOST_QUEUE_SETS = 240  # slot numbers are a byte
_STREAMS_PER_GROUP = 1_000_000  # ASTRA-sim's group g has streams from this times g

Axes = tuple[tuple[int, int, tuple[int, ...]], ...]
"""Offsets sum one of each (count, stride, list); lists replace steps."""


class Layout(NamedTuple):
    """What communicators of equal offsets share.

    `id`: the core's; `key`: equal for equal offsets; `whole`: dimensions whose exact product the
    ranks are; `lowest`: lowest dimension in which they differ. `local`: members that share all but
    the innermost coordinate, if the lowest rank allows no crossing. `coordinates`: by dimension
    from the lowest, if an exact product. `residue`: the lowest rank's place in its node, where that
    decides who shares one. `axes`: what offsets sum.
    """

    id: _core.LayoutId
    size: int
    key: Hashable
    is_world: bool
    spans_all: bool
    whole: frozenset[int] | None
    lowest: int | None
    local: int
    coordinates: tuple[tuple[int, ...], ...] | None
    residue: int | None
    axes: Axes

    def offsets(self) -> list[int]:
        """Distances from the lowest, in members' order."""
        offsets = [0]
        for count, stride, listed in self.axes:
            steps = listed or [at * stride for at in range(count)]
            offsets = [one + step for step in steps for one in offsets]
        return offsets if self.is_listed else sorted(offsets)

    @property
    def is_listed(self) -> bool:
        return len(self.axes) == 1 and bool(self.axes[0][2])


class Communicators:
    """All ranks first, then groups by id.

    Each has one of a few queue sets; those that share a rank differ.
    """

    def __init__(
        self,
        builder: _core.ModelBuilder,
        ranks: int,
        sizes: Sequence[int] = (),
        *,
        by_node: bool = False,
    ) -> None:
        """Begin with all ranks; `sizes` of the dimensions."""
        self._builder = builder
        self._ranks = ranks
        self._sizes = tuple(sizes) or (ranks,)
        self._innermost = self._sizes[0]
        self._by_node = by_node and 1 < self._innermost < ranks
        self._known: dict[Hashable, Layout] = {}
        self._split: dict[tuple[Hashable, int], _core.LayoutId] = {}
        self.layouts: list[Layout] = []
        self.last_id = 0
        layout = self._layout((None, ((ranks, 1, ()),)), ((ranks, 1, ()),), ranks, ascending=True)
        world = builder.add_communicator(layout.id, base=0, first_chunk=0)
        self.by_name = {"": world, "0": world}

    def add_groups(self, groups: Iterable[tuple[int, Sequence[int]]]) -> None:
        known = self._known
        for group, members in groups:
            base = min(members)
            offsets = tuple([member - base for member in members])
            layout = known.get(offsets)
            if layout is None:
                layout = self._layout(offsets, ((len(offsets), 0, offsets),), len(offsets))
            of_node = dict(self._splits(layout, {base % self._innermost}))
            own = (
                layout.id
                if self._fits(layout, base)
                else of_node.get(base % self._innermost, layout.id)
            )
            added = self._builder.add_communicator(own, base, group * _STREAMS_PER_GROUP)
            self.by_name[str(group)] = added
            self.last_id = group

    def take_spellings(self, names: Mapping[str, str]) -> None:
        """Let names mean the groups of other names."""
        self.by_name |= {name: self.by_name[group] for name, group in names.items()}

    def add_families(self, families: Iterable[Family], count: int) -> None:
        """Add templates' groups, `count` in all; ids count from 1."""
        for family in families:
            size = 1
            for members, _, _ in family.offsets:
                size *= members
            axes = [
                _core.FamilyAxis(count=count, base_stride=base_step, index_stride=id_step)
                for count, base_step, id_step in family.axes
            ]
            layout = self._layout(family.offsets, family.offsets, size, ascending=True)
            self._builder.add_family(
                _core.Family(
                    layout=layout.id,
                    inner=self._innermost,
                    split=self._splits(layout, self._residues(family)),
                    first_index=family.first_id,
                    first_chunk=family.first_id * _STREAMS_PER_GROUP,
                    chunks_each=_STREAMS_PER_GROUP,
                    base=family.base,
                    axes=axes,
                )
            )
        self.last_id = count

    def _layout(
        self,
        key: Hashable,
        axes: Sequence[tuple[int, int, tuple[int, ...]]],
        size: int,
        *,
        ascending: bool = False,
    ) -> Layout:
        """Where members can be a product of coordinates, a second layout serves the communicators
        whose base makes them so; the core distinguishes them.
        """
        if key in self._known:
            return self._known[key]
        added = self._builder.add_layout(
            [_core.OffsetAxis(count=n, stride=step, listed=some) for n, step, some in axes],
            ascending,
        )
        about = (size, key, not self.layouts, size == self._ranks)
        local = _below(axes, self._innermost)
        axes = tuple((count, stride, tuple(listed)) for count, stride, listed in axes)
        layout = Layout(added.id, *about, None, added.lowest, local, None, None, axes)
        self.layouts.append(layout)
        if added.aligned is not None:
            whole = None if added.whole is None else frozenset(added.whole)
            coordinates = tuple(tuple(along) for along in added.coordinates)
            aligned = layout._replace(id=added.aligned, whole=whole, coordinates=coordinates)
            self.layouts.append(aligned)
        self._known[key] = layout
        return layout

    def _coordinates(self, layout: Layout) -> tuple[tuple[int, ...], ...] | None:
        at = self.layouts.index(layout) + 1
        is_next = at < len(self.layouts) and self.layouts[at].key == layout.key
        return self.layouts[at].coordinates if is_next else None

    def _fits(self, layout: Layout, base: int) -> bool:
        coordinates = self._coordinates(layout)
        if coordinates is None:
            return False
        for along, size in zip(coordinates, self._sizes, strict=True):
            if base % size + along[-1] >= size:
                return False
            base //= size
        return True

    def _splits(self, layout: Layout, residues: set[int]) -> list[tuple[int, _core.LayoutId]]:
        if not self._by_node or layout.size == 1 or layout.spans_all:
            return []
        coordinates = self._coordinates(layout)
        within = self._innermost - (0 if coordinates is None else coordinates[0][-1])
        splits = []
        for residue in sorted(residues):
            if coordinates is not None and residue < within:
                continue
            key = (layout.key, residue)
            if key not in self._split:
                self._split[key] = self._builder.add_split(layout.id)
                own = layout._replace(id=self._split[key], residue=residue)
                self.layouts.append(own)
            splits.append((residue, self._split[key]))
        return splits

    def _residues(self, family: Family) -> set[int]:
        found = {family.base % self._innermost}
        for count, step, _ in family.axes:
            turns = range(min(count, self._innermost))
            found = {(one + turn * step) % self._innermost for one in found for turn in turns}
        return found

    def tags_may_collide(self) -> bool:
        return (self.last_id + 1) * _STREAMS_PER_GROUP > _TAGS

    def find(self, name: str) -> _core.CommunicatorId | None:
        if name in self.by_name:
            return self.by_name[name]
        try:
            return self.by_name.get(str(int(name)))
        except ValueError:
            return None

    def set_slots(self, resources: Resources) -> None:
        width = self._builder.number_queue_sets()
        shared = [resources.cpu_slots or 1, resources.compute_streams or 1]
        at_once = resources.sends_at_once
        if resources.communication == "one_slot":
            self._builder.set_slots(_slots([*shared, at_once]), first=2)
            return
        if width > _MOST_QUEUE_SETS:
            raise UnsupportedError(
                f"workload.groups: a rank is in {width - 1} groups; with communication "
                f"per_communicator it may be in {_MOST_QUEUE_SETS - 1}; use one_slot"
            )
        capacity = [*shared, resources.copy_engines, *[at_once] * (width + 1)]
        self._builder.set_slots(_slots(capacity), first=3, send_to_all=3 + width)


def _below(axes: Sequence[tuple[int, int, tuple[int, ...]]], end: int) -> int:
    """Number of offsets, sums of one of each axis, below `end`."""
    offsets = [0]
    for count, stride, listed in axes:
        # Do not walk a million ranks beyond the end.
        steps = listed or (range(0, min(count * stride, end), stride) if stride else (0,) * count)
        offsets = [one + step for one in offsets for step in steps if one + step < end]
    return len(offsets)


def _slots(capacity: list[int]) -> _core.ResourceMap:
    return _core.ResourceMap(capacity=capacity, cpu=0, compute=1, memory=2)
