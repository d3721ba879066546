"""The parts of a layer that selective recomputation may repeat, in Megatron-LM's names.

Source: Megatron-LM, `--recompute-modules` (core/transformer/transformer_config.py), and
`CheckpointWithoutOutput` (core/tensor_parallel/random.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yantra.workloads.operators.graph.operators.attention import CORE
from yantra.workloads.operators.names import names_in

if TYPE_CHECKING:
    from yantra.workloads.operators.graph.graph import Operator

CORE_ATTENTION = "core_attn"
DROPPED = ("layernorm", "moe_act", "mla_up_proj")
MODULES = (CORE_ATTENTION, *DROPPED, "mlp", "moe", "shared_experts")
USUAL = (CORE_ATTENTION,)
_UP = ("q_norm", "q_up", "kv_norm", "kv_up", "q_rope", "k_rope")


def modules_of(text: Any, field: str = "recompute_modules") -> tuple[str, ...]:
    """The modules of a list or a text with commas. Raises ConfigError."""
    return names_in(text, MODULES, field)


def module_of(operator: Operator, chosen: tuple[str, ...]) -> str:
    if operator.region == CORE:
        return CORE_ATTENTION if CORE_ATTENTION in chosen else ""
    if chosen == USUAL or "." not in operator.unit:
        return ""
    path = operator.name[len(operator.unit) + 1 :]
    scope, _, rest = path.partition(".")
    found = {
        "layernorm": not rest and scope.endswith("norm"),
        "moe_act": path in ("moe.experts.swiglu", "moe.experts.gelu"),
        "mla_up_proj": scope == "attention" and rest in _UP,
        "shared_experts": path.startswith("moe.shared."),
        "moe": scope == "moe",
        "mlp": scope == "mlp",
    }
    return next((name for name in found if found[name] and name in chosen), "")
