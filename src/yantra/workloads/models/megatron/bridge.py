"""Jobs from the configuration files of NeMo and Megatron-Bridge, by Megatron-LM's arguments.

A file has sections (`model`, `ddp`, `train`, ...) of fields that are mostly arguments with
underscores; those of other names are in `OWN`.

Source: NVIDIA-NeMo/Megatron-Bridge, `ConfigContainer` (src/megatron/bridge/training/config.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from yantra.base.documents import parse_yaml, read_text
from yantra.base.errors import ConfigError, expected_got
from yantra.workloads.models.megatron import Job, from_arguments
from yantra.workloads.models.megatron.arguments import (
    FLAG,
    MODEL,
    NOT_MODELLED,
    PLAN,
    PLAN_TOGETHER,
    REFUSED,
    WORDS,
)
from yantra.workloads.models.megatron.ignored import is_ignored

_USED = MODEL | PLAN | PLAN_TOGETHER
_SECTIONS = ("model", "comm_overlap", "mixed_precision", "ddp", "optimizer", "dist", "train")
"""Those that say what is trained and how it is split, later ones overriding earlier ones."""
OWN = {
    "num_moe_experts": "num-experts",
    "virtual_pipeline_model_parallel_size": "num-virtual-stages-per-pipeline-rank",
    "num_layers_in_first_pipeline_stage": "decoder-first-pipeline-num-layers",
    "num_layers_in_last_pipeline_stage": "decoder-last-pipeline-num-layers",
    "gated_linear_unit": "swiglu",
    "vocab_size": "padded-vocab-size",
    "fp8": "fp8-format",
    "fp4": "fp4-format",
}
INVERSE = {
    "add_bias_linear": "disable-bias-linear",
    "share_embeddings_and_output_weights": "untie-embeddings-and-output-weights",
    "overlap_p2p_comm": "",
    "apply_rope_fusion": "no_rope_fusion",
    "bias_activation_fusion": "no_bias_swiglu_fusion no_bias_gelu_fusion",
    "bias_dropout_fusion": "no_bias_dropout_fusion",
    "masked_softmax_fusion": "no_masked_softmax_fusion",
}
"""Switches whose argument turns them off."""
_NAMES = """
barrier_with_L1_time batch_p2p_comm batch_p2p_sync clone_scatter_output_in_embedding
cpu_offloading_activations fp4_recipe fp8_wgrad hf_model_id kitchen_attention_backend
linear_conv_kernel_dim linear_key_head_dim linear_num_key_heads linear_num_value_heads
linear_value_head_dim mamba_head_dim mamba_num_groups mamba_state_dim min_offloaded_tensor_size
moe_expert_rank_capacity_factor moe_hybridep_num_sms parallel_output perform_initialization
scatter_embedding_sequence_parallel softmax_type tp_comm_bulk_dgrad tp_comm_bulk_wgrad
tp_comm_split_ag tp_comm_split_rs use_mamba_mem_eff_path
"""
_FREE = frozenset(_NAMES.split())
"""What costs nothing, or is of models and switches that are off."""
_LETTERS = {"embedding": "E", "decoder": "t", "mtp": "m", "loss": "L"}
_ALWAYS = ("position_embedding_type", "hidden_dropout", "attention_dropout", "normalization")


def load(path: str | PathLike[str]) -> Job:
    """The job of a configuration file. Raises ConfigError."""
    return of_tree(parse_yaml(read_text(path), str(path)), str(path), Path(path).stem)


def of_tree(tree: Any, where: str, name: str) -> Job:
    """The job of a configuration. Raises ConfigError."""
    if not isinstance(tree, dict) or not isinstance(tree.get("model"), dict):
        raise ConfigError(where, expected_got("a section model, as Megatron-Bridge writes", tree))
    words: list[str] = []
    unread = []
    for field, value in _fields(tree).items():
        argument = argument_of(field)
        if argument in _USED:
            words += _words(argument, value)
        elif argument in REFUSED or argument in NOT_MODELLED:
            words.append(f"--{argument}")
        elif field not in _FREE and not is_ignored(argument):
            unread.append(field)
    if not tree["model"].get("multi_latent_attention"):
        words += _groups(tree["model"])
    job = from_arguments(words, where, name)
    notes = (*job.model.notes, *(f"{field}: not read" for field in unread))
    return job._replace(model=job.model.replace(notes=notes), ignored=())


def _fields(tree: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for section in _SECTIONS:
        of = tree.get(section)
        for name, value in of.items() if isinstance(of, dict) else ():
            if name.startswith("_") or (section != "model" and not _is_of_plan(name)):
                continue
            if name in INVERSE:
                if value is False:
                    found |= dict.fromkeys(INVERSE[name].split(), True)
            elif name in _ALWAYS or (value not in (None, False, "", 0, []) and _is_plain(value)):
                found[name] = value
            elif section == "ddp" and value is False:
                found.pop(name, None)
    wide = tree.get("ddp", {}) if isinstance(tree.get("ddp"), dict) else {}
    found["accumulate_allreduce_grads_in_fp32"] = bool(wide.get("grad_reduce_in_fp32", True))
    if not found["accumulate_allreduce_grads_in_fp32"] and not found.get("fp16"):
        found["grad_reduce_in_bf16"] = True
    for name in ("num_query_groups", "kv_channels"):
        found.pop(name, None)  # given with --group-query-attention, or by latent attention
    return found


def _is_plain(value: object) -> bool:
    return not isinstance(value, dict)


def argument_of(field: str) -> str:
    """Megatron-LM's argument for a field."""
    return OWN.get(field, field.replace("_", "-"))


def _is_of_plan(name: str) -> bool:
    argument = argument_of(name)
    return argument in PLAN or argument in PLAN_TOGETHER or argument in NOT_MODELLED


def _words(argument: str, value: Any) -> Iterator[str]:
    kind = _USED[argument]
    if kind == FLAG:
        if value:
            yield f"--{argument}"
        return
    yield f"--{argument}"
    if argument == "pipeline-model-parallel-layout" and isinstance(value, list):
        yield "|".join("".join(_LETTERS.get(one, "?") for one in stage) for stage in value)
    elif kind == WORDS:
        yield from map(str, value if isinstance(value, list) else [value])
    else:
        text = str(value).removeprefix("torch.")
        if argument.endswith("-dtype"):
            text = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}.get(text, text)
        yield text.replace(" ", "") if isinstance(value, list) else text


def _groups(model: Mapping[str, Any]) -> Iterator[str]:
    if (groups := model.get("num_query_groups")) not in (None, model.get("num_attention_heads")):
        yield from ("--group-query-attention", "--num-query-groups", str(groups))
    if model.get("kv_channels"):
        yield from ("--kv-channels", str(model["kv_channels"]))
