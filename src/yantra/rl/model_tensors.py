"""The tensors of a model of `yantra.workloads`, for the messages of its refit.

Trade-off: a tensor that tensor parallelism cuts by rows, or not at all, has columns of the hidden
width where they divide it, else one; that moves rows between chunks of FSDP, and no byte else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from yantra.rl.layouts import Tensor
from yantra.workloads.operators.graph import Batch, Sequences
from yantra.workloads.serving.plan import InferencePlan
from yantra.workloads.serving.stages import Stages

if TYPE_CHECKING:
    from yantra.rl.layouts import Place
    from yantra.workloads.operators.operations import Weight

_BY_COLUMNS = ("down", "proj")  # products that end in the hidden width


def tensors_of_model(model: Any) -> list[Tensor]:
    """Return a model's tensors; what two devices of tensor parallelism have less of is cut."""
    one = Batch((Sequences(1, 1),), all_logits=False, padding=0)
    whole, half = (Stages(model, InferencePlan(tp=tp)).weights(0, one) for tp in (1, 2))
    found = []
    for weight, cut in zip(whole, half, strict=True):
        if weight.is_tied and weight.unit == "head":
            continue  # it is the embedding's
        found.append(_tensor(weight, model.hidden, is_cut=cut.elements < weight.elements))
    return found


def _tensor(weight: Weight, hidden: int, *, is_cut: bool) -> Tensor:
    is_expert = weight.domain == "expert"
    elements = weight.shape if is_expert else weight.elements
    product = weight.name.split(".")[-2]
    cut: Literal["rows", "columns", "none"] = "rows" if is_cut or is_expert else "none"
    if cut == "rows" and product in _BY_COLUMNS:
        cut, rows = "columns", hidden
    else:
        rows = elements // hidden if elements % hidden == 0 else elements
    return Tensor(
        weight.name,
        rows,
        elements // rows,
        cut,
        _place(weight),
        weight.packs,
        weight.elements // elements if is_expert else 0,
    )


def _place(weight: Weight) -> Place:
    unit, _, layer = weight.unit.partition(".")
    if layer:
        return int(layer)
    if unit == "head":
        return "last"
    return "both" if weight.is_tied else "first"
