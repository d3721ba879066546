"""What the forward pass keeps for the backward pass, and for how long.

A tensor is kept once, as it was made where the needed placement is a gather away (the backward pass
gathers again: Korthikanti et al., 2022, section 4.2.2), else in the needed placement. Recomputation
drops the inside of a unit (full) or of the attention core (selective). By operators it keeps inside
a unit the results of attention, every second product and reduce-scatters.

Inputs of products in fewer than 16 bits are kept in that type, beside the tensor if another
gradient reads it; repeated products make them again; scales are not counted. Transformer Engine's
linear layers likewise save the quantised input, in one of its two layouts (NVIDIA/TransformerEngine
at 0004dbd, `transformer_engine/pytorch/module/linear.py`, `saved_inputmat`; since 2025
`update_usage(rowwise_usage=False, columnwise_usage=True)`).

Source of recomputation by operators: torchtitan's selective checkpointing with the option `op`
(Liang et al., "TorchTitan", ICLR 2025, section 2.2.1;
`torchtitan/distributed/activation_checkpoint.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from yantra.chakra import CollectiveType
from yantra.workloads.operators.graph.emit import Key
from yantra.workloads.operators.graph.graph import Graph, Operator, Use
from yantra.workloads.operators.graph.operators.attention import CORE
from yantra.workloads.operators.graph.tensor import Placement, Tensor

REPEATED_UNITS = "layers."
"""Full recomputation repeats units of this prefix, not embedding and head."""


def stored(use: Use, gathers_again: bool = True) -> Placement:
    home = use.tensor.placement
    if home == use.placement:
        return home
    gathers = gathers_again and bool(home.axes() - use.placement.axes())
    return home if gathers and not home.partial else use.placement


def is_repeated(graph: Graph, operator: Operator) -> bool:
    recompute = graph.setting.recompute
    if recompute == "selective":
        return operator.region == CORE
    if recompute == "none" or not operator.unit.startswith(REPEATED_UNITS):
        return False
    return recompute == "full" or (operator.region != CORE and operator.again != ())


def made_again(graph: Graph, operator: Operator) -> tuple[Tensor, ...]:
    if not is_repeated(graph, operator):
        return ()
    if graph.setting.recompute != "operators" or operator.again is None:
        return operator.outputs
    return tuple(operator.outputs[at] for at in operator.again)


def kept_outputs(graph: Graph, operator: Operator) -> tuple[Tensor, ...]:
    is_kept_kind = operator.region == CORE or operator.again is not None
    by_operators = graph.setting.recompute == "operators"
    if not (by_operators and is_kept_kind and operator.unit.startswith(REPEATED_UNITS)):
        return ()
    again = made_again(graph, operator)
    return tuple(out for out in operator.outputs if out not in again)


def part_of(graph: Graph, operator: Operator) -> str:
    """The part repeated as a whole with this operator; empty if it is not repeated."""
    selective = graph.setting.recompute == "selective"
    return f"{operator.unit}.{operator.region}" if selective else operator.unit


class Saved:
    """Items kept by the forward pass: `sizes` in bytes by tensor and placement.

    Repeated parts make those `inside` again, so the forward pass drops them. A tensor that
    gradients read in several widths is kept in each.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sizes: dict[Key, int] = {}
        self.inside: dict[Key, int] = {}
        self.tensors: dict[Key, Tensor] = {}
        self._widths: dict[Key, set[float]] = {}
        if not graph.setting.training:
            return
        makers = {out.number: operator for operator in graph.operators for out in operator.outputs}
        for operator in graph.operators:
            for out in kept_outputs(graph, operator):
                key = (out.number, out.placement)
                self.tensors[key], self.sizes[key] = out, self._bytes(key, out, None)
            for use, by_gradient, width in self._uses(operator):
                maker = makers.get(use.tensor.number)
                self._keep(use, maker, operator, by_gradient, width)
        for key in self.sizes:
            self.inside.pop(key, None)

    def _uses(self, operator: Operator) -> Iterable[tuple[Use, bool, float | None]]:
        repeated = is_repeated(self.graph, operator)
        for gradient in operator.gradients:
            for use in gradient.needs:
                yield use, True, None if repeated else gradient.kept_width
        if repeated:
            for use in operator.inputs:
                yield use, False, None

    def _bytes(self, key: Key, tensor: Tensor, width: float | None) -> int:
        widths = self._widths.setdefault(key, set())
        widths.add(tensor.width if width is None else width)
        return ceil(self.graph.local(tensor, key[1]) * sum(widths))

    def _keep(
        self,
        use: Use,
        maker: Operator | None,
        user: Operator,
        by_gradient: bool,
        width: float | None,
    ) -> None:
        together = (
            maker is not None
            and use.tensor in made_again(self.graph, maker)
            and part_of(self.graph, maker) == part_of(self.graph, user)
            and not self._keeps_scattered(use)
        )
        if together and not by_gradient:
            return
        placement = stored(use, self.graph.setting.gather_again)
        key = (use.tensor.number, placement)
        self.tensors[key] = use.tensor
        (self.inside if together else self.sizes)[key] = self._bytes(key, use.tensor, width)

    def _keeps_scattered(self, use: Use) -> bool:
        if self.graph.setting.recompute != "operators" or not use.tensor.placement.partial:
            return False
        moves = self.graph.moves_of(use.tensor, use.tensor.placement, use.placement)
        return any(move.type == CollectiveType.REDUCE_SCATTER for move in moves)
