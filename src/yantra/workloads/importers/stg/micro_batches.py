"""Micro-batches: one's graph repeated, with common weights.

As in STAGE, a gradient is reduced in every micro-batch, and the reduced ones are added.

Source: astra-sim/stage@9ec6c02, the pass MicroBatchReplicator.
"""

from __future__ import annotations

from yantra.workloads.importers.stg import operators
from yantra.workloads.importers.stg.expressions import volume
from yantra.workloads.importers.stg.tensors import Graph, Spec, Tensor, copied, relink
from yantra.workloads.importers.stg.weights import weights_of


def repeat(graph: Graph, count: int) -> Graph:
    pairs = weights_of(graph)
    place = {tensor: index for index, tensor in enumerate(graph)}
    shared = {weight for weight, _ in pairs}
    merged: Graph = []
    parts: dict[Tensor, list[Tensor]] = {gradient: [] for gradient in _in_order(pairs, place)}
    for index in range(count):
        batch = copied(graph, f"mb{index}.".__add__)
        relink(batch, {batch[place[weight]]: weight for weight in shared})
        for gradient, gradients in parts.items():
            gradients.append(batch[place[gradient]])
        for old, tensor in zip(graph, batch, strict=True):
            tensor.micro_batch = index
            if old not in shared:
                merged.append(tensor)
    merged += [_summed(gradient, gradients) for gradient, gradients in parts.items()]
    return merged + [weight for weight, _ in pairs]


def _in_order(pairs: list[tuple[Tensor, Tensor]], place: dict[Tensor, int]) -> list[Tensor]:
    return sorted((gradient for _, gradient in pairs), key=place.__getitem__)


def _summed(gradient: Tensor, parts: list[Tensor]) -> Tensor:
    made = operators.output(gradient.spec)
    adding = Spec(
        operators.CUSTOM,
        *(made.shape, made.hidden, made.shape, made.hidden),
        amount=volume(made.shape),
        where=gradient.spec.where,
    )
    first, *others = parts
    total = Tensor(
        gradient.name, adding, first, also=tuple(others), backward=True, weight_gradient=True
    )
    total.unit = gradient.unit
    total.gradient_of = gradient.gradient_of
    return total
