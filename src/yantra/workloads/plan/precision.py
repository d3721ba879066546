"""Bytes of weights and of the optimizer's state in a step, by their types.

Sources: NVIDIA/TransformerEngine at d0067d0, `pytorch/module/linear.py` (weights are quantised in
both layouts), `pytorch/utils.py` (`is_non_tn_fp8_gemm_supported`); NVIDIA/Megatron-LM at d98e8a6,
`core/distributed/param_and_grad_buffer.py` (weights are gathered as bytes, those of MXFP8 as bf16
through the gradients' buffer) and `core/optimizer/optimizer_config.py` (types of state).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from yantra.workloads.operators.scalings import RECIPES, Scaling

if TYPE_CHECKING:
    from yantra.workloads.plan.plan import Plan

StateDtype = Literal["fp32", "bf16", "fp16", "fp8"]
MasterDtype = Literal["fp32", "fp16", "bf16", "remainder"]


SCALINGS: Mapping[str, tuple[Scaling, ...]] = {
    "fp8": ("tensorwise", "delayed", "mxfp8", "blockwise"),
    "fp8_block": ("blockwise",),
    "fp4": ("nvfp4",),
}
"""What a type of products can have, the usual first; other types have `none`."""
NARROW_WEIGHTS = ("delayed", "tensorwise", "mxfp8")
"""Where Megatron-Bridge's recipes keep no other copy (`training/mixed_precision.py`)."""
TRANSPOSED = tuple(name for name, recipe in RECIPES.items() if not recipe.both)
_STATE = {"fp32": 4, "bf16": 2, "fp16": 2, "fp8": 1, "remainder": 2}
_WIDE = 2


class Narrow(NamedTuple):
    """`kept` where it is always whole, `sharded` in a shard, `gathered` while it is whole for a
    time, `sent` in a message.
    """

    kept: float
    sharded: float
    gathered: float
    sent: float


def narrow_of(plan: Plan) -> Narrow | None:
    recipe = RECIPES.get(plan.scaling)
    if recipe is None:
        return None
    layouts = (2 if recipe.both or plan.transposed_weights else 1) * recipe.weight
    if not plan.narrow_weights:
        return Narrow(_WIDE + layouts, _WIDE, _WIDE + layouts, _WIDE)
    beside = _WIDE if recipe.sent == _WIDE and plan.zero in (1, 2) else 0
    own = 0 if plan.reuse_gradients else beside
    return Narrow(layouts + own, recipe.weight, layouts, recipe.sent)


def for_machine(plan: Plan, *, any_layout: bool) -> Plan:
    if any_layout and plan.transposed_weights and "transposed_weights" in plan.derived:
        return plan.replace(transposed_weights=False)
    return plan


def state_bytes(plan: Plan) -> int:
    """Bytes of the optimizer's state of an element, with the master copy of its weight.

    A remainder is what fp32 has beyond the bf16 weight; there is none beside narrow weights.
    """
    master = _STATE[plan.master_dtype]
    if plan.dtype == "fp32":
        master = 0  # the weight itself
    elif plan.master_dtype == "remainder" and plan.narrow_weights:
        master = 4
    moments = _STATE[plan.exp_avg_dtype]
    return master + moments + (_STATE[plan.exp_avg_sq_dtype] if plan.optimizer == "adam" else 0)
