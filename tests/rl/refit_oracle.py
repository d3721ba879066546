"""A refit element by element: who holds each, who wants it, who sends it.

Nothing of the rectangles of `yantra.rl.layouts` is used here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from yantra.rl.layouts import Generation, Tensor, Training
from yantra.rl.refit import Dtype

Element = tuple[int, int, int]  # expert, row, column


def share(at: int, length: int, parts: int) -> int:
    """Return the part of tensor parallelism that has a row or column."""
    return next(r for r in range(parts) if r * length // parts <= at < (r + 1) * length // parts)


def cut_part(tensor: Tensor, element: Element, tp: int) -> int | None:
    """Return the rank of tensor parallelism that has an element; None: all have."""
    _, row, column = element
    if tensor.cut == "rows":
        return share(row, tensor.rows, tp)
    return share(column, tensor.columns, tp) if tensor.cut == "columns" else None


def chunk(tensor: Tensor, row: int, r: int, tp: int, chunks: int, *, whole: bool) -> int:
    """Return the share of FSDP that has a row of what a rank would hold."""
    low, high = 0, tensor.rows
    if tensor.cut == "rows" and not whole:
        low, high = r * tensor.rows // tp, (r + 1) * tensor.rows // tp
    return (row - low) // -(-(high - low) // chunks)


def holds(train: Training, tensor: Tensor, stages: set[int], element: Element, rank: int) -> bool:
    """Return whether a training rank holds an element."""
    stage, inside = divmod(rank, train.dp * train.tp)
    d, r = divmod(inside, train.tp)
    if stage not in stages:
        return False
    if tensor.experts:
        if element[0] // (tensor.experts // train.ep) != inside % train.ep:
            return False
        several = train.dp * train.tp // train.ep
        own, place = inside // train.ep, chunk(tensor, element[1], r, train.tp, several, whole=True)
        return not train.fsdp or own == place
    if cut_part(tensor, element, train.tp) not in (None, r):
        return False
    return not train.fsdp or d == chunk(tensor, element[1], r, train.tp, train.dp, whole=False)


def wants(generation: Generation, tensor: Tensor, element: Element, r: int) -> bool:
    """Return whether rank r of a generating replica wants an element."""
    if tensor.experts and generation.ep > 1:
        return element[0] // (tensor.experts // generation.ep) == r
    return cut_part(tensor, element, generation.tp) in (None, r)


def elements(tensor: Tensor) -> Iterator[Element]:
    for expert in range(max(tensor.experts, 1)):
        for row in range(tensor.rows):
            for column in range(tensor.columns):
                yield expert, row, column


def sent(
    tensors: list[Tensor],
    train: Training,
    generation: Generation,
    dtype: Dtype,
    *,
    colocated: bool,
    source: str,
) -> Counter[tuple[int, int]]:
    """Return bits by pair of ranks; a pair of one rank is what it has."""
    layers = 1 + max(t.place for t in tensors if isinstance(t.place, int))
    stage_of = train.stages(layers)
    first = 0 if colocated else train.ranks
    bits: Counter[tuple[int, int]] = Counter()
    for tensor in tensors:
        place = tensor.place
        ends = {"first": {0}, "last": {train.pp - 1}, "both": {0, train.pp - 1}}
        stages = {stage_of[place]} if isinstance(place, int) else ends[place]
        for element in elements(tensor):
            held = [
                rank for rank in range(train.ranks) if holds(train, tensor, stages, element, rank)
            ]
            for p in range(generation.replicas):
                for r in range(generation.tp):
                    if wants(generation, tensor, element, r):
                        end = first + p * generation.tp + r
                        begin = held[0 if source == "lowest" else (p + r) % len(held)]
                        bits[end if end in held else begin, end] += dtype.sent(tensor)
    return bits
