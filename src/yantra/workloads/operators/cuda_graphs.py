"""Which kernels of a step are launched by CUDA graphs, in Megatron-LM's scopes.

Trade-off: gradients of residual streams belong to no scope.

Source: Megatron-LM, `--cuda-graph-scope` (core/transformer/transformer_config.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from yantra.workloads.operators.names import NONE, names_in
from yantra.workloads.operators.operations import Operation

WHOLE = "full_iteration"
_OF_SCOPES = {
    "attn": ("attention",),
    "mlp": ("mlp",),
    "moe": ("moe", "mlp_norm", "mlp_residual"),
    "moe_router": ("moe.router", "moe.top_k", "moe.shared", "mlp_norm"),
    "moe_preprocess": (),
    WHOLE: ("",),
}


def scopes_of(text: Any, field: str = "cuda_graphs") -> tuple[str, ...]:
    """Raises ConfigError."""
    return names_in(text, (NONE, *_OF_SCOPES), field)


def launched(operations: Iterable[Operation], scopes: tuple[str, ...]) -> tuple[int, int]:
    begins = tuple(begin for scope in scopes for begin in _OF_SCOPES[scope])
    every = alone = 0
    for one in operations:
        if one.communicates:
            continue
        every += 1
        is_layer = one.unit.startswith(("layers.", "mtp.")) or WHOLE in scopes
        path = one.name[len(one.unit) + 1 :]
        alone += not (is_layer and path.startswith(begins) if begins else False)
    return every, alone
