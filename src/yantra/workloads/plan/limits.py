"""Fields of a plan that a block refuses, found by building it with each field alone.

Trade-off: only a field's smallest value above 1 is tried.
"""

from __future__ import annotations

from typing import Any

from yantra.base.errors import ConfigError, YantraError
from yantra.workloads.models.blocks import Block
from yantra.workloads.operators.graph import Batch, Graph, Setting

_TOKENS = 128


def limits_of(model: Any, splits: int) -> tuple[tuple[str, str], ...]:
    tp = next((ways for ways in range(2, splits + 1) if splits % ways == 0), 2)
    tries: dict[str, tuple[dict[str, int], bool]] = {
        "tp": ({"tp": tp}, False),
        "sequence_parallel": ({"tp": tp}, True),
        "cp": ({"cp": 2}, False),
    }
    found: dict[str, str] = {}
    for field, (axes, sequence_parallel) in tries.items():
        setting = Setting(
            batch=Batch.of(1, _TOKENS * tp), axes=axes, sequence_parallel=sequence_parallel
        )
        for block in (model.front, *dict.fromkeys(model.layers), model.tail):
            reason = _refusal(block, setting, field, is_first=block is model.front)
            if reason is not None and field not in found:
                found[field] = reason
    if "tp" in found:
        found.pop("sequence_parallel", None)
    return tuple(found.items())


def _refusal(block: Any, setting: Setting, field: str, is_first: bool) -> str | None:
    if not isinstance(block, Block):
        return None
    g = Graph(setting)
    try:
        with g.unit("layers.0"):
            x = None if is_first else g.tensor("input", block.input_sizes(g), g.tokens())
            block.build(g, x)
    except ConfigError as error:
        return error.problem if error.where == field else None
    except YantraError:
        return None
    return None
