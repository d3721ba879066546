"""What the forward pass keeps for the backward pass, and for how long.

A tensor is kept once, as it was made where the needed placement is a gather away (the backward pass
gathers again: Korthikanti et al., 2022, section 4.2.2), else in the needed placement. Recomputation
drops the inside of a unit (full) or of modules (selective). By operators it keeps inside a unit the
results of attention, every second product and reduce-scatters.

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
from yantra.workloads.operators.graph.modules import DROPPED, module_of
from yantra.workloads.operators.graph.operators.attention import CORE
from yantra.workloads.operators.graph.tensor import Placement, Tensor
from yantra.workloads.operators.offloaded import offload_module
from yantra.workloads.operators.scalings import RECIPES

REPEATED_UNITS = ("layers.", "mtp.")
"""Full recomputation repeats units of these prefixes, not embedding and head."""


def stored(use: Use, gathers_again: bool = True) -> Placement:
    home = use.tensor.placement
    if home == use.placement:
        return home
    gathers = gathers_again and bool(home.axes() - use.placement.axes())
    return home if gathers and not home.partial else use.placement


def is_repeated(graph: Graph, operator: Operator) -> bool:
    recompute = graph.setting.recompute
    if recompute == "selective":
        return bool(_module(graph, operator))
    if recompute == "full" and graph.setting.recompute_layers:
        return operator.unit in graph.repeated_with
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
    if graph.setting.recompute == "selective":
        return f"{operator.unit}.{_module(graph, operator)}"
    return graph.repeated_with.get(operator.unit, operator.unit)


def is_dropped(graph: Graph, operator: Operator) -> bool:
    return graph.setting.recompute == "selective" and _module(graph, operator) in DROPPED


def _module(graph: Graph, operator: Operator) -> str:
    return module_of(operator, graph.setting.recompute_modules)


class Saved:
    """Items kept by the forward pass: `sizes` in bytes by tensor and placement."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sizes: dict[Key, int] = {}
        self.inside: dict[Key, int] = {}
        self.tensors: dict[Key, Tensor] = {}
        self._widths: dict[Key, set[float]] = {}
        self._users: dict[Key, list[Operator]] = {}
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

    def waiting(self) -> dict[str, int]:
        """Bytes that may wait in the host's memory, by the last unit that saves them."""
        chosen = self.graph.setting.offload_modules
        found: dict[str, int] = {}

        def is_chosen(operator: Operator) -> bool:
            return offload_module(operator.unit, operator.name) in chosen

        for key, users in self._users.items() if chosen else ():
            if key in self.sizes and all(map(is_chosen, users)):
                last = users[-1].unit
                found[last] = found.get(last, 0) + self.sizes[key]
        for one in self.graph.operators if chosen else ():
            if one.keeps and is_chosen(one) and not is_repeated(self.graph, one):
                found[one.unit] = found.get(one.unit, 0) + one.keeps
        return found

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
        recipe = RECIPES.get(self.graph.setting.scaling)
        keeps_twice = recipe is not None and recipe.keeps_twice
        return ceil(self.graph.local(tensor, key[1]) * (sum if keeps_twice else max)(widths))

    def _keep(
        self,
        use: Use,
        maker: Operator | None,
        user: Operator,
        by_gradient: bool,
        width: float | None,
    ) -> None:
        again = made_again(self.graph, maker) if maker is not None else ()
        is_again = any(one.number == use.tensor.number for one in again)
        together = False
        if is_again and maker is not None and not self._keeps_scattered(use):
            together = part_of(self.graph, maker) == part_of(self.graph, user)
            if together and not by_gradient:
                return
            together = together or is_dropped(self.graph, maker)
        placement = stored(use, self.graph.setting.gather_again)
        key = (use.tensor.number, placement)
        self.tensors[key] = use.tensor
        self._users.setdefault(key, []).append(user)
        (self.inside if together else self.sizes)[key] = self._bytes(key, use.tensor, width)

    def _keeps_scattered(self, use: Use) -> bool:
        if self.graph.setting.recompute != "operators" or not use.tensor.placement.partial:
            return False
        moves = self.graph.moves_of(use.tensor, use.tensor.placement, use.placement)
        return any(move.type == CollectiveType.REDUCE_SCATTER for move in moves)
