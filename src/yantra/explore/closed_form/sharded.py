"""Passes of plans that shard weights (ZeRO-3, FSDP), from those that do not.

A layer's weights are gathered during the layer before, and its gradients reduced after that by the
same ranks; a layer takes the longer of both, its kernels slowed by what collectives take. One unit
is gathered ahead: the dense weights, so experts are gathered as their layer begins. A pass's first
layer has nothing before it, its last nothing to hide its reduction. Without overlap all is exposed
(`yantra.workloads.training.step.gather`, `reduce`). A device that waits for a stage does both
meanwhile, so a micro-batch crosses a pipeline without them.

Trade-off: a chunk's first and last layer are the most usual one.
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
    """How many and which group share dense weights, and experts;

    `layer` are groups whose collectives a layer waits for.
    """

    dense_size: np.ndarray
    dense: Groups
    expert_size: np.ndarray
    expert: Groups
    layer: Groups


class Passes(NamedTuple):
    """Parts with their passes, and what each chunk's passes add, in ns.

    `before`: gathering before input is needed, `behind`: reducing after computing; waits hide both.
    """

    parts: list[Part]
    forward: np.ndarray
    backward: np.ndarray
    before: np.ndarray
    behind: np.ndarray


class _Moves(NamedTuple):
    """Times to gather and reduce a part's dense weights and experts."""

    gathers: np.ndarray
    reduces: np.ndarray
    expert_gathers: np.ndarray
    expert_reduces: np.ndarray


class Links(NamedTuple):
    """How much two concurrent collectives on shared links exceed the longer.

    `dense` and `experts` are the shares of each dimension (rows, dimensions) used, `layer` that of
    an awaited collective that meets dense weights. Those go to each of `near` ranks, `sent` bytes
    an element.
    """

    dense: np.ndarray
    experts: np.ndarray
    layer: np.ndarray
    near: np.ndarray
    sent: tuple[np.ndarray | float, np.ndarray | float]

    @classmethod
    def of(cls, machine: Machine, sharers: Sharers, weight: float, gradient: np.ndarray) -> Links:
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
        """Experts that move beside dense weights."""
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
        """A part's exposed collectives beside moving dense weights and gradients."""
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
    """Return the passes of plans; those in `rows` shard weights.

    `parts` are of all plans, the rest of `rows` alone; `hides`: moves overlap with compute;
    `layers` are a chunk's mean; `weight`, `gradient` bytes an element.
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
    # The first layer's dense weights and experts are gathered at once, each behind the last
    # reductions of the pass before.
    beside = back, own.expert_gathers + own.expert_reduces
    extra[2][rows] = np.where(hides, np.maximum(there, own.expert_gathers), there)
    extra[3][rows] = np.where(hides, np.maximum(*beside) - extra[2][rows], 0.0)
    extra[0][rows] = np.where(hides, np.minimum(forward, there), 0.0)
    # Beside the first of several layers the next is only gathered, beside the last the one before
    # only reduced.
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
    """The front is gathered alone; its backward pass reads no weights."""
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
    """The tail is gathered during the last layer and begins the backward pass."""
    forward, backward = part.forward[rows], part.backward[rows]
    before, behind = usual.forward[rows], usual.backward[rows]
    there = forward + np.where(hides, np.maximum(of.gathers - before, 0.0), of.gathers)
    later = np.maximum(backward, layer.gathers) - layer.gathers
    longer = np.maximum(behind, of.reduces + layer.gathers)
    longer = longer - np.maximum(behind, layer.reduces + layer.gathers)
    back = of.gathers + np.where(hides, later + longer + idle, backward + of.reduces)
    return _with(part, rows, there, back)
