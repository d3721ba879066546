"""Ranks as points of a grid: views are products of named axes over the same ranks, the first the
fastest.

Trade-off: anything but products is a grid of one axis `rank`.

Source: Megatron-LM, `parallel_state.RankGenerator`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from yantra.base.errors import ConfigError, did_you_mean, show
from yantra.base.records import Record

Axes = tuple[tuple[str, int], ...]
Parts = tuple[tuple[int, ...], ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_STEP = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*)([-+=])([0-9]{1,18})")
_MEGATRON_AXES = ("tp", "cp", "ep", "dp", "pp")


class Group(Record):
    """A rule for groups: ranks that differ only along `axes` of a view make one.

    `where` cuts an axis: with `{"pp": (0, 7)}` only these coordinates have a group, with `{"pp":
    ((0, 7), (1, 6))}` each pair has its own.
    """

    view: str
    axes: tuple[str, ...]
    where: tuple[tuple[str, Parts], ...] = ()
    grid: str = "train"

    def __init__(
        self,
        view: str,
        axes: Iterable[str],
        where: Mapping[str, Iterable[int | Iterable[int]]] | Iterable[tuple[str, Parts]] = (),
        grid: str = "train",
    ) -> None:
        cuts = tuple((axis, _parts(parts)) for axis, parts in dict(where).items())
        super().__init__(view=view, axes=tuple(axes), where=cuts, grid=grid)


class Axis(NamedTuple):
    name: str
    size: int
    stride: int

    def coordinate(self, offset: int) -> int:
        return offset // self.stride % self.size


class Grid(Record):
    """Ranks `first_rank` to `first_rank + size - 1`, and views of them.

    Raises ConfigError, naming `grids.<name>`, where the views do not fit.
    """

    name: str
    first_rank: int
    views: tuple[tuple[str, Axes], ...]

    def __init__(
        self,
        name: str = "train",
        first_rank: int = 0,
        views: Mapping[str, Iterable[tuple[str, int]]] | Iterable[tuple[str, Axes]] = (),
    ) -> None:
        made = tuple((view, tuple((a, n) for a, n in axes)) for view, axes in dict(views).items())
        super().__init__(name=name, first_rank=first_rank, views=made)

    def __post_init__(self) -> None:
        where = f"grids.{self.name}"
        check_name("grids", self.name)
        if self.first_rank < 0:
            raise ConfigError(f"{where}.first_rank", f"must be at least 0; got {self.first_rank}")
        if not self.views:
            raise ConfigError(f"{where}.views", "expected at least one view, got none")
        for view, axes in self.views:
            _check_axes(f"{where}.views.{view}", axes)
        sizes = {view: prod(size for _, size in axes) for view, axes in self.views}
        if len(set(sizes.values())) > 1:
            counts = ", ".join(f"{view} {size}" for view, size in sizes.items())
            raise ConfigError(f"{where}.views", f"they must hold equally many ranks; got {counts}")

    @property
    def size(self) -> int:
        return prod(size for _, size in self.views[0][1])

    @property
    def ranks(self) -> range:
        return range(self.first_rank, self.first_rank + self.size)

    def axes(self, view: str | None = None) -> dict[str, int]:
        """The sizes of the axes of a view; None is the first."""
        return {axis.name: axis.size for axis in self.strided(view)}

    def coordinates(self, rank: int, view: str | None = None) -> dict[str, int]:
        """The coordinates of a rank in a view; None is the first."""
        offset = self._offset(rank)
        return {axis.name: axis.coordinate(offset) for axis in self.strided(view)}

    def coordinate(self, rank: int, axis: str) -> int:
        """One coordinate of a rank, in the first view that has the axis."""
        return self.axis(self.view_of((axis,)), axis).coordinate(self._offset(rank))

    def rank(self, coordinates: Mapping[str, int], view: str | None = None) -> int:
        axes = {axis.name: axis for axis in self.strided(view)}
        rank = self.first_rank
        for name, at in coordinates.items():
            if name not in axes:
                raise self._unknown_axis(name, axes)
            if not 0 <= at < axes[name].size:
                raise ConfigError(
                    f"grids.{self.name}", f"{name} is 0 to {axes[name].size - 1}; got {at}"
                )
            rank += at * axes[name].stride
        return rank

    def view_of(self, axes: Iterable[str]) -> str:
        wanted = tuple(axes)
        for view, present in self.views:
            if set(wanted) <= {name for name, _ in present}:
                return view
        known = tuple(dict.fromkeys(name for _, present in self.views for name, _ in present))
        for name in wanted:
            if name not in known:
                raise self._unknown_axis(name, known)
        raise ConfigError(
            f"grids.{self.name}", f"no view has the axes {', '.join(wanted)} together"
        )

    def members(self, rank: int, group: Group) -> tuple[int, ...]:
        """The ranks of `rank`'s group, ascending; empty if it is in none."""
        index = self.index(rank, group)
        return () if index is None else self.members_at(index, group)

    def index(self, rank: int, group: Group) -> int | None:
        offset = self._offset(rank)
        cuts = dict(group.where)
        index, factor = 0, 1
        for axis in self.axes_of(group):
            at = axis.coordinate(offset)
            if axis.name not in group.axes:
                index, factor = index + at * factor, factor * axis.size
            elif axis.name in cuts:
                part = next((i for i, p in enumerate(cuts[axis.name]) if at in p), None)
                if part is None:
                    return None
                index, factor = index + part * factor, factor * len(cuts[axis.name])
        return index

    def count(self, group: Group) -> int:
        cuts = dict(group.where)
        return prod(
            len(cuts[axis.name])
            if axis.name in cuts
            else 1
            if axis.name in group.axes
            else axis.size
            for axis in self.axes_of(group)
        )

    def smallest(self, group: Group) -> int:
        cuts = dict(group.where)
        return prod(
            min(map(len, cuts[axis.name])) if axis.name in cuts else axis.size
            for axis in self.axes_of(group)
            if axis.name in group.axes
        )

    def groups_of(self, group: Group) -> Iterator[tuple[int, ...]]:
        return (self.members_at(index, group) for index in range(self.count(group)))

    def peer(self, rank: int, expression: str) -> int:
        peer = parse_peer(expression)
        if peer.grid not in (None, self.name):
            raise ConfigError(f"comm_peer {show(expression)}", f"names the grid '{peer.grid}'")
        return self._moved(rank, peer, expression)

    def _moved(self, rank: int, peer: Peer, expression: str) -> int:
        offset = self._offset(rank)
        view = self.view_of(step.axis for step in peer.steps)
        for step in peer.steps:
            axis = self.axis(view, step.axis)
            at = axis.coordinate(offset)
            offset += (moved(at, step, axis, expression) - at) * axis.stride
        return self.first_rank + offset

    def members_at(self, index: int, group: Group) -> tuple[int, ...]:
        cuts = dict(group.where)
        ranks = [self.first_rank]
        for axis in self.axes_of(group):
            places: Iterable[int]
            if axis.name not in group.axes:
                index, at = divmod(index, axis.size)
                places = (at,)
            elif axis.name in cuts:
                index, part = divmod(index, len(cuts[axis.name]))
                places = cuts[axis.name][part]
            else:
                places = range(axis.size)
            ranks = [rank + at * axis.stride for at in places for rank in ranks]
        return tuple(sorted(ranks))

    def axes_of(self, group: Group) -> tuple[Axis, ...]:
        """Raises ConfigError if the rule does not fit."""
        axes = self.strided(group.view)
        known = {axis.name: axis for axis in axes}
        for name in group.axes:
            if name not in known:
                raise self._unknown_axis(name, known)
        for name, parts in group.where:
            if name not in group.axes:
                raise ConfigError(
                    f"grids.{self.name}", f"'where' cuts {name}, no axis of the group"
                )
            _check_parts(f"grids.{self.name}", known[name], parts)
        return axes

    def strided(self, view: str | None = None) -> tuple[Axis, ...]:
        return _strided(self._view(view))

    def _view(self, view: str | None) -> Axes:
        if view is None:
            return self.views[0][1]
        for name, axes in self.views:
            if name == view:
                return axes
        names = [name for name, _ in self.views]
        hint = did_you_mean(view, names) or f"; it has {', '.join(names)}"
        raise ConfigError(f"grids.{self.name}", f"no view is named '{view}'{hint}")

    def axis(self, view: str, name: str) -> Axis:
        return next(axis for axis in self.strided(view) if axis.name == name)

    def _offset(self, rank: int) -> int:
        if rank not in self.ranks:
            ranks = f"{self.ranks[0]} to {self.ranks[-1]}"
            raise ConfigError(f"grids.{self.name}", f"its ranks are {ranks}; got {rank}")
        return rank - self.first_rank

    def _unknown_axis(self, name: str, known: Iterable[str]) -> ConfigError:
        names = list(known)
        hint = did_you_mean(name, names) or f"; it has {', '.join(names)}"
        return ConfigError(f"grids.{self.name}", f"no axis is named '{name}'{hint}")


class Step(NamedTuple):
    axis: str
    how: str
    amount: int


class Peer(NamedTuple):
    grid: str | None
    steps: tuple[Step, ...]


@lru_cache(maxsize=4096)
def parse_peer(expression: str) -> Peer:
    """Read a peer expression: `pp+1`, `cp-1,tp=0`, `decode:tp=3,pp=0`."""
    grid, colon, rest = expression.rpartition(":")
    steps = []
    for part in rest.split(","):
        found = _STEP.fullmatch(part)
        if found is None or (colon and not _NAME.fullmatch(grid)):
            problem = "expected axis+k, axis-k or axis=k, several with commas, such as 'pp+1'"
            raise ConfigError(f"comm_peer {show(expression)}", problem)
        steps.append(Step(found[1], found[2], int(found[3])))
    if len({step.axis for step in steps}) < len(steps):
        raise ConfigError(f"comm_peer {show(expression)}", "an axis is named twice")
    return Peer(grid if colon else None, tuple(steps))


def peer_of(grids: Sequence[Grid], rank: int, expression: str) -> int:
    """The rank that a peer expression means, seen from `rank`, in any of the grids."""
    peer = parse_peer(expression)
    own = grid_of_rank(grids, rank)
    other = target_of(grids, own, peer, expression)
    if other is own:
        return own._moved(rank, peer, expression)
    named = {step.axis: step for step in peer.steps}
    coordinates = {}
    view = other.view_of(named)
    for axis in other.strided(view):
        if axis.name not in named or named[axis.name].how != "=":
            at = kept(own, axis.name, expression).coordinate(rank - own.first_rank)
            if axis.name not in named:
                coordinates[axis.name] = at
        if axis.name in named:
            start = 0 if named[axis.name].how == "=" else at
            coordinates[axis.name] = moved(start, named[axis.name], axis, expression)
        elif at >= axis.size:
            problem = f"{axis.name} of rank {rank} is {at}; the grid '{other.name}' has {axis.size}"
            raise ConfigError(f"comm_peer {show(expression)}", problem)
    return other.rank(coordinates, view)


def check_name(where: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(where, f"expected a name of letters and digits, got {show(name)}")


def grid_of_rank(grids: Sequence[Grid], rank: int) -> Grid:
    for grid in grids:
        if rank in grid.ranks:
            return grid
    raise ConfigError("grids", f"none holds rank {rank}")


def grid_of(
    *,
    tp: int = 1,
    cp: int = 1,
    dp: int = 1,
    pp: int = 1,
    ep: int = 1,
    etp: int = 1,
    order: str = "tp-cp-ep-dp-pp",
    shard: int | None = None,
    name: str = "train",
    first_rank: int = 0,
) -> Grid:
    """The grid of a Megatron plan: views `dense` and `expert`, and `sharded` with `shard`.

    `order` lists axes fastest first.

    Raises ConfigError for orders that lack an axis or put a rank into different stages in the two
    views.
    """
    sizes = {"tp": tp, "cp": cp, "dp": dp, "pp": pp, "ep": ep, "etp": etp}
    for axis, size in sizes.items():
        if size < 1:
            raise ConfigError(axis, f"must be at least 1; got {size}")
    names = _order(order, sizes)
    edp, rest = divmod(dp * cp * tp, ep * etp)
    if rest:
        problem = f"ep * etp ({ep} * {etp}) must divide tp * cp * dp ({tp} * {cp} * {dp})"
        raise ConfigError("ep", problem)
    dense = tuple((axis, sizes[axis]) for axis in names if axis != "ep")
    folded = {"tp": ("etp", etp), "ep": ("ep", ep), "dp": ("edp", edp), "pp": ("pp", pp)}
    expert = tuple(folded[axis] for axis in names if axis != "cp")
    strides = [next(a.stride for a in _strided(v) if a.name == "pp") for v in (dense, expert)]
    splits_experts = ep * etp > 1
    if splits_experts and pp > 1 and strides[0] != strides[1]:
        raise ConfigError(
            "order",
            f"'{order}' puts ranks into different pipeline stages for dense and expert layers: "
            f"{strides[0]} neighbouring ranks share a stage in one, {strides[1]} in the other; end "
            "it with pp",
        )
    views: dict[str, Axes] = {"dense": dense}
    if splits_experts or pp == 1 or strides[0] == strides[1]:
        views["expert"] = expert
    if shard is not None:
        views["sharded"] = _sharded(dense, shard, order)
    return Grid(name, first_rank, views)


def _order(order: str, sizes: Mapping[str, int]) -> list[str]:
    names = order.lower().split("-")
    for name in names:
        if name not in _MEGATRON_AXES:
            hint = did_you_mean(name, _MEGATRON_AXES)
            problem = f"expected names among {', '.join(_MEGATRON_AXES)} with '-' between"
            raise ConfigError("order", f"{problem}, got '{order}'{hint}")
        if names.count(name) > 1:
            raise ConfigError("order", f"{name} is named twice in '{order}'")
    for name in _MEGATRON_AXES:
        if name not in names:
            if sizes[name] > 1:
                raise ConfigError("order", f"'{order}' lacks {name}, which is {sizes[name]}")
            names.append(name)
    return names


def _sharded(dense: Axes, shard: int, order: str) -> Axes:
    names = [name for name, _ in dense]
    sizes = dict(dense)
    both = sizes["cp"] * sizes["dp"]
    if shard < 1 or both % shard:
        raise ConfigError("shard", f"must divide cp * dp = {both}; got {shard}")
    if abs(names.index("cp") - names.index("dp")) > 1 and sizes["cp"] > 1 and sizes["dp"] > 1:
        raise ConfigError("order", f"with shard, cp and dp must be neighbours; got '{order}'")
    place = "dp" if sizes["cp"] == 1 else "cp"
    other = "cp" if place == "dp" else "dp"
    if sizes[other] > 1 and names.index(other) < names.index(place):
        place, other = other, place
    axes: list[tuple[str, int]] = []
    for name, size in dense:
        if name == place:
            axes += [("fsdp", shard), ("replica", both // shard)]
        elif name != other:
            axes.append((name, size))
    return tuple(axes)


@lru_cache(maxsize=1024)
def _strided(axes: Axes) -> tuple[Axis, ...]:
    strided = []
    stride = 1
    for name, size in axes:
        strided.append(Axis(name, size, stride))
        stride *= size
    return tuple(strided)


def moved(at: int, step: Step, axis: Axis, expression: str) -> int:
    if step.how == "=":
        if step.amount >= axis.size:
            problem = f"{axis.name} is 0 to {axis.size - 1}"
            raise ConfigError(f"comm_peer {show(expression)}", problem)
        return step.amount
    return (at + (step.amount if step.how == "+" else -step.amount)) % axis.size


def target_of(grids: Sequence[Grid], own: Grid, peer: Peer, expression: str) -> Grid:
    if peer.grid is None or peer.grid == own.name:
        return own
    other = next((grid for grid in grids if grid.name == peer.grid), None)
    if other is None:
        hint = did_you_mean(peer.grid, [grid.name for grid in grids])
        raise ConfigError(f"comm_peer {show(expression)}", f"no grid is named '{peer.grid}'{hint}")
    return other


def kept(own: Grid, axis: str, expression: str) -> Axis:
    try:
        return own.axis(own.view_of((axis,)), axis)
    except ConfigError:
        problem = f"must give {axis}, which the grid '{own.name}' does not have"
        raise ConfigError(f"comm_peer {show(expression)}", problem) from None


def _parts(parts: Iterable[int | Iterable[int]]) -> Parts:
    items = tuple(parts)
    if all(isinstance(item, int) for item in items):
        return (tuple(item for item in items if isinstance(item, int)),)
    return tuple((item,) if isinstance(item, int) else tuple(item) for item in items)


def _check_axes(where: str, axes: Axes) -> None:
    if not axes:
        raise ConfigError(where, "expected at least one axis, got none")
    for name, size in axes:
        check_name(where, name)
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ConfigError(
                f"{where}.{name}", f"must be a whole number above 0; got {show(size)}"
            )
    if len({name for name, _ in axes}) < len(axes):
        raise ConfigError(where, "an axis is named twice")


def _check_parts(where: str, axis: Axis, parts: Parts) -> None:
    places = [at for part in parts for at in part]
    if not parts or not all(parts):
        raise ConfigError(where, f"'where' cuts {axis.name} into nothing")
    for at in places:
        if not 0 <= at < axis.size:
            raise ConfigError(where, f"'where': {axis.name} is 0 to {axis.size - 1}; got {at}")
    if len(set(places)) < len(places):
        raise ConfigError(where, f"'where' names a coordinate of {axis.name} twice")
