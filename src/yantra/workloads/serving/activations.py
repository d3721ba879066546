"""Peak bytes of activations in a forward pass."""

from __future__ import annotations

from yantra.workloads.operators.graph import Graph, Placement


def peak_bytes(graph: Graph) -> int:
    """One rank's bytes."""
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
