"""What the forward pass keeps for the backward pass, and for how long.

A tensor that a gradient needs is kept once, however many need it. It is kept as it was made where
the needed placement is a gather away (the backward gathers it again: Korthikanti et al., 2022,
section 4.2.2), else in the needed placement. Recomputation drops what lies inside a unit (full) or
inside the attention core (selective) and keeps what goes into it.
"""

from __future__ import annotations

from collections.abc import Iterable

from yantra.workloads.operators.graph.emit import Key
from yantra.workloads.operators.graph.graph import Graph, Operator, Use
from yantra.workloads.operators.graph.operators.attention import CORE
from yantra.workloads.operators.graph.tensor import Placement, Tensor

REPEATED_UNITS = "layers."
"""Full recomputation repeats units of this prefix; embedding and head are kept."""


def stored(use: Use) -> Placement:
    """Return the placement in which a tensor is kept for this use."""
    home = use.tensor.placement
    gathers = bool(home.axes() - use.placement.axes())
    return home if gathers and not home.partial else use.placement


def is_repeated(graph: Graph, operator: Operator) -> bool:
    """Return whether the backward pass runs this operator's forward again."""
    recompute = graph.setting.recompute
    if recompute == "full":
        return operator.unit.startswith(REPEATED_UNITS)
    return recompute == "selective" and operator.region == CORE


def part_of(graph: Graph, operator: Operator) -> str:
    """Return what is repeated as a whole with this operator; empty if it is not repeated."""
    selective = graph.setting.recompute == "selective"
    return f"{operator.unit}.{operator.region}" if selective else operator.unit


class Saved:
    """Items kept by the forward pass: `sizes` in bytes by tensor and placement.

    `inside` are those that repeated parts make again, so that the forward pass drops them.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sizes: dict[Key, int] = {}
        self.inside: dict[Key, int] = {}
        self.tensors: dict[Key, Tensor] = {}
        if not graph.setting.training:
            return
        makers = {out.number: operator for operator in graph.operators for out in operator.outputs}
        for operator in graph.operators:
            for use, by_gradient in self._uses(operator):
                self._keep(use, makers.get(use.tensor.number), operator, by_gradient)
        for key in self.sizes:
            self.inside.pop(key, None)

    def _uses(self, operator: Operator) -> Iterable[tuple[Use, bool]]:
        """Yield what the backward pass reads, and whether a gradient reads it."""
        for gradient in operator.gradients:
            for use in gradient.needs:
                yield use, True
        if is_repeated(self.graph, operator):
            for use in operator.inputs:
                yield use, False

    def _keep(self, use: Use, maker: Operator | None, user: Operator, by_gradient: bool) -> None:
        """Keep a tensor outside of the part that repeats it, or inside for its own users."""
        together = (
            maker is not None
            and is_repeated(self.graph, maker)
            and is_repeated(self.graph, user)
            and part_of(self.graph, maker) == part_of(self.graph, user)
        )
        if together and not by_gradient:
            return
        placement = stored(use)
        key = (use.tensor.number, placement)
        self.tensors[key] = use.tensor
        (self.inside if together else self.sizes)[key] = self.graph.bytes(use.tensor, placement)
