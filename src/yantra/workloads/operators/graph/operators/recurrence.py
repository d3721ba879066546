"""A recurrence along the sequence in chunks: what scans and linear attention share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from yantra.base.errors import ConfigError
from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Tensor
from yantra.workloads.operators.operations import Operation

STATE_BYTES = 4
"""fp32, as its sums are long."""


class Cost(NamedTuple):
    """Operations of a chunk over all heads; `vector` ones are not on matrix units."""

    tensor: int
    again: int = 0
    vector: int = 0

    def times(self, number: int) -> Cost:
        """Of `number` chunks."""
        return Cost(self.tensor * number, self.again * number, self.vector * number)

    def plus(self, other: Cost) -> Cost:
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))


def recurrence(
    g: Graph,
    name: str,
    inputs: tuple[Tensor, ...],
    *,
    width: int,
    state: int,
    chunk: int,
    cost: Callable[[int], Cost],
) -> Tensor:
    """Add the kernel `name`; `inputs` are split like the first, over heads."""
    if g.setting.ways("cp") > 1:
        raise ConfigError(
            "cp", f"a {name.replace('_', ' ')} is not split along the sequence; expected 1"
        )
    where = inputs[0].placement.dual()
    feature = inputs[0].sizes[-1][0]
    renamed = tuple(("y" if one == feature else one, axis) for one, axis in where.shards)
    sizes = {"tokens": inputs[0].size("tokens"), "y": width}
    out = g.tensor(name, sizes, where._replace(shards=renamed), inputs[0].width)
    uses = tuple(Use(one, one.placement.dual()) for one in inputs)
    ways = g.setting.ways("tp")
    total = _of_batch(g, chunk, cost)
    tensor, again, vector = (count // ways for count in total)
    read = sum(g.bytes(*use) for use in uses)
    states = STATE_BYTES * state * _chunks(g, chunk) // ways
    dtype = g.setting.precise_dtype
    forward = Operation(
        "", "scan", "forward", "",
        tensor_flops=tensor, vector_flops=vector,
        bytes_read=read + states, bytes_written=g.bytes(out) + states, dtype=dtype,
    )  # fmt: skip
    backward = Operation(
        "dgrad", "scan", "dgrad", "",
        tensor_flops=2 * tensor + again, vector_flops=2 * vector, repeated_flops=again,
        bytes_read=read + g.bytes(out) + 2 * states, bytes_written=read + 2 * states, dtype=dtype,
    )  # fmt: skip
    heads = uses[0].placement.axes()
    gives = tuple(
        (at, g.partial(use.placement, *(heads - use.placement.axes())))
        for at, use in enumerate(uses)
    )
    g.add(name, uses, (out,), (forward,), (Gradient((backward,), (0,), uses, gives),))
    return out


def _of_batch(g: Graph, chunk: int, cost: Callable[[int], Cost]) -> Cost:
    total = Cost(0)
    for group in g.setting.batch.groups:
        chunks, rest = divmod(group.new, chunk)
        total = total.plus(cost(chunk).times(group.number * chunks))
        if rest:
            total = total.plus(cost(rest).times(group.number))
    return total


def _chunks(g: Graph, chunk: int) -> int:
    return sum(group.number * -(-group.new // chunk) for group in g.setting.batch.groups)
