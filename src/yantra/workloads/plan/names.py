"""Other programs' names for a plan's fields, and plans made from them.

`tensor_model_parallel_size` (Megatron-LM) is `tensor_parallel_size` (vLLM) and
`tensor_parallel_degree` (TorchTitan). Dashes or underscores are equal, leading dashes optional,
`no_` turns a switch off. Some names mean a value (`use_distributed_optimizer` is `zero=1`); those
in `COMPUTED` (`world_size`) need others.

Trade-off: a name has one meaning. Where two programs differ, Megatron's holds, and the other is
refused if recognisable (`sp=4`).

Sources: the arguments of Megatron-LM (megatron/training/arguments.py), DeepSpeed's configuration,
Hugging Face TrainingArguments, TorchTitan's [parallelism], vLLM's engine arguments, STG's and
AICB's command lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from yantra.base.errors import ConfigError, did_you_mean, expected_got, show
from yantra.workloads.plan.plan import SWITCHES, Plan

P = TypeVar("P", bound=Plan)


class Alias(NamedTuple):
    """A foreign name of a field.

    `values` translates the program's values into the field's, if they differ. A switch has the keys
    True and False; None says nothing about the field.
    """

    name: str
    field: str
    program: str
    values: Mapping[Any, Any] | None = None

    @property
    def is_switch(self) -> bool:
        return self.field in SWITCHES if self.values is None else True in self.values


def _switch(on: Any, off: Any = None) -> Mapping[Any, Any]:
    return {True: on, False: off}


_INVERSE = _switch(False, True)
_SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16"} | {
    short: short for short in ("fp32", "bf16", "fp16")
}
_MEGATRON, _DEEPSPEED, _HF = "Megatron-LM", "DeepSpeed", "Hugging Face"
_NEMO = "NeMo"
_TITAN, _VLLM, _STG, _AICB = "TorchTitan", "vLLM", "STG", "AICB"

ALIASES: tuple[Alias, ...] = (
    Alias("tensor_model_parallel_size", "tp", _MEGATRON),
    Alias("tensor_parallel_size", "tp", _VLLM),
    Alias("tensor_parallel_degree", "tp", _TITAN),
    Alias("model_parallel_size", "tp", _MEGATRON),
    Alias("sp", "sequence_parallel", _MEGATRON),
    Alias("enable_sequence_parallel", "sequence_parallel", _AICB),
    Alias("context_parallel_size", "cp", _MEGATRON),
    Alias("context_parallel_degree", "cp", _TITAN),
    Alias("cp_comm_type", "cp_kind", _MEGATRON),
    Alias("pipeline_model_parallel_size", "pp", _MEGATRON),
    Alias("pipeline_model_parallel", "pp", _AICB),
    Alias("pipeline_parallel_size", "pp", _VLLM),
    Alias("pipeline_parallel_degree", "pp", _TITAN),
    Alias("virtual_pipeline_model_parallel_size", "vpp", _MEGATRON),
    Alias("num_virtual_stages_per_pipeline_rank", "vpp", _MEGATRON),
    Alias("expert_model_parallel_size", "ep", _MEGATRON),
    Alias("expert_parallel_degree", "ep", _TITAN),
    Alias("expert_tensor_parallel_size", "etp", _MEGATRON),
    Alias("expert_tensor_parallel_degree", "etp", _TITAN),
    Alias("data_parallel_size", "dp", _VLLM),
    Alias("zero_stage", "zero", _DEEPSPEED),
    Alias("use_distributed_optimizer", "zero", _MEGATRON, _switch(1)),
    Alias("data_parallel_sharding_strategy", "zero", _MEGATRON, _SHARDING),
    Alias("use_torch_fsdp2", "zero", _MEGATRON, _switch(3)),
    Alias("weight_sharded", "zero", _STG, _switch(3)),
    Alias("fsdp_reshard_after_forward", "reshard_after_forward", _HF),
    Alias("micro_batch_size", "micro_batch", _MEGATRON),
    Alias("train_micro_batch_size_per_gpu", "micro_batch", _DEEPSPEED),
    Alias("per_device_train_batch_size", "micro_batch", _HF),
    Alias("global_batch_size", "global_batch", _MEGATRON),
    Alias("train_batch_size", "global_batch", _DEEPSPEED),
    Alias("iterations", "steps", "yantra workload infer"),
    Alias("pipeline_parallel_schedule", "schedule", _TITAN),
    Alias("selective_ac_option", "recompute", _TITAN, {"op": "operators"}),
    Alias("recompute_granularity", "recompute", _MEGATRON),
    Alias("recompute_num_layers", "recompute_layers", _MEGATRON),
    Alias("moe_layer_recompute", "recompute_modules", _MEGATRON, _switch("moe")),
    Alias("recompute_activations", "recompute", _MEGATRON, _switch("selective")),
    Alias("gradient_checkpointing", "recompute", _HF, _switch("full", "none")),
    Alias("activation_recompute", "recompute", _STG, _switch("full", "none")),
    Alias("bf16", "dtype", _MEGATRON, _switch("bf16")),
    Alias("fp16", "dtype", _MEGATRON, _switch("fp16")),
    Alias("fp8_format", "dtype", _MEGATRON, {"e4m3": "fp8", "hybrid": "fp8"}),
    Alias("fp4_format", "dtype", _MEGATRON, {"e2m1": "fp4"}),
    Alias("torch_dtype", "dtype", _HF, _DTYPES),
    Alias("fp8_recipe", "scaling", _MEGATRON),
    Alias("fp4_recipe", "scaling", _MEGATRON),
    Alias("fp8_param_gather", "narrow_weights", _MEGATRON),
    Alias("fp8_param", "narrow_weights", _MEGATRON),
    Alias("fp8_params", "narrow_weights", _NEMO),
    Alias("fp4_param_gather", "narrow_weights", _MEGATRON),
    Alias("fp4_param", "narrow_weights", _MEGATRON),
    Alias("reuse_grad_buf_for_mxfp8_param_ag", "reuse_gradients", _MEGATRON),
    Alias("use_precision_aware_optimizer", "master_dtype", _MEGATRON, _switch("remainder")),
    Alias("store_param_remainders", "master_dtype", _MEGATRON, _switch("remainder", "fp32")),
    Alias("main_params_dtype", "master_dtype", _MEGATRON, _DTYPES),
    Alias("main_grads_dtype", "gradient_dtype", _MEGATRON, _DTYPES),
    Alias("optimizer_offload_fraction", "offload_fraction", _MEGATRON),
    Alias("grad_reduce_in_bf16", "gradient_dtype", _MEGATRON, _switch("bf16")),
    Alias("accumulate_allreduce_grads_in_fp32", "gradient_dtype", _MEGATRON, _switch("fp32")),
    Alias("overlap_grad_reduce", "overlap_gradients", _MEGATRON),
    Alias("overlap_param_gather", "overlap_parameters", _MEGATRON),
    Alias("overlap_p2p_communication", "overlap_p2p", _MEGATRON),
    Alias("async_tensor_model_parallel_allreduce", "overlap_tensor", _MEGATRON),
    Alias("tp_comm_overlap", "overlap_products", _MEGATRON),
    Alias("overlap_moe_expert_parallel_comm", "overlap_experts", _MEGATRON, _switch("1f1b")),
    Alias(
        "moe_token_dispatcher_type",
        "dispatch",
        _MEGATRON,
        {"alltoall": "each", "flex": "once", "allgather": None},
    ),
    Alias("scatter_gather_tensors_in_pipeline", "messages", _MEGATRON, _switch("sliced", "whole")),
    Alias("ddp_bucket_size", "bucket_elements", _MEGATRON),
    Alias("optimizer_cpu_offload", "offload_optimizer", _MEGATRON),
    Alias("cpu_offloading", "offload_activations", _MEGATRON),
    Alias("cuda_graph_scope", "cuda_graphs", _MEGATRON),
    Alias("cpu_offloading_num_layers", "offload_layers", _MEGATRON),
    Alias("use_flash_attn", "flash_attention", _MEGATRON),
    Alias("cross_entropy_loss_fusion", "fused_loss", _MEGATRON),
    Alias("account_for_embedding_in_pipeline_split", "embedding_as_layer", _MEGATRON),
    Alias("account_for_loss_in_pipeline_split", "loss_as_layer", _MEGATRON),
    Alias("decoder_first_pipeline_num_layers", "first_stage_layers", _MEGATRON),
    Alias("decoder_last_pipeline_num_layers", "last_stage_layers", _MEGATRON),
    Alias("pipeline_model_parallel_layout", "stage_layers", _MEGATRON),
    Alias("lora_r", "lora_rank", _HF),
    Alias("lora_target_modules", "lora_targets", _HF),
    Alias("moe_expert_capacity_factor", "capacity_factor", _MEGATRON),
)

COMPUTED: Mapping[str, tuple[str, str]] = {
    "ranks": ("dp", "number of ranks; dp is what tp, cp and pp leave of it"),
    "world_size": ("dp", "the same (Megatron-LM, AICB)"),
    "gradient_accumulation_steps": (
        "global_batch",
        "micro-batches per step: global batch / (micro-batch x dp) (DeepSpeed, Hugging Face)",
    ),
    "num_distributed_optimizer_instances": (
        "shard",
        "copies of the sharded state: dp x cp / shard (Megatron-LM)",
    ),
    "data_parallel_replicate_degree": ("shard", "the same (TorchTitan)"),
}

SEQUENCE_NAMES = ("sequence", "seq", "seq_length", "sequence_length", "seq_len", "max_model_len")
"""Names of a job's sequence length (tokens): ours, then Megatron-LM, ..., vLLM."""

_REFINED: Mapping[str, tuple[Any, ...]] = {
    "use_precision_aware_optimizer": ("fp32", "fp16"),
    "use_distributed_optimizer": (2, 3),
    "bf16": ("fp8", "fp8_block", "fp4"),
    "fp16": ("fp8", "fp8_block", "fp4"),
}
"""Switches that Megatron-LM gives beside a more exact name, and what that may say: `bf16` beside
`fp8_format`."""

_BY_NAME = {alias.name: alias for alias in ALIASES} | {
    field: Alias(field, field, "") for field in Plan.field_names
}


_SHARED = frozenset(("bf16", "fp16", "sp", "micro_batch_size", "global_batch_size"))
_OWN_WORDS = {
    alias.name: alias.program
    for alias in ALIASES
    if alias.program in (_MEGATRON, _DEEPSPEED, _TITAN) and alias.name not in _SHARED
} | {
    "num_distributed_optimizer_instances": _MEGATRON,
    "data_parallel_replicate_degree": _TITAN,
}
"""The framework, for words that only one has."""


def no_field(key: str, otherwise: str = "") -> str:
    """What is wrong with a key that no field has; `otherwise` follows where none is near."""
    return f"a plan has no field of this name{did_you_mean(key, known_names()) or otherwise}"


def known_names() -> tuple[str, ...]:
    """Every name that `plan_fields` reads, the plan's own first."""
    return (*Plan.field_names, *(alias.name for alias in ALIASES), *COMPUTED)


def key_of(name: str) -> str:
    """How a name is looked up: `--micro-batch-size` as `micro_batch_size`."""
    return name.strip().lstrip("-").lower().replace("-", "_")


def is_known(name: str) -> bool:
    """Whether `plan_fields` reads a name."""
    return key_of(name) in COMPUTED or _found(key_of(name)) is not None


def takes_values(name: str) -> bool:
    """Whether a name takes the field's own values: `zero_stage`, not `bf16`."""
    alias = _found(key_of(name))
    return alias is not None and alias.values is None


def computed_from(name: str, plan: Plan) -> int | None:
    """The number that a name of `COMPUTED` has in a plan; None for other names."""
    field = COMPUTED.get(key_of(name), ("",))[0]
    numbers = {"dp": plan.ranks, "global_batch": plan.micro_batches, "shard": plan.replicas}
    return numbers.get(field)


def over(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Both, `upper` overriding `lower` whatever names they give a field."""
    given = {field_of(key_of(name)) for name, value in upper.items() if value is not None}
    kept = {name: value for name, value in lower.items() if field_of(key_of(name)) not in given}
    return {**kept, **upper}


def field_of(key: str) -> str:
    """The field that a key of `key_of` says; the key itself where none does."""
    if key in COMPUTED:
        return COMPUTED[key][0]
    alias = _found(key)
    return key if alias is None else alias.field


def plan_fields(given: Mapping[str, Any], make: type[P]) -> P:
    """Make a plan from foreign or own names; errors use the names given.

    Raises ConfigError for an unknown name or a field with two values.
    """
    fields: dict[str, Any] = {}
    spelling: dict[str, str] = {}
    computed: dict[str, tuple[str, Any]] = {}
    for name, value in given.items():
        key = key_of(name)
        if key in COMPUTED:
            if value is not None:
                computed[key] = (name, value)
            continue
        alias = _found(key)
        if alias is None:
            raise ConfigError(name, no_field(key))
        meant = _translated(alias, name, value)
        if meant is not None:
            _merge(fields, spelling, alias.field, name, meant)
    try:
        _compute(fields, spelling, computed)
        return make(**fields).spelled(spelling)
    except ConfigError as error:
        raise type(error)(spelling.get(error.where, error.where), error.problem) from None


def _merge(
    fields: dict[str, Any], spelling: dict[str, str], field: str, name: str, value: Any
) -> None:
    if field in fields and fields[field] != value:
        other, before = spelling[field], fields[field]
        if before in _REFINED.get(key_of(name), ()):
            return
        if value not in _REFINED.get(key_of(other), ()):
            problem = f"contradicts {other}: {show(value)} and {show(before)}"
            raise ConfigError(name, f"{problem} for the same field, {field}")
    fields[field] = value
    spelling[field] = name


def programs_of(given: Iterable[str]) -> tuple[str, ...]:
    """Words shared by many programs belong to none."""
    keys = (key_of(name) for name in given)
    own = (_OWN_WORDS.get(key) or _OWN_WORDS.get(key.removeprefix("no_")) for key in keys)
    return tuple(sorted({program for program in own if program}))


def _found(key: str) -> Alias | None:
    switch = _BY_NAME.get(key.removeprefix("no_"))
    if key in _BY_NAME or switch is None or switch.field not in SWITCHES:
        return _BY_NAME.get(key)
    return Alias(key, switch.field, "", _INVERSE)


def _translated(alias: Alias, name: str, value: object) -> Any:
    if alias.field == "sequence_parallel" and isinstance(value, int) and value not in (0, 1):
        problem = "true or false: sequence parallelism runs over the tp ranks; splitting"
        raise ConfigError(name, expected_got(f"{problem} sequences over other ranks is cp", value))
    if alias.values is None or value is None:
        return value
    try:
        return alias.values[value]
    except (KeyError, TypeError):
        words = ("true", "false") if alias.is_switch else alias.values
        expected = f"one of {', '.join(str(word) for word in words)}"
        raise ConfigError(name, expected_got(expected, value)) from None


def _compute(
    fields: dict[str, Any], spelling: dict[str, str], computed: Mapping[str, tuple[str, Any]]
) -> None:
    def size(field: str) -> int:
        value = fields.get(field, 1)
        return value if isinstance(value, int) and value > 0 else 1

    def put(field: str, name: str, value: int) -> None:
        if fields.get(field, value) != value:
            problem = f"gives {field} = {value}, but {spelling[field]} says {fields[field]}"
            raise ConfigError(name, problem)
        fields[field] = value
        spelling.setdefault(field, name)

    for key in ("ranks", "world_size"):
        if key in computed:
            name, ranks = _whole(*computed[key])
            others = size("tp") * size("cp") * size("pp")
            if ranks % others:
                product = f"tp x cp x pp = {size('tp')} x {size('cp')} x {size('pp')} = {others}"
                above = ranks + -ranks % others
                near = f"{above - others} or {above}" if ranks > others else str(above)
                raise ConfigError(name, f"{ranks} is no multiple of {product}; nearest: {near}")
            put("dp", name, ranks // others)
    if "gradient_accumulation_steps" in computed:
        name, steps = _whole(*computed["gradient_accumulation_steps"])
        put("global_batch", name, steps * size("micro_batch") * size("dp"))
    for key in ("num_distributed_optimizer_instances", "data_parallel_replicate_degree"):
        if key in computed:
            name, copies = _whole(*computed[key])
            every = size("dp") * size("cp")
            if every % copies:
                raise ConfigError(name, f"{copies} copies do not divide dp x cp = {every} ranks")
            if copies > 1:
                put("shard", name, every // copies)


def _whole(name: str, value: object) -> tuple[str, int]:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(name, expected_got("a whole number of at least 1", value))
    return name, value
