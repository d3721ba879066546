"""Passes of plans that shard weights over replicas (ZeRO-3, FSDP), from those that do not.

The weights of a layer are gathered while the layer before works, and in the backward pass its
gradients are reduced behind that, by the same ranks one after the other; a layer takes as long as
the longer of both, where kernels are longer by what collectives take of the device from them.
Experts are gathered when their layer begins, as one unit is gathered ahead, and the dense weights
of the layer are that one. The first layer of a pass has nothing before it, and the last has nothing
behind it that hides its reduction. Without overlap all of it is exposed
(`yantra.workloads.training.step.gather`, `reduce`).

Trade-off: a chunk's first and last layer are as the most usual one; nothing contends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from yantra.chakra import CollectiveType
from yantra.explore.closed_form.replicas import Groups, write_lines

if TYPE_CHECKING:
    from yantra.explore.closed_form.machine import Machine
    from yantra.explore.closed_form.passes import Part


class Sharers(NamedTuple):
    """Who shares the dense weights of some plans, and who the experts: how many, which group."""

    dense_size: np.ndarray
    dense: Groups
    expert_size: np.ndarray
    expert: Groups


class Passes(NamedTuple):
    """Parts with their passes as they are then, and what each chunk's passes take on top, in ns.

    `before` is how long a pass gathers before it needs what the stage before sends.
    """

    parts: list[Part]
    forward: np.ndarray
    backward: np.ndarray
    before: np.ndarray


class _Moves(NamedTuple):
    """Times in which a part is gathered and reduced: its dense weights, and its experts."""

    gathers: np.ndarray
    reduces: np.ndarray
    expert_gathers: np.ndarray
    expert_reduces: np.ndarray


def sharded(
    machine: Machine,
    parts: list[Part],
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
    if taken := machine.taken:
        parts = [_beside(*both, rows, hides, taken) for both in zip(parts, moves, strict=True)]
    made = [_layer(part, of, rows, hides) for part, of in zip(parts, moves, strict=True)]
    usual, own = parts[-2], moves[-2]
    forward, backward = usual.forward[rows], usual.backward[rows]
    there, back = own.gathers, own.gathers + own.reduces
    extra = [none.copy(), none.copy(), none.copy()]
    extra[2][rows] = own.gathers
    extra[0][rows] = np.where(hides, np.minimum(forward, there), 0.0)
    # While the first layer of several works the next is gathered, and nothing reduced; while the
    # last works the one before is reduced, and nothing gathered. Beside a single one is neither.
    several = np.clip(layers - 1.0, 0.0, 1.0)
    longest = np.maximum(backward, back)
    first = several * (longest - np.maximum(backward, own.gathers))
    last = several * (longest - np.maximum(backward, own.reduces))
    neither = (1.0 - several) * (longest - backward)
    extra[1][rows] = np.where(hides, back - first - last - neither, 0.0)
    # Of the first layer both are gathered at once.
    for one in extra[:2]:
        one[rows] -= np.where(hides, np.minimum(own.gathers, own.expert_gathers), 0.0)
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


def _beside(part: Part, of: _Moves, rows: np.ndarray, hides: np.ndarray, taken: float) -> Part:
    """A part whose kernels are longer beside the weights and gradients that move."""
    there, back = part.forward[rows], part.backward[rows]
    works = part.kernels[rows] / np.maximum(there + back, 1e-9)  # the rest is exposed messages
    share = np.where(hides, taken * np.minimum(works, 1.0), 0.0)
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
