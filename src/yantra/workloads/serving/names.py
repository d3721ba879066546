"""vLLM's names for an inference workload, beside ours.

Sources: vLLM's engine arguments (`vllm/engine/arg_utils.py`) and configuration (`vllm/config`),
2025.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yantra.base.errors import ConfigError, did_you_mean, expected_got
from yantra.workloads.plan.names import key_of
from yantra.workloads.serving.plan import InferencePlan

_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32"}
_CACHES = {"auto": None, "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "bfloat16": "bf16"}
_QUANTIZED = dict.fromkeys(
    ("awq", "gptq", "awq_marlin", "gptq_marlin", "compressed-tensors-int4"), "int4"
)
_EXCHANGES = {"deepep_high_throughput": False, "deepep_low_latency": True}

ALIASES: Mapping[str, tuple[str, Mapping[Any, Any]]] = {
    "tensor_parallel_size": ("tp", {}),
    "pipeline_parallel_size": ("pp", {}),
    "data_parallel_size": ("dp", {}),
    "tensor_model_parallel_size": ("tp", {}),
    "pipeline_model_parallel_size": ("pp", {}),
    "expert_model_parallel_size": ("ep", {}),
    "expert_tensor_parallel_size": ("etp", {}),
    "vllm_pp_layer_partition": ("stage_layers", {}),
    "enable_sp": ("sequence_parallel", {}),
    "dtype": ("dtype", _DTYPES),
    "quantization": ("weight_dtype", _QUANTIZED),
    "kv_cache_dtype": ("kv_cache_dtype", _CACHES),
    "all2all_backend": ("low_latency", _EXCHANGES),
}
"""Name -> field of the plan, and translated values."""

SWITCH = "enable_expert_parallel"
"""Experts over all ranks of tp x dp."""


def inference_plan(given: Mapping[str, Any]) -> InferencePlan:
    """Raises ConfigError for an unknown name, and for a field with two values."""
    fields: dict[str, Any] = {}
    spelling: dict[str, str] = {}
    spread = False
    for name, value in given.items():
        key = key_of(name)
        if value is None:
            continue
        if key == SWITCH:
            if not isinstance(value, bool):
                raise ConfigError(name, expected_got("true or false", value))
            spread = value
            continue
        field, values = ALIASES.get(key, (key, {}))
        if field not in InferencePlan.field_names:
            known = (*InferencePlan.field_names, *ALIASES, SWITCH)
            hint = did_you_mean(key, known)
            raise ConfigError(name, f"an inference plan has no field of this name{hint}")
        meant = _translated(name, field, value, values)
        if fields.get(field, meant) != meant:
            raise ConfigError(name, f"contradicts {spelling[field]}: {value} and {fields[field]}")
        fields[field], spelling[field] = meant, name
    if spread:
        _spread(fields, spelling)
    try:
        return InferencePlan(**fields)
    except ConfigError as error:
        raise type(error)(spelling.get(error.where, error.where), error.problem) from None


def _translated(name: str, field: str, value: Any, values: Mapping[Any, Any]) -> Any:
    try:
        if value in values:
            return values[value]
    except TypeError:
        return value
    if field == "low_latency" and not isinstance(value, bool):
        raise ConfigError(name, expected_got(f"one of {', '.join(values)}", value))
    return value


def _spread(fields: dict[str, Any], spelling: dict[str, str]) -> None:
    ranks = [fields.get(axis, 1) for axis in ("tp", "dp")]
    if not all(isinstance(size, int) and size > 0 for size in ranks):
        return  # the plan refuses these
    if fields.get("ep", ranks[0] * ranks[1]) != ranks[0] * ranks[1]:
        problem = f"puts experts on tp x dp = {ranks[0]} x {ranks[1]} ranks"
        raise ConfigError(SWITCH, f"{problem}, but {spelling['ep']} says {fields['ep']}")
    fields["ep"] = ranks[0] * ranks[1]
    spelling.setdefault("ep", SWITCH)
