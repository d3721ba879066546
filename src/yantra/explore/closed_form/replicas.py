"""What equal replicas cost a step: gathered weights, reduced gradients, the optimizer.

ZeRO-1 gathers weights in each chunk's first forward pass, a bucket ahead of its use: nothing hides
a chunk's first bucket, and of several in one layer only the first is early. Each gradient bucket is
reduced when ready in a chunk's last backward pass, hidden by the passes of the chunks before it (p
each, with messages); nothing hides the last. Only chunk 0 of the first device is cut into buckets
(`yantra.workloads.training.step.buckets`). Without overlap it all follows the passes, one bucket a
chunk.

Trade-off: dense weights and experts take turns on shared links, else run in parallel, as measured
collectives always do.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from yantra.chakra import CollectiveType
from yantra.explore.closed_form.distinct import distinct

if TYPE_CHECKING:
    from collections.abc import Callable

    from yantra.explore.closed_form.machine import Machine
    from yantra.explore.closed_form.space import Columns
    from yantra.workloads.operators.operations import Operation

_BUCKET = 40e6
_BUCKET_PER_RANK = 1e6
_Column = np.ndarray


class Held(NamedTuple):
    """Weights of one device in elements: all, its layers', and those before them.

    `opening` and `ending` are the layers of its first and last chunk, `grain` a bucket's mean
    excess over its least size.
    """

    all: _Column
    layers: _Column
    front: _Column
    opening: _Column
    ending: _Column
    grain: _Column
    layer_count: _Column


class Groups(NamedTuple):
    """The distinct groups of some rows, (size, stride), and each row's index."""

    pairs: tuple[tuple[int, int], ...]
    back: _Column


class Domain(NamedTuple):
    """Weights that the same ranks share, held by the first and the last device."""

    held: tuple[Held, Held]
    size: _Column
    groups: Groups


class Costs(NamedTuple):
    """One device's costs in ns: exposed gathers and reductions, the norm, the update."""

    gathers: _Column
    reductions: _Column
    norm: _Column
    update: _Column
    reduced: _Column


class Kernels(NamedTuple):
    """The norm and update kernels of some elements, for one type of gradients."""

    norm: Callable[[int], Operation]
    update: Callable[[int], Operation]


class Each(NamedTuple):
    """Bytes of an element's weight and gradient; each plan's `kernels`."""

    weight: float
    gradient: _Column
    which: _Column
    kernels: tuple[Kernels, ...]

    def times(self, machine: Machine, name: str, elements: _Column, rows: Any = None) -> _Column:
        which = self.which if rows is None else self.which[rows]
        found = np.zeros(len(elements))
        for number, made in enumerate(self.kernels):
            some = np.flatnonzero(which == number)
            if len(some):
                found[some] = machine.optimizer_ns(getattr(made, name), elements[some])
        return found


def groups_of(size: _Column, stride: _Column) -> Groups:
    first, back = distinct(np.stack([size, stride], axis=1))
    return Groups(tuple(zip(size[first].tolist(), stride[first].tolist(), strict=True)), back)


def least_of(copies: _Column) -> _Column:
    least: _Column = np.maximum(_BUCKET, _BUCKET_PER_RANK * copies)
    return least


class _Sums(NamedTuple):
    """A domain's times: chunk 0, its last bucket, each further chunk, and the last."""

    first: _Column
    opening: _Column
    chunk: _Column
    last: _Column


class Owed(NamedTuple):
    """What a device's weights cost in ns, whatever its passes take.

    By domain: `gathers`, buckets that begin at a layer (`by_layer`), and the share of time on each
    dimension's links (`uses`, None if not shared). `reduced` and `gathered` are over all domains.
    """

    reduced: _Sums
    gathered: _Sums
    gathers: list[_Sums]
    by_layer: list[_Column]
    uses: list[_Column] | None
    norm: _Column
    update: _Column

    def at(self, rows: _Column) -> Owed:
        def some(sums: _Sums) -> _Sums:
            return _Sums(*(one[rows] for one in sums))

        return Owed(
            some(self.reduced),
            some(self.gathered),
            [some(one) for one in self.gathers],
            [one[rows] for one in self.by_layer],
            None if self.uses is None else [one[rows] for one in self.uses],
            self.norm[rows],
            self.update[rows],
        )


def owed_of(
    machine: Machine, domains: list[Domain], columns: Columns, device: int, each: Each
) -> Owed:
    """Return what the first (0) or last (1) device of each plan owes."""
    v = columns["vpp"]
    sharded = columns["zero"] >= 1
    reductions, gathers = [], []
    by_layer = []
    updated, update_ns = np.zeros(len(v)), np.zeros(len(v))
    least = least_of(columns["dp"] * columns["cp"]) if device == 0 else np.inf
    least = np.where(columns["overlap"] > 0, least, np.inf)
    for domain in domains:
        held = domain.held[device]
        cut = _cut(held, v, least)
        reductions.append(_reduced(machine, domain, cut, v, sharded, each.gradient))
        by_layer.append(held.layers / (np.maximum(held.layer_count, 1) * (least + held.grain)))
        gathers.append(_gathered(machine, domain, cut, v, sharded, each.weight))
        shares = np.where(sharded, domain.size, 1)
        updated = updated + held.all / shares
        update_ns += _update(machine, each, cut, v, shares)
    uses = _uses(machine, domains)
    reduced, gathered = (_together(uses, of) for of in (reductions, gathers))
    norm = each.times(machine, "norm", updated)
    return Owed(reduced, gathered, gathers, by_layer, uses, norm, update_ns)


def costs_of(
    owed: Owed,
    columns: Columns,
    device: int,
    passes: tuple[_Column, _Column],
    late: _Column,
    taken: float,
    exposed: float = 0.0,
) -> Costs:
    """Return what the first (0) or last (1) device of each plan pays.

    `passes` are its forward and backward pass of a micro-batch, `late` a message's delay of the
    next device in ns, `taken` the share its collectives take, `exposed` that of reductions which
    the end of the step has.
    """
    p, v, overlaps = columns["pp"], columns["vpp"], columns["overlap"] > 0
    forward, backward = (one / v for one in passes)
    reduced, awaited = owed.reduced, owed.gathered
    if device == 0:
        awaited = _together(owed.uses, _awaited(owed.gathers, owed.by_layer, forward))
    every, whole = _all(reduced, v), _all(owed.gathered, v)
    hidden = _Sums(*((1.0 - exposed) * one for one in reduced)) if exposed else reduced
    behind, before = _exposed(hidden, p, v, backward, late), _all(awaited, v)
    if taken:
        # Slower kernels cost nothing while reductions still run.
        longer = reduced.opening + taken * np.maximum(every - reduced.opening, 0.0)
        behind = np.maximum(behind, longer)
        before = before + taken * np.maximum(whole - before, 0.0)
    behind = behind + exposed * every
    return Costs(
        np.where(overlaps, before, whole),
        np.where(overlaps, behind, every),
        owed.norm,
        owed.update,
        every,
    )


def _update(
    machine: Machine,
    each: Each,
    cut: _Cut,
    v: _Column,
    shares: _Column,
) -> _Column:
    size = cut.first / cut.buckets / shares
    result: _Column = cut.buckets * each.times(machine, "update", size)
    far = np.flatnonzero(v > 1)
    if len(far):
        further = (cut.chunk[far], cut.last[far])
        middle, last = (each.times(machine, "update", of / shares[far], far) for of in further)
        result[far] += (v[far] - 2) * middle + last
    return result


def _all(sums: _Sums, v: _Column) -> _Column:
    result: _Column = sums.first + _further(sums, v)
    return result


def _further(sums: _Sums, v: _Column) -> _Column:
    result: _Column = np.where(v > 1, (v - 2) * sums.chunk + sums.last, 0.0)
    return result


def _exposed(sums: _Sums, p: _Column, v: _Column, backward: _Column, late: _Column) -> _Column:
    """A chunk's one bucket is ready after its last pass, and p passes of each earlier chunk
    follow.
    """
    between = p * (backward + late)
    nearest = np.where(v > 2, sums.chunk, sums.last) - between
    all_of_them = _further(sums, v) - (v - 1) * between
    before = np.where(v > 1, np.maximum(nearest, all_of_them), -np.inf)
    ready = -backward * (1 - _share(sums.opening, sums.first))
    result: _Column = np.maximum(sums.opening, np.maximum(before, ready) + sums.first)
    return result


def _awaited(sums: list[_Sums], by_layer: list[_Column], forward: _Column) -> list[_Sums]:
    """Return the gathers that first passes wait for.

    One bucket is gathered ahead.
    """
    found: list[_Sums] = []
    alone = np.ones_like(forward)
    for one, count in zip(sums, by_layer, strict=True):
        rest = one.first if found else np.maximum(one.first - one.opening, 0.0)
        hides = forward * (1 - _share(one.opening, one.first))
        ahead = alone * np.minimum(rest / np.maximum(count, 1.0), hides)
        found.append(one._replace(first=one.first - ahead))
        alone = 1 - np.minimum(count, 1.0)
    return found


class _Cut(NamedTuple):
    """Elements of chunk 0, its opening and usual bucket, each further chunk and the last."""

    first: _Column
    opening: _Column
    usual: _Column
    chunk: _Column
    last: _Column
    buckets: _Column


def _cut(held: Held, v: _Column, least: _Column | float) -> _Cut:
    between = np.maximum(held.layers - held.opening - held.ending, 0.0)
    chunk = np.where(v > 2, between / np.maximum(v - 2, 1), held.ending)
    first = np.where(v == 1, held.all, held.opening + held.front)
    last = np.maximum(held.all - first - (v - 2) * chunk, 0.0)  # the one includes the tail
    usual = least + held.grain
    opening = np.minimum(first, np.maximum(usual, held.front + usual / 2))
    buckets = np.maximum(np.ceil(first / usual), 1)
    return _Cut(first, opening, np.minimum(first - held.front, usual), chunk, last, buckets)


def _reduced(
    machine: Machine, domain: Domain, cut: _Cut, v: _Column, sharded: _Column, width: _Column
) -> _Sums:
    kinds = (
        (CollectiveType.ALL_REDUCE, np.flatnonzero(~sharded)),
        (CollectiveType.REDUCE_SCATTER, np.flatnonzero(sharded)),
    )
    return _sums(machine, domain.groups, kinds, cut, v, width)


def _gathered(
    machine: Machine, domain: Domain, cut: _Cut, v: _Column, sharded: _Column, width: float
) -> _Sums:
    kinds = ((CollectiveType.ALL_GATHER, np.flatnonzero(sharded)),)
    return _sums(machine, domain.groups, kinds, cut, v, width / domain.size)


def _sums(
    machine: Machine,
    groups: Groups,
    kinds: tuple[tuple[CollectiveType, _Column], ...],
    cut: _Cut,
    v: _Column,
    width: _Column,
) -> _Sums:
    lines = np.zeros((4, len(v)))
    start, slope, far_start, far_slope = lines
    for kind, rows in kinds:
        write_lines(machine, kind, groups, rows, width * cut.usual, start, slope)
        far = rows[v[rows] > 1]
        write_lines(machine, kind, groups, far, width * cut.chunk, far_start, far_slope)
    there = cut.first > 0
    start, far_start = np.where(there, start, 0.0), np.where(cut.last > 0, far_start, 0.0)
    return _Sums(
        np.maximum(start * cut.buckets + slope * width * cut.first, 0.0),
        np.maximum(start + slope * width * cut.opening, 0.0),
        np.maximum(far_start + far_slope * width * cut.chunk, 0.0),
        np.maximum(far_start + far_slope * width * cut.last, 0.0),
    )


def _uses(machine: Machine, domains: list[Domain]) -> list[_Column] | None:
    if len(domains) == 1 or machine.is_timed:
        return None
    uses = []
    for domain in domains:
        each = np.array([machine.occupancy(*pair) for pair in domain.groups.pairs])
        uses.append(each[domain.groups.back])
    return uses


def _together(uses: list[_Column] | None, sums: list[_Sums]) -> _Sums:
    if len(sums) == 1:
        return sums[0]
    if uses is None:
        return _Sums(*(reduce(np.maximum, of) for of in zip(*sums, strict=True)))
    most = [np.zeros_like(sums[0].first) for _ in _Sums._fields]
    for dimension in range(uses[0].shape[1]):
        for place, best in enumerate(most):
            busy = sum(one[place] * use[:, dimension] for one, use in zip(sums, uses, strict=True))
            np.maximum(best, busy, out=best)
    return _Sums(*most)


def _share(part: _Column, whole: _Column) -> _Column:
    share: _Column = np.minimum(part / np.maximum(whole, 1e-9), 1.0)
    return share


def write_lines(
    machine: Machine,
    kind: CollectiveType,
    groups: Groups,
    rows: _Column,
    each: _Column,
    start: _Column,
    slope: _Column,
) -> None:
    if len(rows):
        table = machine.table_of(kind, groups.pairs)
        back = groups.back[rows]
        at = table.begins.searchsorted(each[rows], side="right")
        start[rows], slope[rows] = table.starts[back, at], table.slopes[back, at]
