"""What keeping replicas equal costs a step: weights gathered, gradients reduced, the optimizer.

With ZeRO-1 weights are gathered in the first forward pass of each chunk, a bucket at a time and one
ahead of its use: the first bucket of a chunk has nothing before it to hide it, and of several that
one layer needs only the first is on its way before the layer begins. Gradients are reduced
in the last backward pass of a chunk, a bucket as soon as it is there; the passes of the chunks
before it (p each, with their messages) hide them, and the last bucket has nothing behind it. Only
chunk 0 of the first device is cut into buckets, others are one each
(`yantra.workloads.training.step.buckets`). Without overlap all of it comes behind the passes, in
one bucket a chunk.

Trade-off: dense weights and experts take turns on links that both use, and else run side by side;
collectives that were measured as a whole always do, as they do in a run.
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
    """Weights that one device holds, elements: all, its layers', and what is before them.

    `opening` and `ending` are those of the layers of its first and its last chunk, `grain` is by
    how much a bucket exceeds its least size in the mean, `layer_count` the layers of the device.
    """

    all: _Column
    layers: _Column
    front: _Column
    opening: _Column
    ending: _Column
    grain: _Column
    layer_count: _Column


class Groups(NamedTuple):
    """The different groups of some rows, each a size and a stride, and which of them a row has."""

    pairs: tuple[tuple[int, int], ...]
    back: _Column


class Domain(NamedTuple):
    """Weights that the same ranks share; `held` by the first and by the last device."""

    held: tuple[Held, Held]
    size: _Column
    groups: Groups


class Costs(NamedTuple):
    """Of one device, in ns: gathers and reductions that nothing hides, the norm, the update.

    `reduced` are all reductions of one micro-batch.
    """

    gathers: _Column
    reductions: _Column
    norm: _Column
    update: _Column
    reduced: _Column


class Kernels(NamedTuple):
    """The kernels of the norm and the update of so many elements, for one type of gradients."""

    norm: Callable[[int], Operation]
    update: Callable[[int], Operation]


class Each(NamedTuple):
    """Bytes of an element's weight and gradient; which of the `kernels` each plan has."""

    weight: float
    gradient: _Column
    which: _Column
    kernels: tuple[Kernels, ...]

    def times(self, machine: Machine, name: str, elements: _Column, rows: Any = None) -> _Column:
        """Return the times of the norm or the update of so many elements of all plans or some."""
        which = self.which if rows is None else self.which[rows]
        found = np.zeros(len(elements))
        for number, made in enumerate(self.kernels):
            some = np.flatnonzero(which == number)
            if len(some):
                found[some] = machine.optimizer_ns(getattr(made, name), elements[some])
        return found


def groups_of(size: _Column, stride: _Column) -> Groups:
    """Return the groups of `size` ranks, `stride` apart."""
    first, back = distinct(np.stack([size, stride], axis=1))
    return Groups(tuple(zip(size[first].tolist(), stride[first].tolist(), strict=True)), back)


def least_of(copies: _Column) -> _Column:
    """Return the elements from which on a bucket is full, for so many replicas."""
    least: _Column = np.maximum(_BUCKET, _BUCKET_PER_RANK * copies)
    return least


class _Sums(NamedTuple):
    """Times of one domain: of chunk 0, of its last bucket, of each further chunk and the last."""

    first: _Column
    opening: _Column
    chunk: _Column
    last: _Column


class Owed(NamedTuple):
    """What devices owe for their weights, whatever their passes take, in ns.

    Of each domain `gathers`, the buckets `by_layer` that begin at a layer, and the share of its
    time in which it uses each dimension's links, `uses`, None where nothing is shared. Those of all
    domains together are `reduced` and `gathered`.
    """

    reduced: _Sums
    gathered: _Sums
    gathers: list[_Sums]
    by_layer: list[_Column]
    uses: list[_Column] | None
    norm: _Column
    update: _Column

    def at(self, rows: _Column) -> Owed:
        """Return the same for some rows."""

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
    """Return what the first (0) or the last (1) device of each plan owes.

    It does not depend on micro-batches, nor on what is computed again.
    """
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
) -> Costs:
    """Return what the first (0) or the last (1) device of each plan pays.

    `passes` are its forward and backward pass of one micro-batch over all its chunks, `late` by how
    much a message keeps the next device waiting, in ns, `taken` the share of a device that its
    collectives take from kernels beside them.
    """
    p, v, overlaps = columns["pp"], columns["vpp"], columns["overlap"] > 0
    forward, backward = (one / v for one in passes)
    reduced, awaited = owed.reduced, owed.gathered
    if device == 0:
        awaited = _together(owed.uses, _awaited(owed.gathers, owed.by_layer, forward))
    every, whole = _all(reduced, v), _all(owed.gathered, v)
    behind, before = _exposed(reduced, p, v, backward, late), _all(awaited, v)
    if taken:
        # Kernels that end later change nothing where reductions are under way for longer still.
        longer = reduced.opening + taken * np.maximum(every - reduced.opening, 0.0)
        behind = np.maximum(behind, longer)
        before = before + taken * np.maximum(whole - before, 0.0)
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
    """Return the times of the kernels that update a domain, one for each bucket."""
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
    """Return the times of all chunks but the first."""
    result: _Column = np.where(v > 1, (v - 2) * sums.chunk + sums.last, 0.0)
    return result


def _exposed(sums: _Sums, p: _Column, v: _Column, backward: _Column, late: _Column) -> _Column:
    """Return how long behind the last backward pass the last reduction ends.

    A chunk's one bucket is ready when its last pass ends, and p passes of each chunk in front of it
    come before the end. Those of chunk 0 are ready one after the other while its last pass runs.
    """
    between = p * (backward + late)
    nearest = np.where(v > 2, sums.chunk, sums.last) - between
    all_of_them = _further(sums, v) - (v - 1) * between
    before = np.where(v > 1, np.maximum(nearest, all_of_them), -np.inf)
    ready = -backward * (1 - _share(sums.opening, sums.first))
    result: _Column = np.maximum(sums.opening, np.maximum(before, ready) + sums.first)
    return result


def _awaited(sums: list[_Sums], by_layer: list[_Column], forward: _Column) -> list[_Sums]:
    """Return the gathers that the first passes wait for.

    One bucket is gathered ahead, while the layer before works. Of several that a layer needs that
    is the first, and one of dense weights where they have one; `by_layer` are the buckets of each
    domain that begin at a layer. Where there are experts, theirs of the first layer wait, too.
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
    """Elements of chunk 0, of its opening and its usual bucket, of each further chunk and the last.

    `buckets` are those of chunk 0; each other chunk is one.
    """

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
    last = np.maximum(held.all - first - (v - 2) * chunk, 0.0)  # the one has the tail, too
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
    """Return the times of a domain; `kinds` are the rows of each kind of collective."""
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
    """Return the share of its time in which each domain uses the links of each dimension."""
    if len(domains) == 1 or machine.is_timed:
        return None
    uses = []
    for domain in domains:
        each = np.array([machine.occupancy(*pair) for pair in domain.groups.pairs])
        uses.append(each[domain.groups.back])
    return uses


def _together(uses: list[_Column] | None, sums: list[_Sums]) -> _Sums:
    """Return what the sums of all domains take: the dimension with most to do says how long."""
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
    """Write the line that one collective of each row's group is on, for those rows."""
    if len(rows):
        table = machine.table_of(kind, groups.pairs)
        back = groups.back[rows]
        at = table.begins.searchsorted(each[rows], side="right")
        start[rows], slope[rows] = table.starts[back, at], table.slopes[back, at]
