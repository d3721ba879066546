"""A training step of a layered model, split by tensors and by data.

The graph of every rank, layers from 0; the first needs no input gradient:

    F0 -> AR0 -> F1 -> AR1 -> ... -> I[n-1] -> AR -> I[n-2] -> AR -> ... -> W0
                                       \\-> W[n-1] -> AR of weights

Source: the layer-wise workloads of ASTRA-sim 1.0 (Rashidi et al., ISPASS 2020); Shoeybi et al.,
Megatron-LM, 2019. No pipeline, optimiser step or memory limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.base.records import Record
from yantra.chakra import CollectiveType, Node, Trace, TraceBuilder


class Layer(Record):
    """Computing times on one rank (whole microseconds) and bytes of each all-reduce.

    `activation_bytes` is summed over the model-parallel ranks after forward and input-gradient
    computations, `weight_bytes` over the replicas. 0 bytes mean no all-reduce.
    """

    forward_micros: int
    input_gradient_micros: int
    weight_gradient_micros: int
    activation_bytes: int
    weight_bytes: int


class LayeredStep(NamedTuple):
    """One trace per rank, and the groups they name: (id, ranks) by ascending id."""

    traces: tuple[Trace, ...]
    groups: tuple[tuple[int, tuple[int, ...]], ...]


def step(layers: Sequence[Layer], sizes: Sequence[int], model_dimensions: int = 1) -> LayeredStep:
    """Make one training step; `sizes` are of the network's dimensions, innermost first.

    The first `model_dimensions` are model-parallel, the others data-parallel, one communicator
    each; either may be none.
    """
    if not layers:
        raise ConfigError("layers", "must have at least one layer")
    if not 0 <= model_dimensions <= len(sizes):
        problem = f"expected 0 to {len(sizes)}, the dimensions of the network"
        raise ConfigError("model_dimensions", f"{problem}; got {model_dimensions}")
    ranks = prod(sizes)
    stride = prod(sizes[:model_dimensions])
    sharing = [tuple(range(first, first + stride)) for first in range(0, ranks, stride)]
    replicas = [tuple(range(first, ranks, stride)) for first in range(stride)]
    members = [group for group in (*sharing, *replicas) if len(group) > 1]
    name_of = {group: str(number) for number, group in enumerate(members, start=1)}
    traces = (
        _trace(layers, name_of.get(sharing[rank // stride]), name_of.get(replicas[rank % stride]))
        for rank in range(ranks)
    )
    return LayeredStep(tuple(traces), tuple(enumerate(members, start=1)))


def _trace(layers: Sequence[Layer], model_group: str | None, data_group: str | None) -> Trace:
    builder = TraceBuilder()
    last: list[Node] = []

    def compute(name: str, micros: int) -> Node:
        return builder.compute(name, duration_micros=micros, after=last)

    def reduce(name: str, size_bytes: int, group: str | None, after: Node) -> Node:
        if group is None or size_bytes == 0:
            return after
        kind = CollectiveType.ALL_REDUCE
        return builder.collective(kind, size_bytes, name=name, group=group, after=after)

    for index, layer in enumerate(layers):
        node = compute(f"forward {index}", layer.forward_micros)
        last = [reduce(f"activations {index}", layer.activation_bytes, model_group, node)]
    for index, layer in reversed(list(enumerate(layers))):
        before = last
        if index > 0:
            node = compute(f"input gradient {index}", layer.input_gradient_micros)
            before = [node]
            last = [reduce(f"input gradients {index}", layer.activation_bytes, model_group, node)]
        node = builder.compute(
            f"weight gradient {index}",
            duration_micros=layer.weight_gradient_micros,
            after=before,
        )
        reduce(f"weight gradients {index}", layer.weight_bytes, data_group, node)
    return builder.build()
