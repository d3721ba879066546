"""A job in Megatron-LM's arguments: the inverse of `models/megatron`, by the same table of names.

Source: NVIDIA/Megatron-LM, megatron/training/arguments.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from yantra.base.errors import ConfigError
from yantra.workloads.frameworks.launch import Nodes, torchrun
from yantra.workloads.models.megatron.arguments import MODEL, NUMBER
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.names import ALIASES, Alias
from yantra.workloads.plan.plan import Plan

PROGRAM = "Megatron-LM"
_BY_NAME = {alias.name: alias for alias in ALIASES}
_NAMES = """
tensor_model_parallel_size context_parallel_size cp_comm_type pipeline_model_parallel_size
expert_model_parallel_size micro_batch_size global_batch_size ddp_bucket_size
decoder_first_pipeline_num_layers decoder_last_pipeline_num_layers moe_expert_capacity_factor
account_for_embedding_in_pipeline_split account_for_loss_in_pipeline_split exp_avg_dtype
exp_avg_sq_dtype overlap_grad_reduce overlap_param_gather optimizer_cpu_offload
cpu_offloading_num_layers overlap_moe_expert_parallel_comm optimizer
"""
"""Names whose alias says all; the others need a rule."""
SAYS: Mapping[str, tuple[Any, ...]] = {
    "schedule": ("1f1b", "interleaved"),
    "messages": ("whole",),
    "prefetch": (1,),
    "reshard_after_forward": (True,),
    "overlap_tensor": (True,),
    "gather_again": (True,),
}
"""Fields that a search varies, and what arguments can say of them."""
_SIZES = [name for name, kind in MODEL.items() if kind == NUMBER]
_DROPPED = 0.1
_UNFUSED = {
    "rope": "no-rope-fusion",
    "bias_dropout_add": "no-bias-dropout-fusion",
    "softmax_masks": "no-masked-softmax-fusion",
}


def script(model: Transformer, plan: Plan, sequence: int, nodes: Nodes) -> str:
    """A shell script that trains on mock data; more arguments may follow its name."""
    lines = [*arguments(model, plan, sequence), *_RUN]
    behind = " \\\n".join(f"  {line}" for line in lines)
    program = torchrun(nodes, "${MEGATRON:-.}/pretrain_gpt.py")
    return f'#!/bin/bash\nset -e\n{connections(plan)}{program} \\\n{behind} \\\n  "$@"\n'


def connections(plan: Plan) -> str:
    """The line of a script without which Megatron-Core refuses tp and cp before Blackwell.

    FSDP and hidden expert messages want more (its `training/arguments.py` at d98e8a6).
    """
    has_messages = max(plan.tp, plan.cp) > 1 and plan.zero < 2 and plan.overlap_experts == "none"
    name = "CUDA_DEVICE_MAX_CONNECTIONS"
    return f"export {name}=${{{name}:-1}}\n" if has_messages else ""


def arguments(model: Transformer, plan: Plan, sequence: int) -> list[str]:
    """What says the model and the plan."""
    return [*_model(model, sequence), *_plan(model, plan)]


_RUN = (
    "--mock-data --tokenizer-type NullTokenizer --split 99,1,0",
    "--transformer-impl transformer_engine --use-mcore-models",
    "--lr 1e-4 --train-iters 100 --eval-iters 0 --log-interval 1 --distributed-timeout-minutes 30",
)


def _model(model: Transformer, sequence: int) -> Iterator[str]:
    sizes = {name: getattr(model, name.replace("-", "_"), 0) for name in _SIZES}
    sizes |= {"seq-length": sequence, "padded-vocab-size": model.vocab_size}
    sizes["vocab-size"] = max(model.vocab_size - 1, 1)  # NullTokenizer adds an end
    sizes["max-position-embeddings"] = model.max_position_embeddings or sequence
    if model.num_query_groups == model.num_attention_heads:
        sizes["num-query-groups"] = 0
    for name, value in sizes.items():
        if value and not (name == "kv-channels" and model.multi_latent_attention):
            yield f"--{name} {value}"
    yield f"--normalization {model.normalization}"
    place = "rope" if model.rotary else "learned_absolute" if model.max_position_embeddings else ""
    yield f"--position-embedding-type {place or 'none'}"
    bias = model.mlp_bias
    for flag, holds in {
        "swiglu": model.gated_linear_unit,
        "disable-bias-linear": not bias,
        "add-qkv-bias": model.qkv_bias and not bias,
        "qk-layernorm": model.qk_layernorm or model.multi_latent_attention,
        "untie-embeddings-and-output-weights": not model.tie_word_embeddings,
        "multi-latent-attention": model.multi_latent_attention,
        "group-query-attention": bool(sizes["num-query-groups"]),
        "moe-router-enable-expert-bias": model.moe_router_enable_expert_bias,
        "moe-grouped-gemm": model.num_experts > 0,
    }.items():
        if holds:
            yield f"--{flag}"
    if model.moe_layer_freq:
        yield f"--moe-layer-freq {_pattern(model.moe_layer_freq)}"
    if model.window_size:
        yield f"--window-size {model.window_size - 1},0"
    if model.window_attn_skip_freq:
        yield f"--window-attn-skip-freq {_pattern(model.window_attn_skip_freq)}"


def _pattern(values: tuple[int, ...]) -> str:
    return f"'[{','.join(map(str, values))}]'"


def _plan(model: Transformer, plan: Plan) -> Iterator[str]:
    left_out = {name for name, holds in _pointless(plan) if holds}
    for name in _NAMES.split():
        if name in left_out:
            continue
        if (said := _value(_BY_NAME.get(name) or Alias(name, name, PROGRAM), plan)) is not None:
            yield f"--{name.replace('_', '-')}{said}"
    yield from _precision(plan)
    yield from _sharding(plan)
    yield from _pipeline(plan)
    yield from _kernels(model, plan)
    if model.num_experts:
        yield f"--expert-tensor-parallel-size {plan.etp}"
        yield f"--moe-token-dispatcher-type {'flex' if plan.dispatch == 'once' else 'alltoall'}"
    if plan.sequence_parallel:
        yield "--sequence-parallel"
    if plan.recompute in ("selective", "full"):
        yield f"--recompute-granularity {plan.recompute}"
    if plan.recompute == "selective":
        yield f"--recompute-modules {plan.recompute_modules.replace(',', ' ')}"
    if plan.recompute == "full":
        yield f"--recompute-method {plan.recompute_method}"
        yield f"--recompute-num-layers {plan.recompute_layers or 1}"
    rate = _DROPPED if plan.dropout else 0
    yield f"--hidden-dropout {rate} --attention-dropout {rate}"
    if plan.order == "tp-cp-ep-pp-dp":
        yield "--use-tp-pp-dp-mapping"


def _pointless(plan: Plan) -> Iterator[tuple[str, bool]]:
    """Arguments that its `validate_args` refuses where they would change nothing."""
    yield "overlap_param_gather", plan.zero == 0 or not plan.overlap_gradients


def _value(alias: Alias, plan: Plan) -> str | None:
    """What follows the name, empty for a switch; None where the name is left out."""
    value: Any = getattr(plan, alias.field)
    if alias.is_switch:
        on = value if alias.values is None else alias.values[True] == value
        return "" if on else None
    is_default = value == Plan.__dict__.get(alias.field) and alias.field != "micro_batch"
    return None if value is None or is_default else f" {value}"


def _precision(plan: Plan) -> Iterator[str]:
    if plan.dtype != "fp32":
        yield "--fp16" if plan.dtype == "fp16" else "--bf16"
    if plan.dtype in ("fp8", "fp8_block"):
        yield f"--fp8-format hybrid --fp8-recipe {plan.scaling}"
        if plan.narrow_weights:
            if not plan.zero:
                problem = f"{PROGRAM} has narrow weights with a sharded optimizer alone"
                raise ConfigError("plan.narrow_weights", problem)
            if plan.offload_optimizer and plan.scaling != "delayed":
                problem = f"{PROGRAM} offloads beside narrow weights with delayed scaling alone"
                raise ConfigError("plan.narrow_weights", problem)
            yield "--fp8-param-gather"
        if plan.narrow_weights and plan.scaling == "mxfp8" and plan.reuse_gradients:
            yield "--reuse-grad-buf-for-mxfp8-param-ag"
    if plan.dtype == "fp4":
        yield "--fp4-format e2m1"
    if plan.gradient_dtype == "bf16":
        yield "--grad-reduce-in-bf16"
    elif plan.gradient_dtype == "fp32":
        yield "--accumulate-allreduce-grads-in-fp32"
    kept = (plan.master_dtype, plan.exp_avg_dtype, plan.exp_avg_sq_dtype)
    if kept != ("fp32", "fp32", "fp32") or plan.offload_optimizer:
        yield "--use-precision-aware-optimizer"
        if plan.master_dtype == "fp16":
            yield "--main-params-dtype fp16"


def _sharding(plan: Plan) -> Iterator[str]:
    if plan.zero:
        yield "--use-distributed-optimizer"
    if plan.zero >= 2:
        kind = "optim_grads" if plan.zero == 2 else "optim_grads_params"
        yield f"--use-megatron-fsdp --data-parallel-sharding-strategy {kind}"
        yield "--ckpt-format fsdp_dtensor --no-gradient-accumulation-fusion"
    if plan.replicas > 1:
        yield f"--num-distributed-optimizer-instances {plan.replicas}"
    if plan.offload_optimizer and plan.offload_fraction != 1:
        yield f"--optimizer-offload-fraction {plan.offload_fraction}"


def _pipeline(plan: Plan) -> Iterator[str]:
    if plan.vpp > 1 and plan.pp == 1:
        raise ConfigError("plan.vpp", f"{PROGRAM} has no chunks without a pipeline")
    if plan.vpp > 1 and plan.pp == 2 and not plan.overlap_p2p:
        raise ConfigError("plan.overlap_p2p", f"{PROGRAM} overlaps messages of two stages")
    if plan.stage_layers:
        stages = ["t" * layers for layers in plan.stage_layers]
        yield f"--pipeline-model-parallel-layout 'E{'|'.join(stages)}L'"
    elif plan.vpp > 1:
        yield f"--num-virtual-stages-per-pipeline-rank {plan.vpp}"
    if not plan.overlap_p2p:
        yield "--no-overlap-p2p-communication"
    if plan.overlap_products:
        yield "--tp-comm-overlap"


def _kernels(model: Transformer, plan: Plan) -> Iterator[str]:
    unfused = plan.unfused_kernels.split(",")
    for kernel, flag in _UNFUSED.items():
        if kernel in unfused:
            yield f"--{flag}"
    if "bias_activation" in unfused:
        yield f"--no-bias-{'swiglu' if model.gated_linear_unit else 'gelu'}-fusion"
    for kernel in ("router", "permute") if model.num_experts else ():
        if kernel not in unfused:
            yield f"--moe-{kernel}-fusion"
    graphs = plan.cuda_graphs.split(",")
    if graphs == ["full_iteration"]:
        yield "--cuda-graph-impl local --cuda-graph-scope full_iteration"
    elif graphs != ["none"]:
        yield f"--cuda-graph-impl transformer_engine --cuda-graph-scope {' '.join(graphs)}"
    if not plan.flash_attention:
        yield "--attention-backend unfused"
    if plan.offload_modules != "none":
        modules = plan.offload_modules.replace(",", " ")
        yield f"--fine-grained-activation-offloading --offload-modules {modules}"
