"""What keeping replicas equal costs a step: weights gathered, gradients reduced, the optimizer.

With ZeRO-1 weights are gathered in the first forward pass of each chunk, a bucket at a time and one
ahead of its use: the first bucket of a chunk has nothing before it to hide it, and of several that
one layer needs only the first is on its way before the layer begins. Gradients are reduced
in the last backward pass of a chunk, a bucket as soon as it is there; the passes of the chunks
before it (p each, with their messages) hide them, and the last bucket has nothing behind it. The
first device cuts its chunks into buckets, others have one a chunk
(`yantra.workloads.training.step.buckets`). Without overlap all of it comes behind the passes, in
one bucket a chunk.

Trade-off: dense weights and experts take turns on links that both use, and else run side by side;
collectives that were measured as a whole always do, as they do in a run.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

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

    `grain` is by how much a bucket exceeds its least size in the mean; `layer_count` are the layers
    of the device.
    """

    all: _Column
    layers: _Column
    front: _Column
    grain: _Column
    layer_count: _Column


class Groups(NamedTuple):
    """The different groups of some rows, and which of them each row has."""

    size: _Column
    stride: _Column
    back: _Column


class Domain(NamedTuple):
    """Weights that the same ranks share; `held` by the first and by the last device."""

    held: tuple[Held, Held]
    size: _Column
    groups: Groups


class Costs(NamedTuple):
    """Of one device, in ns: gathers and reductions that nothing hides, the norm, the update."""

    gathers: _Column
    reductions: _Column
    norm: _Column
    update: _Column


class Each(NamedTuple):
    """Bytes of an element's weight and gradient; the kernels of the norm and update of so many."""

    weight: float
    gradient: float
    norm: Callable[[int], Operation]
    update: Callable[[int], Operation]


def groups_of(size: _Column, stride: _Column) -> Groups:
    """Return the groups of `size` ranks, `stride` apart."""
    first, back = distinct(np.stack([size, stride], axis=1))
    return Groups(size[first], stride[first], back)


class _Sums(NamedTuple):
    """Times of one domain: all of a kind, in the bucket that nothing hides, of each chunk."""

    all: _Column
    first: _Column
    others: _Column


def costs_of(
    machine: Machine,
    domains: list[Domain],
    columns: Columns,
    device: int,
    passes: tuple[_Column, _Column],
    late: _Column,
    each: Each,
) -> Costs:
    """Return what the first (0) or the last (1) device of each plan pays.

    `passes` are its forward and backward pass of one micro-batch over all its chunks, `late` by how
    much a message keeps the next device waiting, in ns.
    """
    p, v = columns["pp"], columns["vpp"]
    sharded = columns["zero"] >= 1
    reductions, gathers = [], []
    by_layer = np.zeros(len(p))
    updated, update_ns = np.zeros(len(p)), np.zeros(len(p))
    copies = columns["dp"] * columns["cp"]
    overlaps = columns["overlap"] > 0
    least = np.maximum(_BUCKET, _BUCKET_PER_RANK * copies) if device == 0 else np.inf
    least = np.where(overlaps, least, np.inf)
    for domain in domains:
        held = domain.held[device]
        cut = _cut(held, v, least)
        reductions.append(_reduced(machine, domain, held.all, cut, sharded, each.gradient))
        by_layer = by_layer + held.layers / (held.layer_count * (least + held.grain))
        gathers.append(_gathered(machine, domain, held.all, cut, sharded, each.weight))
        own = np.where(sharded, held.all / domain.size, held.all)
        updated = updated + own
        update_ns += cut.buckets * machine.optimizer_ns(each.update, own / cut.buckets)
    reduced, gathered = (_together(machine, domains, of) for of in (reductions, gathers))
    forward, backward = (one / v for one in passes)
    hidden = backward * (1 - _share(reduced.first, reduced.all / v))
    hidden = hidden + (v - 1) * p * (backward + late)
    exposed = np.maximum(reduced.first, reduced.all - hidden)
    opening = gathered.first + (v - 1) * gathered.others if device == 0 else gathered.all
    rest = np.maximum(gathered.all - opening, 0.0)
    first_of_layer = rest / np.maximum(by_layer, 1.0)
    late = np.maximum(first_of_layer - v * forward * (1 - _share(opening, gathered.all)), 0.0)
    return Costs(
        np.where(overlaps, opening + rest - first_of_layer + late, gathered.all),
        np.where(overlaps, exposed, reduced.all),
        machine.optimizer_ns(each.norm, updated),
        update_ns,
    )


class _Cut(NamedTuple):
    """Shares of a device's weights in its first bucket, and in the first of each other chunk."""

    first: _Column
    others: _Column
    buckets: _Column


def _cut(held: Held, v: _Column, least: _Column | float) -> _Cut:
    whole = np.maximum(held.all, 1.0)
    chunk = np.where(v == 1, held.all - held.front, held.layers / v)  # the one has the tail, too
    usual = least + held.grain
    opening = np.minimum(chunk + held.front, np.maximum(usual, held.front + usual / 2))
    others = np.minimum(chunk, usual)
    return _Cut(opening / whole, others / whole, np.maximum(np.ceil(whole / usual), v))


def _reduced(
    machine: Machine, domain: Domain, elements: _Column, cut: _Cut, sharded: _Column, width: float
) -> _Sums:
    start, slope = np.zeros_like(elements), np.zeros_like(elements)
    each = width * elements * cut.others
    for kind, rows in (
        (CollectiveType.ALL_REDUCE, np.flatnonzero(~sharded)),
        (CollectiveType.REDUCE_SCATTER, np.flatnonzero(sharded)),
    ):
        _lines(machine, kind, domain.groups, rows, each, start, slope)
    return _sums(start, slope * width * elements, cut, elements > 0)


def _gathered(
    machine: Machine, domain: Domain, elements: _Column, cut: _Cut, sharded: _Column, width: float
) -> _Sums:
    start, slope = np.zeros_like(elements), np.zeros_like(elements)
    rows = np.flatnonzero(sharded)
    each = width * elements / domain.size * cut.others
    _lines(machine, CollectiveType.ALL_GATHER, domain.groups, rows, each, start, slope)
    return _sums(start, slope * width * elements / domain.size, cut, elements > 0)


def _sums(start: _Column, whole: _Column, cut: _Cut, there: _Column) -> _Sums:
    start = np.where(there, start, 0.0)
    return _Sums(
        np.maximum(start * cut.buckets + whole, 0.0),
        np.maximum(start + whole * cut.first, 0.0),
        np.maximum(start + whole * cut.others, 0.0),
    )


def _together(machine: Machine, domains: list[Domain], sums: list[_Sums]) -> _Sums:
    """Return what the sums of all domains take: the dimension with most to do says how long."""
    if len(domains) == 1:
        return sums[0]
    if machine.is_timed:
        return _Sums(*(reduce(np.maximum, of) for of in zip(*sums, strict=True)))
    most = [np.zeros_like(sums[0].all) for _ in _Sums._fields]
    uses = []
    for domain in domains:
        pairs = zip(domain.groups.size, domain.groups.stride, strict=True)
        each = np.array([machine.occupancy(int(size), int(stride)) for size, stride in pairs])
        uses.append(each[domain.groups.back])
    for dimension in range(machine.dimensions):
        for place, best in enumerate(most):
            busy = sum(one[place] * use[:, dimension] for one, use in zip(sums, uses, strict=True))
            np.maximum(best, busy, out=best)
    return _Sums(*most)


def _share(part: _Column, whole: _Column) -> _Column:
    share: _Column = np.minimum(part / np.maximum(whole, 1e-9), 1.0)
    return share


def _lines(
    machine: Machine,
    kind: CollectiveType,
    groups: Groups,
    rows: _Column,
    each: _Column,
    start: _Column,
    slope: _Column,
) -> None:
    """Write the line that one collective of each row's group is on, for those rows."""
    back = groups.back[rows]
    for at in np.unique(back):
        own = rows[back == at]
        group = int(groups.size[at]), int(groups.stride[at])
        start[own], slope[own] = machine.lines_at(kind, *group, each[own])
