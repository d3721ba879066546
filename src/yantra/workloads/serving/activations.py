"""The memory of a forward pass: the most bytes of activations that live at once.

A tensor lives from the operator that makes it to the last that uses it, in the placement in which
it lies or is needed. What an allocator wastes and what kernels use for themselves is not counted.
"""

from __future__ import annotations

from yantra.workloads.operators.graph import Graph, Placement


def peak_bytes(graph: Graph) -> int:
    """Return the bytes of one rank."""
    last: dict[tuple[int, Placement], int] = {}
    sizes: dict[tuple[int, Placement], int] = {}
    for at, operator in enumerate(graph.operators):
        made = [(tensor, tensor.placement) for tensor in operator.outputs]
        for tensor, placement in (*operator.inputs, *made):
            if operator.program or tensor.placement != placement:
                last[tensor.number, placement] = at
                sizes[tensor.number, placement] = graph.bytes(tensor, placement)
    ends: dict[int, int] = {}
    for key, at in last.items():
        ends[at] = ends.get(at, 0) + sizes[key]
    living = peak = 0
    seen: set[tuple[int, Placement]] = set()
    for at, operator in enumerate(graph.operators):
        for tensor, placement in (*operator.inputs, *((t, t.placement) for t in operator.outputs)):
            key = (tensor.number, placement)
            if key in sizes and key not in seen:
                seen.add(key)
                living += sizes[key]
        peak = max(peak, living)
        living -= ends.get(at, 0)
    return peak
