"""DeepSpeed's JSON as fields of a plan.

Source: deepspeed.ai/docs/config-json.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.base.documents import parse_json
from yantra.base.errors import ConfigError, expected_got
from yantra.base.notes import note
from yantra.workloads.frameworks.hf_starts import by_name, is_whole, mapping_of, text_of

AUTO = "auto"
WEIGHTS_STAY = (
    "weights are taken to stay on the devices; what moving them adds is left out, so times are "
    "bounds from below"
)


def of_file(
    config: str, where: str, files: Mapping[str, str], plan: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    """What DeepSpeed's JSON says of a plan, or its name where it is not there."""
    if (text := text_of(config, files)) is None:
        return by_name(config, where, notes)
    place = f"{where}: {config}"
    tree, warnings = parse_json(text, place)
    notes += warnings
    if not isinstance(tree, dict):
        raise ConfigError(place, expected_got("DeepSpeed's JSON", tree))
    return of_tree(tree, place, plan)


def of_tree(tree: Mapping[str, Any], where: str, beside: Mapping[str, Any]) -> dict[str, Any]:
    """A plan from DeepSpeed's JSON; `auto` is what is said beside it."""
    plan = dict(beside)
    for key, own in (
        ("train_micro_batch_size_per_gpu", "micro_batch"),
        ("gradient_accumulation_steps", "gradient_accumulation_steps"),
        ("train_batch_size", "global_batch"),
    ):
        if tree.get(key, AUTO) != AUTO:
            plan[own] = _whole(tree[key], f"{where}: {key}")
    if "global_batch" in plan:
        plan.pop("gradient_accumulation_steps", None)
    zero = mapping_of(tree.get("zero_optimization"))
    plan["zero"] = _whole(zero.get("stage", 0), f"{where}: zero_optimization.stage")
    device = mapping_of(zero.get("offload_optimizer")).get("device", "none")
    plan["offload_optimizer"] = device not in ("none", None)
    if mapping_of(zero.get("offload_param")).get("device", "none") not in ("none", None):
        note(f"{where}: zero_optimization.offload_param: {WEIGHTS_STAY}")
    plan["overlap_gradients"] = zero.get("overlap_comm") in (True, None, AUTO)
    for dtype in ("bf16", "fp16"):
        if mapping_of(tree.get(dtype)).get("enabled") is True:
            plan["dtype"] = dtype
    plan.setdefault("dtype", "fp32")
    plan["gradient_dtype"] = "bf16" if plan["dtype"] == "fp8" else plan["dtype"]
    kind = tree.get("communication_data_type") or mapping_of(tree.get("data_types")).get(
        "grad_accum_dtype"
    )
    if kind in ("fp32", "bf16", "fp16"):
        plan["gradient_dtype"] = kind
    return plan


def _whole(value: object, place: str) -> int:
    if not is_whole(value):
        raise ConfigError(place, expected_got("a whole number", value))
    return int(str(value))
