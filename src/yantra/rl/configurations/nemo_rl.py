"""Configurations of NeMo-RL: YAML with `grpo` and `policy`, and the files that it begins from.

Source: NVIDIA-NeMo/RL at 7ea279a, examples/configs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yantra.rl.configurations.tree import Tree

NAME = "nemo-rl"
MARKS = ("grpo", "policy")
IGNORED = (
    "logger", "checkpointing", "data", "reward_penalties", "on_policy_distillation", "env",
    "grpo.max_", "grpo.val_at", "grpo.val_start", "grpo.val_num", "grpo.seed", "grpo.normalize",
    "grpo.use_leave", "grpo.adv_",
    "grpo.stop_", "grpo.reward_", "grpo.overlong", "grpo.advantage", "grpo.invalid",
    "grpo.malformed", "grpo.seq_logprob", "loss_fn.", "policy.optimizer", "policy.scheduler",
    "policy.tokenizer", "policy.megatron_cfg.optimizer", "policy.megatron_cfg.scheduler",
    "policy.megatron_cfg.peft", "policy.megatron_cfg.checkpoint", "policy.megatron_cfg.env_vars",
    "policy.megatron_cfg.distributed", "policy.dtensor_cfg", "policy.max_grad_norm",
    "policy.generation.temperature", "policy.generation.top_", "policy.generation.val_",
    "policy.generation.stop", "policy.generation.port", "policy.generation.mcore",
    "policy.generation.refit_cfg", "policy.generation.vllm_cfg.use_tqdm",
    "policy.generation.vllm_cfg.enable_vllm", "policy.generation.vllm_cfg.vllm_metrics",
    "policy.draft", "policy.hf_config", "policy.generation_batch_size", "cluster.master",
    "cluster.segment", "grpo.async_grpo.max_generation_failures", "data_plane", "policy.precision",
    "policy.generation.backend", "policy.generation.max_new_tokens", "policy.megatron_cfg.moe_per",
    "policy.megatron_cfg.pipeline_dtype", "policy.megatron_cfg.mtp_",
    "policy.generation.vllm_cfg.http", "policy.generation.vllm_cfg.zmq", "grpo.batch_multiplier",
    "grpo.dynamic_sampling", "policy.make_sequence", "policy.megatron_cfg.freeze_moe",
    "policy.megatron_cfg.moe_router", "policy.megatron_cfg.converter",
    "policy.sequence_packing.algorithm", "policy.sequence_packing.sequence_length_round",
    "policy.sequence_packing.microbatch_order", "policy.generation.vllm_cfg.max_model_len",
    "policy.megatron_cfg.defer_fp32", "policy.megatron_cfg.empty_unused",
    "policy.megatron_cfg.bias_activation",
)  # fmt: skip
_MEGATRON, _VLLM = "policy.megatron_cfg", "policy.generation.vllm_cfg"
_USUAL: Mapping[str, Any] = {
    f"{_VLLM}.expert_parallel_size": 1, f"{_VLLM}.kv_cache_dtype": "auto",
    f"{_VLLM}.num_first_layers_in_bf16": 0, f"{_VLLM}.num_last_layers_in_bf16": 0,
    f"{_VLLM}.use_deep_gemm": False, "policy.logprob_chunk_size": None,
    "policy.offload_optimizer_for_logprob": False, f"{_MEGATRON}.fp8_cfg": None,
    "policy.generation.vllm_kwargs": {}, f"{_MEGATRON}.apply_rope_fusion": True,
    f"{_MEGATRON}.num_layers_in_first_pipeline_stage": None,
    f"{_MEGATRON}.num_layers_in_last_pipeline_stage": None,
}  # fmt: skip
_SPECULATIVE = "policy.generation.vllm_kwargs.speculative_config"


def fields(tree: Tree) -> dict[str, Any]:
    """Return the fields of a question that a configuration states."""
    prompts = tree.whole("grpo.num_prompts_per_step")
    each = tree.whole("grpo.num_generations_per_prompt")
    longest = tree.whole("policy.max_total_sequence_length")
    batch = tree.whole("policy.train_global_batch_size")
    micro = tree.whole("policy.train_micro_batch_size", 1) or 1
    score = tree.whole("policy.logprob_batch_size", micro) or micro
    gpus = (tree.whole("cluster.num_nodes", 1) or 1) * (tree.whole("cluster.gpus_per_node", 8) or 8)
    forced = tree.flag("loss_fn.force_on_policy_ratio")
    found: dict[str, Any] = {
        "model": tree.take("policy.model_name"),
        "prompts": prompts,
        "generations": each,
        "gpus": gpus,
        "train_batch": batch,
        "micro_tokens": _packed(tree, "train", longest and longest * micro),
        "score_tokens": _packed(tree, "logprob", longest and longest * score),
        "framework": NAME,
        "algorithm": "dapo" if tree.flag("grpo.use_dynamic_sampling") else "grpo",
        "generate": _generate(tree),
        "train": _train(tree),
        "reward_workers": tree.whole("env.math.num_workers", 8),
        "packing": tree.flag("policy.sequence_packing.enabled", True),
        "async_engine": tree.flag(f"{_VLLM}.async_engine"),
        **_mode(tree),
        **_validation(tree),
    }
    if not tree.flag("policy.dynamic_batching.enabled"):
        tree.skip("policy.dynamic_batching")
    tree.usual(_USUAL)
    if float(tree.take("loss_fn.reference_policy_kl_penalty", 0.01)) == 0:
        found["reference"] = False
    if found["algorithm"] == "dapo" and "staleness" not in found and found["mode"] != "one-off":
        found |= _rounds(tree)
    if forced and prompts and each and batch == prompts * each:
        found["policy"] = False
    return found


def _packed(tree: Tree, what: str, apart: int | None) -> int | None:
    """Tokens of a packed micro-batch, else of so many samples."""
    stated = tree.whole(f"policy.sequence_packing.{what}_mb_tokens")
    return stated if stated and tree.flag("policy.sequence_packing.enabled", True) else apart


def _rounds(tree: Tree) -> dict[str, Any]:
    """Dynamic sampling: it gives up behind one round more than it is allowed."""
    over = float(tree.take("grpo.batch_multiplier", 1))
    most = tree.whole("grpo.dynamic_sampling_max_gen_batches", 10) or 10
    thrown = max(1 - 1 / over, 0.0)
    tree.assume("filtered", thrown, "a round of batch_multiplier fills a step in the mean")
    return {"oversampling": over, "most_rounds": most + 1, "filtered": thrown}


def _validation(tree: Tree) -> dict[str, Any]:
    """Off where a file does not state its period; batches that are not full are left out."""
    every = tree.take("grpo.val_period")
    many, batch = tree.whole("grpo.max_val_samples", 256), tree.whole("grpo.val_batch_size", 256)
    if not every or not many or not batch or many < batch:
        return {}
    return {
        "validate_every": int(every), "validate_samples": many - many % batch,
        "validate_batch": batch,
    }  # fmt: skip


def _mode(tree: Tree) -> dict[str, Any]:
    apart = not tree.flag("policy.generation.colocated.enabled", True)
    age = tree.whole("grpo.async_grpo.max_trajectory_age_steps", 1)
    is_async = tree.flag("grpo.async_grpo.enabled")
    rule = "pause" if tree.flag("grpo.async_grpo.in_flight_weight_updates") else "drain"
    again = tree.flag("grpo.async_grpo.recompute_kv_cache_after_weight_updates")
    if not apart:
        return {"mode": "sync"}
    if not is_async:
        return {"mode": "sync-split"}
    beside = {"refit_rule": rule, "kv": "recompute" if again else "keep"}
    if age == 1:
        return {"mode": "one-off", **beside}
    return {"mode": "k-off", "staleness": age, **beside}


def _generate(tree: Tree) -> dict[str, Any]:
    own = "policy.generation.colocated"
    nodes = tree.whole(f"{own}.resources.num_nodes")
    each = tree.whole(f"{own}.resources.gpus_per_node")
    if each is None:
        each = tree.whole("cluster.gpus_per_node", 8)
    plan: dict[str, Any] = {
        "tp": tree.whole(f"{_VLLM}.tensor_parallel_size", 1),
        "pp": tree.whole(f"{_VLLM}.pipeline_parallel_size", 1),
        "gpu_memory_utilization": float(tree.take(f"{_VLLM}.gpu_memory_utilization", 0.9)),
        "max_num_seqs": tree.whole("policy.generation.vllm_kwargs.max_num_seqs", 1024),
        "num_speculative_tokens": tree.whole(f"{_SPECULATIVE}.num_speculative_tokens"),
    }
    if tree.flag(f"{_VLLM}.enforce_eager"):
        plan["enforce_eager"] = True
    if tree.take(f"{_VLLM}.precision") == "fp8":
        plan["dtype"] = "mxfp8" if tree.flag(f"{_VLLM}.is_mx") else "fp8_block"
    if not tree.flag(f"{own}.enabled", True):
        plan["gpus"] = (nodes or 1) * (each or 8)
    return {name: value for name, value in plan.items() if value is not None}


def _train(tree: Tree) -> dict[str, Any]:
    if not tree.flag(f"{_MEGATRON}.enabled"):
        own = "policy.dtensor_cfg"
        plan = {
            "tp": tree.whole(f"{own}.tensor_parallel_size", 1),
            "cp": tree.whole(f"{own}.context_parallel_size", 1),
            "zero": 3,
        }
        again = tree.flag(f"{own}.activation_checkpointing")
        return {**plan, "recompute": "full" if again else "none"}
    names = {
        "tp": "tensor_model", "cp": "context", "pp": "pipeline_model", "ep": "expert_model",
        "etp": "expert_tensor",
    }  # fmt: skip
    found: dict[str, Any] = {
        name: tree.whole(f"{_MEGATRON}.{word}_parallel_size", 1) for name, word in names.items()
    }
    if f"{_MEGATRON}.sequence_parallel" in tree and found["tp"] > 1:
        found["sequence_parallel"] = tree.flag(f"{_MEGATRON}.sequence_parallel")
    tree.take(f"{_MEGATRON}.sequence_parallel")
    found["recompute"] = "full" if tree.flag(f"{_MEGATRON}.activation_checkpointing") else "none"
    if tree.flag(f"{_MEGATRON}.fp8_cfg.enabled"):
        found["dtype"] = "fp8_block"
    return found
