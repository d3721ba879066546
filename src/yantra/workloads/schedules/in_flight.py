"""How many micro-batches' activations each device holds: from the start of F to the end of B, or of
W where the backward pass is split.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yantra.workloads.schedules.schedule import Order, Orders


def held(order: Order, chunks: int) -> Iterator[tuple[int, ...]]:
    counts = [0] * chunks
    for action in order:
        for step in action.steps:
            if step.kind == "F":
                counts[step.chunk] += 1
        yield tuple(counts)
        for step in action.steps:
            if step.kind in "BW":
                counts[step.chunk] -= 1


def peaks(orders: Orders) -> tuple[int, ...]:
    return tuple(max(map(sum, held(order, _chunks(order))), default=0) for order in orders)


def peaks_by_chunk(orders: Orders) -> tuple[tuple[int, ...], ...]:
    """For each device, the most micro-batches of each chunk that it holds at once."""
    return tuple(
        tuple(map(max, zip(*held(order, _chunks(order)), strict=True))) for order in orders
    )


def peak_bytes(order: Order, bytes_of_chunk: Sequence[int]) -> int:
    chunks = len(bytes_of_chunk)
    return max(
        (
            sum(count * size for count, size in zip(counts, bytes_of_chunk, strict=True))
            for counts in held(order, chunks)
        ),
        default=0,
    )


def _chunks(order: Order) -> int:
    return 1 + max((step.chunk for action in order for step in action.steps), default=-1)
