"""Parts of a tensor and a tensor of parts, at no cost: names for existing memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yantra.workloads.operators.graph.graph import Gradient, Graph, Use
from yantra.workloads.operators.graph.tensor import Tensor


def parts(g: Graph, x: Tensor, sizes: Mapping[str, Mapping[str, int]]) -> tuple[Tensor, ...]:
    """All parts of `x` by name, with their dimensions."""
    where = x.placement.dual()
    made = tuple(g.tensor(name, part, where, x.width) for name, part in sizes.items())
    gradient = Gradient((), tuple(range(len(made))), gives=((0, where),))
    g.add("parts", (Use(x, where),), made, (), (gradient,))
    return made


def joined(g: Graph, inputs: Sequence[Tensor], name: str, sizes: Mapping[str, int]) -> Tensor:
    where = inputs[0].placement.dual()
    out = g.tensor(name, sizes, where, inputs[0].width)
    uses = tuple(Use(tensor, where) for tensor in inputs)
    gives = tuple((at, where) for at in range(len(uses)))
    g.add(name, uses, (out,), (), (Gradient((), (0,), gives=gives),))
    return out
