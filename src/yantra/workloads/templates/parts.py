"""The parts of a manifest: which ranks run which template, and what its names mean."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from math import prod

from yantra.base.errors import ConfigError, did_you_mean
from yantra.base.records import Record
from yantra.workloads.templates.grid import Grid, Group, check_name, grid_of_rank
from yantra.workloads.templates.rules import Family, Sum, families, group_rule

_MOST_CELLS = 1 << 22
MOST_RANKS = 1 << 31


class RankClass(Record):
    """Ranks of a grid with selected coordinates run one template."""

    grid: str
    """The grid that the ranks are of."""
    select: tuple[tuple[str, tuple[int, ...]], ...]
    """Coordinates by axis."""
    template: str
    """The template that they run."""

    def __init__(
        self,
        grid: str,
        select: Mapping[str, int | Iterable[int]] | Iterable[tuple[str, tuple[int, ...]]],
        template: str,
    ) -> None:
        made = tuple(
            (axis, (at,) if isinstance(at, int) else tuple(at)) for axis, at in dict(select).items()
        )
        super().__init__(grid=grid, select=made, template=template)


class Layout:
    """Grids, groups and classes that fit together; ids of groups by arithmetic.

    Communicators of the first group rule have ids 1, 2, ...; those of the next rule follow. Raises
    ConfigError naming `grids`, `groups.<name>` or `classes[<place>]`.
    """

    def __init__(
        self, grids: Iterable[Grid], groups: Mapping[str, Group], classes: Iterable[RankClass]
    ) -> None:
        self.grids = tuple(grids)
        self.groups = dict(groups)
        self.classes = tuple(classes)
        self.ranks = _ranks(self.grids)
        self._by_name = {grid.name: grid for grid in self.grids}
        self._first_id: dict[str, int] = {}
        self.communicator_count = 0
        for name, group in self.groups.items():
            self._first_id[name] = self.communicator_count + 1
            self.communicator_count += self._checked_count(name, group)
        self._cells = {grid.name: self._cells_of(grid) for grid in self.grids}

    def grid_of(self, rank: int) -> Grid:
        if not 0 <= rank < self.ranks:
            raise ConfigError("rank", f"expected 0 to {self.ranks - 1}, got {rank}")
        return grid_of_rank(self.grids, rank)

    def class_at(self, rank: int) -> int:
        grid = self.grid_of(rank)
        view, axes, cells = self._cells[grid.name]
        coordinates = grid.coordinates(rank, view)
        return cells[tuple(coordinates[axis] for axis in axes)]

    def group_id(self, rank: int, name: str) -> int | None:
        group = self.groups[name]
        grid = self._by_name[group.grid]
        index = grid.index(rank, group) if rank in grid.ranks else None
        return None if index is None else self._first_id[name] + index

    def communicators(self) -> dict[int, tuple[int, ...]]:
        members = (
            ranks
            for group in self.groups.values()
            for ranks in self._by_name[group.grid].groups_of(group)
        )
        return dict(enumerate(members, start=1))

    def families(self) -> Iterator[Family]:
        for name, group in self.groups.items():
            yield from families(self._by_name[group.grid], group, self._first_id[name])

    def group_rule(self, name: str) -> Sum:
        group = self.groups[name]
        return group_rule(self._by_name[group.grid], group, self._first_id[name])

    def members(self, number: int) -> tuple[int, ...]:
        names = list(self._first_id)
        name = names[bisect_right([self._first_id[name] for name in names], number) - 1]
        group = self.groups[name]
        return self._by_name[group.grid].members_at(number - self._first_id[name], group)

    def column(self, of: Callable[[str, int], int]) -> array[int]:
        """`of(grid, class)` for every rank, in order."""
        column = array("I")
        for grid in sorted(self.grids, key=lambda grid: grid.first_rank):
            view, axes, cells = self._cells[grid.name]
            values = {cell: of(grid.name, at) for cell, at in cells.items()}
            column += _spread(list(grid.axes(view).items()), axes, values, {})
        return column

    @cached_property
    def ranks_of_class(self) -> tuple[int, ...]:
        counts = [0] * len(self.classes)
        for grid in self.grids:
            view, axes, cells = self._cells[grid.name]
            sizes = grid.axes(view)
            for place in cells.values():
                counts[place] += grid.size // prod(sizes[axis] for axis in axes)
        return tuple(counts)

    def _checked_count(self, name: str, group: Group) -> int:
        check_name("groups", name)
        if group.grid not in self._by_name:
            hint = did_you_mean(group.grid, self._by_name)
            raise ConfigError(f"groups.{name}.grid", f"no grid is named '{group.grid}'{hint}")
        grid = self._by_name[group.grid]
        try:
            smallest, count = grid.smallest(group), grid.count(group)
        except ConfigError as error:
            raise ConfigError(f"groups.{name}", error.problem) from None
        if smallest < 2:
            raise ConfigError(f"groups.{name}", "has groups of one rank, which communicate nothing")
        return count

    def _cells_of(self, grid: Grid) -> tuple[str, tuple[str, ...], dict[tuple[int, ...], int]]:
        mine = [(at, one) for at, one in enumerate(self.classes) if one.grid == grid.name]
        axes = tuple(dict.fromkeys(axis for _, one in mine for axis, _ in one.select))
        try:
            view = grid.view_of(axes)
        except ConfigError as error:
            raise ConfigError("classes", error.problem) from None
        sizes = grid.axes(view)
        total = prod(sizes[axis] for axis in axes)
        if total > _MOST_CELLS:
            raise ConfigError(
                "classes", f"they distinguish {total} cases; expected at most {_MOST_CELLS}"
            )
        cells: dict[tuple[int, ...], int] = {}
        for at, one in mine:
            if len(cells) == total:
                break
            for cell in _selected(axes, sizes, one, at):
                cells.setdefault(cell, at)
        if len(cells) < total:
            spaces = (range(sizes[axis]) for axis in axes)
            lacking = next(cell for cell in product(*spaces) if cell not in cells)
            where = ", ".join(f"{axis}={at}" for axis, at in zip(axes, lacking, strict=True))
            rank = grid.rank(dict(zip(axes, lacking, strict=True)), view)
            what = f" ({where})" if where else ""
            raise ConfigError("classes", f"none matches rank {rank} of grid '{grid.name}'{what}")
        return view, axes, cells


def _spread(
    over: list[tuple[str, int]],
    axes: tuple[str, ...],
    values: Mapping[tuple[int, ...], int],
    fixed: dict[str, int],
) -> array[int]:
    if not over:
        return array("I", [values[tuple(fixed[axis] for axis in axes)]])
    *faster, (axis, size) = over
    if axis not in axes:
        return _spread(faster, axes, values, fixed) * size
    column = array("I")
    for at in range(size):
        column += _spread(faster, axes, values, fixed | {axis: at})
    return column


def check_classes(
    classes: Iterable[RankClass], grids: Iterable[Grid], known: Iterable[str]
) -> None:
    names, templates = [grid.name for grid in grids], list(known)
    used = set()
    for at, one in enumerate(classes):
        if one.grid not in names:
            hint = did_you_mean(one.grid, names)
            raise ConfigError(f"classes[{at}].grid", f"no grid is named '{one.grid}'{hint}")
        if one.template not in templates:
            hint = did_you_mean(one.template, templates)
            raise ConfigError(
                f"classes[{at}].template", f"there is no templates/{one.template}.et{hint}"
            )
        used.add(one.template)
    for name in templates:
        if name not in used:
            raise ConfigError("classes", f"none runs templates/{name}.et")


def _ranks(grids: tuple[Grid, ...]) -> int:
    if not grids:
        raise ConfigError("grids", "expected at least one, got none")
    if len({grid.name for grid in grids}) < len(grids):
        raise ConfigError("grids", "two have the same name")
    first = 0
    for grid in sorted(grids, key=lambda grid: grid.first_rank):
        if grid.first_rank != first:
            problem = f"expected {first}, as grids follow each other; got {grid.first_rank}"
            raise ConfigError(f"grids.{grid.name}.first_rank", problem)
        first += grid.size
    if first > MOST_RANKS:
        raise ConfigError("grids", f"they hold {first} ranks; at most {MOST_RANKS} can be")
    return first


def _selected(
    axes: tuple[str, ...], sizes: dict[str, int], one: RankClass, place: int
) -> Iterable[tuple[int, ...]]:
    chosen = dict(one.select)
    for axis, places in one.select:
        for at in places:
            if not 0 <= at < sizes[axis]:
                where = f"classes[{place}].select.{axis}"
                raise ConfigError(where, f"expected 0 to {sizes[axis] - 1}, got {at}")
    return product(*(chosen.get(axis, range(sizes[axis])) for axis in axes))
