"""Passes of plans that shard weights over replicas (ZeRO-3, FSDP), from those that do not.

The weights of a layer are gathered while the layer before works, and in the backward pass its
gradients are reduced behind that, by the same ranks one after the other; a layer takes as long as
the longer of both, where kernels are longer by what collectives take of the device from them.
Experts are gathered when their layer begins, as one unit is gathered ahead, and the dense weights
of the layer are that one. The first layer of a pass has nothing before it, and the last has nothing
behind it that hides its reduction. Without overlap all of it is exposed
(`yantra.workloads.training.step.gather`, `reduce`). A device that waits for another stage does both
meanwhile, so a micro-batch crosses a pipeline without them.

Trade-off: a chunk's first and last layer are as the most usual one. Where collectives are
simulated, those of a layer and of experts meet dense weights on links they share; messages between
stages do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.chakra import CollectiveType
from yantra.explore.closed_form.replicas import Groups, write_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yantra.explore.closed_form.machine import Machine
    from yantra.explore.closed_form.passes import Part


class Sharers(NamedTuple):
    """Who shares the dense weights of some plans, and who the experts: how many, which group.

    `layer` are the groups whose collectives a layer waits for.
    """

    dense_size: np.ndarray
    dense: Groups
    expert_size: np.ndarray
    expert: Groups
    layer: Groups


class Passes(NamedTuple):
    """Parts with their passes as they are then, and what each chunk's passes take on top, in ns.

    `before` is how long a pass gathers before it needs what the stage before sends, `behind` how
    long it reduces when it has computed; a device that waits for others hides both.
    """

    parts: list[Part]
    forward: np.ndarray
    backward: np.ndarray
    before: np.ndarray
    behind: np.ndarray


class _Moves(NamedTuple):
    """Times in which a part is gathered and reduced: its dense weights, and its experts."""

    gathers: np.ndarray
    reduces: np.ndarray
    expert_gathers: np.ndarray
    expert_reduces: np.ndarray


class Links(NamedTuple):
    """By how much longer two collectives at once take than the longer, as they share links.

    `dense` and `experts` are the shares of each dimension (rows, dimensions) that weights use,
    `layer` that of a collective which a layer waits for in which it meets dense weights. These are
    sent in messages of a part to each of `near` ranks, `sent` are bytes of an element.
    """

    dense: np.ndarray
    experts: np.ndarray
    layer: np.ndarray
    near: np.ndarray
    sent: tuple[np.ndarray | float, np.ndarray | float]

    @classmethod
    def of(cls, machine: Machine, sharers: Sharers, weight: float, gradient: np.ndarray) -> Links:
        """Return the links of plans, by the occupancy of their groups."""
        uses = [
            np.array([machine.occupancy(*pair) for pair in groups.pairs])[groups.back]
            for groups in (sharers.dense, sharers.expert, sharers.layer)
        ]
        both = (uses[0] + uses[2]).max(axis=1)
        near = np.array([machine.nearest(*pair) for pair in sharers.dense.pairs])
        sent = weight, (weight + gradient) / 2.0
        meets = np.clip(both - 1.0, 0.0, 1.0)
        return cls(uses[0], uses[1], meets, near[sharers.dense.back], sent)

    def of_experts(self, of: _Moves) -> _Moves:
        """Experts that move while dense weights do."""
        if not of.expert_gathers.any():
            return of

        def together(dense: np.ndarray, experts: np.ndarray) -> np.ndarray:
            busy = dense[:, None] * self.dense + experts[:, None] * self.experts
            both: np.ndarray = np.where(experts > 0, np.maximum(experts, busy.max(axis=1)), 0.0)
            return both

        return of._replace(
            expert_gathers=together(of.gathers, of.expert_gathers),
            expert_reduces=together(of.reduces, of.expert_reduces),
        )

    def beside(
        self, part: Part, of: _Moves, rows: np.ndarray, hides: np.ndarray
    ) -> tuple[Part, _Moves]:
        """A part with exposed collectives, beside the dense weights and gradients that move.

        Messages take turns on a link: one that a layer waits for finds half of one of the weights
        before it in the mean, those after it a whole one.
        """
        times = part.forward[rows], part.backward[rows]
        works = np.minimum(part.kernels[rows] / np.maximum(times[0] + times[1], 1e-9), 1.0)
        elements, border = part.dense[rows] / self.near, np.maximum(part.border[rows], 1.0)
        longer, later = [], []
        moved = of.gathers, of.gathers + of.reduces
        for ns, one, each in zip(times, moved, self.sent, strict=True):
            waits = np.where(hides, self.layer * ns * (1.0 - works), 0.0)
            turns = (1.0 + elements * each / border) / 2.0
            beside = np.minimum(1.0, one / np.maximum(ns * works + waits * turns, 1e-9))
            longer.append(ns + waits * turns * beside)
            later.append(waits * beside)
        reduced = of.reduces / np.maximum(moved[1], 1e-9)
        gathers, reduces = of.gathers + later[0], of.reduces + later[1] * reduced
        return _with(part, rows, *longer), of._replace(gathers=gathers, reduces=reduces)


def sharded(
    machine: Machine,
    parts: Sequence[Part],
    rows: np.ndarray,
    hides: np.ndarray,
    layers: np.ndarray,
    sharers: Sharers,
    weight: float,
    gradient: np.ndarray,
) -> Passes:
    """Return the passes of plans of which those in `rows` shard their weights.

    `parts` are front, kinds of layers and tail of all plans; of those in `rows` alone, `hides` says
    whether weights and gradients move while the device computes, `layers` are those of a chunk in
    the mean, `weight` and `gradient` are bytes of an element.
    """
    none = np.zeros(len(parts[-1].forward))
    moves = [_moves(machine, part, rows, sharers, weight, gradient) for part in parts]
    if not machine.is_timed:
        links = Links.of(machine, sharers, weight, gradient)
        moves = [links.of_experts(of) for of in moves]
        pairs = zip(parts, moves, strict=True)
        parts, moves = zip(*(links.beside(*both, rows, hides) for both in pairs), strict=True)
    if taken := machine.taken:
        share = taken * hides * (1.0 - 1.0 / np.maximum(layers, 1.0))
        parts = [_beside(*both, rows, share) for both in zip(parts, moves, strict=True)]
    made = [_layer(part, of, rows, hides) for part, of in zip(parts, moves, strict=True)]
    usual, own = parts[-2], moves[-2]
    forward, backward = usual.forward[rows], usual.backward[rows]
    there, back = own.gathers, own.gathers + own.reduces
    extra = [none.copy() for _ in range(4)]
    # Dense weights and experts of the first layer are gathered at once, each behind what the last
    # layer of the pass before reduces.
    beside = back, own.expert_gathers + own.expert_reduces
    extra[2][rows] = np.where(hides, np.maximum(there, own.expert_gathers), there)
    extra[3][rows] = np.where(hides, np.maximum(*beside) - extra[2][rows], 0.0)
    extra[0][rows] = np.where(hides, np.minimum(forward, there), 0.0)
    # While the first layer of several works the next is gathered, and nothing reduced; while the
    # last works the one before is reduced, and nothing gathered. Beside a single one is neither.
    several = np.clip(layers - 1.0, 0.0, 1.0)
    longest = np.maximum(backward, back)
    first = several * (longest - np.maximum(backward, own.gathers))
    last = several * (longest - np.maximum(backward, own.reduces))
    neither = (1.0 - several) * (longest - backward)
    extra[1][rows] = np.where(hides, back - first - last - neither, 0.0)
    extra[0][rows] -= np.where(hides, np.minimum(there, own.expert_gathers), 0.0)
    extra[1][rows] -= np.where(hides, np.minimum(*beside), 0.0)
    front, tail = parts[0], parts[-1]
    ends = [
        _front(front, moves[0], rows, hides, own),
        _tail(tail, moves[-1], rows, hides, usual, own, first),
    ]
    return Passes([ends[0], *made[1:-1], ends[1]], *extra)


def _moves(
    machine: Machine,
    part: Part,
    rows: np.ndarray,
    sharers: Sharers,
    weight: float,
    gradient: np.ndarray,
) -> _Moves:
    found = []
    for elements, size, groups in (
        (part.dense, sharers.dense_size, sharers.dense),
        (part.expert, sharers.expert_size, sharers.expert),
    ):
        for kind, each in (
            (CollectiveType.ALL_GATHER, weight / size),
            (CollectiveType.REDUCE_SCATTER, gradient),
        ):
            moved = elements[rows] * each
            if not moved.any():
                found.append(moved)
                continue
            start, slope = np.zeros(len(rows)), np.zeros(len(rows))
            write_lines(machine, kind, groups, np.arange(len(rows)), moved, start, slope)
            found.append(np.where(moved > 0, np.maximum(start + slope * moved, 0.0), 0.0))
    dense_gathers, dense_reduces, expert_gathers, expert_reduces = found
    return _Moves(dense_gathers, dense_reduces, expert_gathers, expert_reduces)


def _with(part: Part, rows: np.ndarray, forward: np.ndarray, backward: np.ndarray) -> Part:
    there, back = np.array(part.forward), np.array(part.backward)
    there[rows], back[rows] = forward, backward
    return part._replace(forward=there, backward=back)


def _beside(part: Part, of: _Moves, rows: np.ndarray, taken: np.ndarray) -> Part:
    """A part whose kernels are longer beside the weights and gradients that move."""
    there, back = part.forward[rows], part.backward[rows]
    works = part.kernels[rows] / np.maximum(there + back, 1e-9)  # the rest is exposed messages
    share = taken * np.minimum(works, 1.0)
    there = there + np.minimum(share * of.gathers, there * share / (1.0 - share))
    back = back + np.minimum(share * (of.gathers + of.reduces), back * share / (1.0 - share))
    return _with(part, rows, there, back)


def _layer(part: Part, of: _Moves, rows: np.ndarray, hides: np.ndarray) -> Part:
    forward, backward = part.forward[rows], part.backward[rows]
    both = of.gathers + of.reduces
    there = np.where(hides, np.maximum(forward, of.gathers), forward + of.gathers)
    back = np.where(hides, np.maximum(backward, both), backward + both)
    experts = of.expert_gathers
    return _with(part, rows, there + experts, back + experts + of.expert_reduces)


def _front(part: Part, of: _Moves, rows: np.ndarray, hides: np.ndarray, layer: _Moves) -> Part:
    """What is in front is gathered alone; its backward pass reads no weights."""
    forward, backward = part.forward[rows], part.backward[rows]
    later = np.maximum(forward, layer.gathers) - layer.gathers
    there = of.gathers + np.where(hides, later, forward)
    hidden = np.maximum(backward, layer.reduces) - layer.reduces
    return _with(part, rows, there, of.reduces + np.where(hides, hidden, backward))


def _tail(
    part: Part,
    of: _Moves,
    rows: np.ndarray,
    hides: np.ndarray,
    usual: Part,
    layer: _Moves,
    idle: np.ndarray,
) -> Part:
    """The tail is gathered while the last layer works, and begins the backward pass.

    Its own reduction runs where nothing would beside the first layer of another chunk, `idle` ns.
    """
    forward, backward = part.forward[rows], part.backward[rows]
    before, behind = usual.forward[rows], usual.backward[rows]
    there = forward + np.where(hides, np.maximum(of.gathers - before, 0.0), of.gathers)
    later = np.maximum(backward, layer.gathers) - layer.gathers
    longer = np.maximum(behind, of.reduces + layer.gathers)
    longer = longer - np.maximum(behind, layer.reduces + layer.gathers)
    back = of.gathers + np.where(hides, later + longer + idle, backward + of.reduces)
    return _with(part, rows, there, back)
