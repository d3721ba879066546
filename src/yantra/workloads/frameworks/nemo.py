"""NeMo's configurations: those of NeMo 1 and of Megatron-Bridge, and the latter back.

They are Megatron-LM's arguments in sections, by the tables of `models/megatron/bridge.py`.

Sources: NVIDIA/NeMo, examples/nlp/language_modeling/conf; NVIDIA-NeMo/Megatron-Bridge,
src/megatron/bridge/training/config.py.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from os import path as paths
from typing import Any

from yantra.base.errors import ConfigError, expected_got
from yantra.base.notes import note
from yantra.base.open_values import Open
from yantra.workloads.frameworks import megatron
from yantra.workloads.frameworks.checkpoints import sizes_of_id
from yantra.workloads.frameworks.hf_starts import mapping_of
from yantra.workloads.frameworks.launch import Nodes, torchrun
from yantra.workloads.frameworks.said import Said, sizes_of
from yantra.workloads.models import hub
from yantra.workloads.models.megatron import bridge, tokenizers
from yantra.workloads.models.megatron.arguments import MODEL, NUMBER, PLAN, PLAN_TOGETHER, WORDS
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan

PROGRAM = "Megatron-Bridge"
SAYS = megatron.SAYS
_SECTIONS = ("trainer", "train", "ddp", "optim", "optimizer", "dist")
_DIFFERENT = {
    "encoder_seq_length": "seq_length",
    "activations_checkpoint_granularity": "recompute_granularity",
    "activations_checkpoint_method": "recompute_method",
    "activations_checkpoint_num_layers": "recompute_num_layers",
    "bias": "add_bias_linear",
    "num_experts": "num_moe_experts",
    "qkv_bias": "add_qkv_bias",
}
"""NeMo 1's fields, and Megatron-Core's."""
_ACTIVATIONS = {"swiglu": True, "fast-swiglu": True, "geglu": True, "fast-geglu": True,
                "gelu": False, "squared-relu": False, "relu": False}  # fmt: skip
_NORMS = {"rmsnorm": "RMSNorm", "layernorm": "LayerNorm", "layernorm1p": "LayerNorm"}
_NAMES = """
transformer_engine apply_embedding_scaling fsdp_sharding_strategy fsdp_grad_reduce_dtype
cpu_offloading_weights
restore_from_path restore_from_ckpt mcore_gpt pre_process post_process use_scaled_init_method
ffn_dropout do_layer_norm_weight_decay layernorm_epsilon headscale transformer_block_type
normalize_attention_scores attention_type tokenizer native_amp_init_scale
native_amp_growth_interval grad_div_ar_fusion grad_allreduce_chunk_size_mb
get_attention_mask_from_fusion data optim nsys_profile gc_interval precision activation
share_embeddings_and_output_weights name resume_from_checkpoint apex_transformer_log_level
gradient_as_bucket_view use_cpu sync_batch_comm nccl_communicator_config_path
activations_checkpoint_layers_per_pipeline num_micro_batches_with_partial_activation_checkpoints
seq_len_interpolation_factor rotary_percentage megatron_amp_O2 fp8_e4m3 fp8_hybrid reduce_amax
fp8_params ub_tp_comm_overlap use_emha zarr_ckpt onnx_safe rotary_base load_from target
dist_ckpt_format dist_ckpt_load_on_device dist_ckpt_parallel_save use_flash_attention
tp_comm_overlap_ag tp_comm_overlap_rs scale_positional_embedding max_position_embeddings
attn_mask_type embedding_scale persist_layer_norm batch_p2p_comm seed
"""
_FREE = frozenset(_NAMES.split())
_OTHERS = ("gemma2", "griffin", "mamba", "hyena", "bert", "bart", "t5", "ul2", "retro")
"""Programs whose names say layers that the fields do not."""
_NEEDS = re.compile(r"\$\{(?:\.|model\.)([\w.]+)\}")
_FROM_TOP = re.compile(r"\$\{(\w[\w.]*)\}")
_DEEPEST = 8
_MULTIPLY = re.compile(r"\$\{multiply: ?(\d+), ?(\$\{(?:\.|model\.)\w+\})\}")
_GPT2 = ("megatron", "GPT2BPETokenizer")
_TOKENIZERS = {
    "bigcode/starcoder2-tokenizer": 49_152,
    "mistral-community/Mixtral-8x22B-v0.1": 32_000,
    "mistralai/Mistral-7B-v0.1": 32_000,
    "mistralai/Mistral-Large-Instruct-2407": 32_768,
    "mistralai/Mistral-Nemo-Base-2407": 131_072,
    "mistralai/Mixtral-8x7B-v0.1": 32_000,
    "tiiuae/falcon-7b": 65_024,
}
"""Words of published tokenizers, by their cards, beyond those of known models."""


def is_config(tree: object) -> bool:
    """Whether a mapping is a configuration of NeMo's or Megatron-Bridge's."""
    return (
        isinstance(tree, dict)
        and isinstance(tree.get("model"), dict)
        and any(isinstance(tree.get(section), dict) for section in _SECTIONS)
        and "plan" not in tree
    )


def read(tree: Mapping[str, Any], where: str, ranks: int | None = None) -> Said:
    """Raises ConfigError for what is not covered; what is not read is a note."""
    tree = _booleans(tree)
    tree = _from_top(tree, tree)
    is_first = "trainer" in tree
    whole = _as_bridge(tree, where) if is_first else dict(tree)
    words = _words(tree["model"].get("tokenizer") or {}) if is_first else 0
    if is_first and not words:
        words = tokenizers.words_of_path(str(tree.get("name", "")).removeprefix("megatron_"))
        if words:
            note(
                f"{where}: a vocabulary of {words}, of its name; --set workload.model.vocab_size=N"
            )
    if words and "vocab_size" not in whole["model"]:
        step = int(tree["model"].get("make_vocab_size_divisible_by") or 128)
        step *= int(whole["model"].get("tensor_model_parallel_size") or 1)
        whole["model"] = whole["model"] | {"vocab_size": -(-words // step) * step}
    has_words = "vocab_size" in whole["model"]
    if not has_words:
        whole["model"] = whole["model"] | {"vocab_size": 1}
    if "num_layers" not in whole["model"]:
        return _of_checkpoint(tree, whole, where, ranks)
    job = bridge.of_tree(whole, where, "nemo")
    sizes, notes = sizes_of(job.model), list(job.model.notes)
    if is_first and (unread := [one for one in notes if one.endswith(": not read")]):
        field = unread[0].partition(":")[0]
        place = f"{where}: model.{field}"
        raise ConfigError(place, "not a field that is known here; it may change the time")
    if not has_words:
        del sizes["vocab_size"]
        notes.append(
            "its tokenizer says the vocabulary; --set workload.model.vocab_size=N does here"
        )
    plan = dict(job.plan)
    if ranks := _ranks_of(tree) if is_first else ranks:
        plan["world_size"] = ranks
    return Said("NeMo" if is_first else PROGRAM, sizes, plan, None, (), tuple(notes))


def _of_checkpoint(
    tree: Mapping[str, Any], whole: dict[str, Any], where: str, ranks: int | None
) -> Said:
    """A plan for a model whose sizes a checkpoint or a recipe in Python has; by name, if known."""
    given, notes = tree["model"], []
    parts = _degree(given, "pipeline", where) * _degree(given, "virtual_pipeline", where)
    heads = _degree(given, "tensor", where)
    sizes = {"num_layers": parts, "hidden_size": 64 * heads, "num_attention_heads": heads,
             "seq_length": 1, "max_position_embeddings": 1, "vocab_size": 1}  # fmt: skip
    own = {name: value for name, value in whole["model"].items() if value is not None}
    job = bridge.of_tree(whole | {"model": sizes | own}, where, "nemo")
    plan = dict(job.plan) | _adapters(mapping_of(given.get("peft")), where)
    if ranks := ranks or _ranks_of(tree):
        plan["world_size"] = ranks
    name, said_by, known = _named(tree, where)
    model: Any = Open.of(ConfigError(where, "says no num_layers, as its checkpoint or recipe does"))
    if known is not None:
        model = sizes_of(known)
        notes.append(f"says no num_layers; the model is taken as {name}, by {said_by}")
    length = _length_of(tree)
    if length is None:
        notes.append("says no length of sequences; taken as the model's usual")
    framework = "NeMo" if "trainer" in tree else PROGRAM
    return Said(framework, model, plan, length, (), tuple(notes))


def _named(tree: Mapping[str, Any], where: str) -> tuple[str, str, Transformer | None]:
    """What a configuration calls its model, who says so, and the sizes if they are known."""
    tokenizer = mapping_of(tree.get("tokenizer")) or mapping_of(tree["model"].get("tokenizer"))
    checkpoint = mapping_of(tree.get("checkpoint"))
    calls = {
        "run.model_train_name": mapping_of(tree.get("run")).get("model_train_name"),
        "model.hf_model_id": tree["model"].get("hf_model_id"),
        "its tokenizer": tokenizer.get("tokenizer_model") or tokenizer.get("type"),
        "its checkpoint": checkpoint.get("pretrained_checkpoint") or checkpoint.get("load"),
        "what it restores": tree["model"].get("restore_from_path"),
        "run.name": mapping_of(tree.get("run")).get("name"),
        "the file's name": paths.basename(where).rpartition(".")[0],
    }
    for said_by, call in calls.items():
        name = str(call or "").replace("_", "-")
        found = hub.find(name, of_any_owner=True) if name else None
        known = sizes_of_id(name) if name and found is None else found and found.model
        if isinstance(known, Transformer):
            return name if found is None else found.id, said_by, known
    return "", "", None


def _degree(given: Mapping[str, Any], kind: str, where: str) -> int:
    name = f"{kind}_model_parallel_size"
    degree = given.get(name) or 1
    if not isinstance(degree, int):
        raise ConfigError(f"{where}: model.{name}", expected_got("a whole number", degree))
    return degree


def _adapters(peft: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Low-rank adapters of NeMo 1 on the products of attention."""
    scheme = peft.get("peft_scheme")
    if scheme in (None, "none", "null"):
        return {}
    if scheme != "lora":
        raise ConfigError(f"{where}: model.peft.peft_scheme", expected_got("lora or null", scheme))
    rank = mapping_of(peft.get("lora_tuning")).get("adapter_dim", 32)
    return {"lora_rank": rank, "lora_targets": "q_proj,k_proj,v_proj,o_proj"}


def _ranks_of(tree: Mapping[str, Any]) -> int | None:
    trainer = mapping_of(tree.get("trainer"))
    nodes = trainer.get("num_nodes", 1)
    devices = trainer.get("devices")
    if isinstance(devices, int) and isinstance(nodes, int) and devices > 0 < nodes:
        return devices * nodes
    return None  # -1: all that there are


def _length_of(tree: Mapping[str, Any]) -> int | None:
    data = mapping_of(mapping_of(tree["model"].get("data")).get("train_ds"))
    beside = mapping_of(tree.get("dataset"))
    for length in (
        data.get("max_seq_length"),
        beside.get("seq_length"),
        beside.get("sequence_length"),
    ):
        if isinstance(length, int):
            return length
    return None


def _as_bridge(tree: Mapping[str, Any], where: str) -> dict[str, Any]:
    """NeMo 1's configuration in the fields of Megatron-Bridge's."""
    given = {_DIFFERENT.get(name, name): _resolved(value, tree["model"])
             for name, value in tree["model"].items()}  # fmt: skip
    model = {name: value for name, value in given.items() if name not in _FREE}
    model["share_embeddings_and_output_weights"] = given.get(
        "share_embeddings_and_output_weights", True
    )
    if given.get("position_embedding_type", "learned_absolute") == "learned_absolute":
        model["max_position_embeddings"] = given.get(
            "max_position_embeddings", given.get("seq_length")
        )
    kind = next((one for one in _OTHERS if one in str(tree.get("name", ""))), "")
    if kind:
        raise ConfigError(f"{where}: name", f"{kind} is a model of another kind")
    for name in ("block_types", *(one for one in given if one.startswith(("hybrid_", "mamba_")))):
        if name in given:
            raise ConfigError(f"{where}: model.{name}", "layers of several kinds are not covered")
    if not given.get("cpu_offloading"):
        model.pop("cpu_offloading_num_layers", None)
    activation = str(given.get("activation", "gelu"))
    if activation not in _ACTIVATIONS:
        known = f"one of {', '.join(_ACTIVATIONS)}"
        raise ConfigError(f"{where}: model.activation", expected_got(known, activation))
    model["gated_linear_unit"] = _ACTIVATIONS[activation]
    for name, usual in (("transformer_block_type", "pre_ln"), ("attention_type", "multihead")):
        if given.get(name, usual) != usual:
            raise ConfigError(f"{where}: model.{name}", expected_got(usual, given[name]))
    norm = str(given.get("normalization", "layernorm")).lower()
    model["normalization"] = _NORMS.get(norm, norm)
    if isinstance(window := given.get("window_size"), list):
        model["window_size"] = ",".join(map(str, window))
    for name in ("hidden_dropout", "attention_dropout"):
        model.setdefault(name, 0.1)
    if given.get("ub_tp_comm_overlap"):
        model["tp_comm_overlap"] = True
    precision = str(tree["trainer"].get("precision", given.get("precision", 32)))
    kind = "bf16" if precision.startswith("bf16") else "fp16" if precision.startswith("16") else ""
    mixed: dict[str, Any] = {kind: True} if kind else {}
    if given.get("fp8"):
        mixed["fp8"] = "hybrid"
    model.pop("fp8", None)
    optimizer = str(mapping_of(given.get("optim")).get("name", ""))
    ddp = {"use_distributed_optimizer": optimizer == "distributed_fused_adam"}
    ddp |= {"overlap_grad_reduce": bool(mapping_of(given.get("optim")).get("overlap_grad_sync"))}
    return {"model": model, "mixed_precision": mixed, "ddp": ddp}


def _booleans(value: Any) -> Any:
    """With `True` as true, as Python's readers of YAML take it."""
    if isinstance(value, Mapping):
        return {name: _booleans(one) for name, one in value.items()}
    return {"True": True, "False": False}.get(value, value) if isinstance(value, str) else value


def _from_top(value: Any, tree: Mapping[str, Any], depth: int = 0) -> Any:
    """With the values of whole paths put in, whose first part may be the file's own name."""
    if isinstance(value, Mapping):
        return {name: _from_top(one, tree, depth) for name, one in value.items()}
    if not isinstance(value, str) or (found := _FROM_TOP.fullmatch(value)) is None:
        return value
    path = found[1].split(".")
    for at in (path, path[1:]) if depth < _DEEPEST else ():
        if at and not isinstance(there := _at(tree, at), Mapping | None):
            return _from_top(there, tree, depth + 1)
    return value


def _resolved(value: Any, model: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and (found := _NEEDS.fullmatch(value)):
        return _resolved(_at(model, found[1].split(".")), model)
    if isinstance(value, str) and (found := _MULTIPLY.fullmatch(value)):
        factor = _resolved(found[2], model)
        return int(found[1]) * factor if isinstance(factor, int) else value
    return value


def _at(tree: Mapping[str, Any], path: list[str]) -> Any:
    for name in path[:-1]:
        tree = mapping_of(tree.get(name))
    return tree.get(path[-1])


def _words(tokenizer: Mapping[str, Any]) -> int:
    """Of a tokenizer whose model is known; 0 for others."""
    library, kind = str(tokenizer.get("library")), str(tokenizer.get("type"))
    if library == "huggingface" and kind in _TOKENIZERS:
        return _TOKENIZERS[kind]
    if (library, kind) == _GPT2:
        return tokenizers.GPT2_WORDS
    known = sizes_of_id(kind) if library == "huggingface" else None
    model = str(tokenizer.get("model") or "")
    return known.vocab_size if known else tokenizers.words_of_path(model)


def files(model: Transformer, plan: Plan, sequence: int, nodes: Nodes) -> dict[str, str]:
    """A configuration, the Python that starts it, and the script that starts that."""
    import yaml

    words = shlex.split(" ".join(megatron.arguments(model, plan, sequence)))
    sections = _sections(dict(_pairs(words)))
    text = yaml.safe_dump(sections, sort_keys=False, default_flow_style=None, width=100)
    program = torchrun(nodes, "start.py --config-file train.yaml")
    connections = megatron.connections(plan)
    script = f'#!/bin/bash\nset -e\ncd "$(dirname "$0")"\n{connections}{program} "$@"\n'
    return {"train.sh": script, "train.yaml": text, "start.py": _START}


_START = '''"""Starts train.yaml in Megatron-Bridge."""

from megatron.bridge.training.config import ConfigContainer
from megatron.bridge.training.gpt_step import forward_step
from megatron.bridge.training.pretrain import pretrain

pretrain(ConfigContainer.from_yaml("train.yaml"), forward_step)
'''
_TARGETS = {
    "model": "megatron.bridge.models.gpt_provider.GPTModelProvider",
    "train": "megatron.bridge.training.config.TrainingConfig",
    "ddp": "megatron.bridge.training.config.DistributedDataParallelConfig",
    "mixed_precision": "megatron.bridge.training.mixed_precision.MixedPrecisionConfig",
    "optimizer": "megatron.bridge.training.config.OptimizerConfig",
    "scheduler": "megatron.bridge.training.config.SchedulerConfig",
    "dataset": "megatron.bridge.training.config.MockGPTDatasetConfig",
    "logger": "megatron.bridge.training.config.LoggerConfig",
    "tokenizer": "megatron.bridge.training.tokenizers.config.TokenizerConfig",
    "checkpoint": "megatron.bridge.training.config.CheckpointConfig",
    "dist": "megatron.bridge.training.config.DistributedInitConfig",
}
_IN = {
    "train": ("micro-batch-size", "global-batch-size"),
    "ddp": (
        "use-distributed-optimizer", "overlap-grad-reduce", "overlap-param-gather",
        "use-megatron-fsdp", "data-parallel-sharding-strategy", "ddp-bucket-size",
        "num-distributed-optimizer-instances",
    ),
    "mixed_precision": ("bf16", "fp16", "fp8-format", "fp8-recipe", "fp8-param-gather",
                        "reuse-grad-buf-for-mxfp8-param-ag"),
    "optimizer": ("use-precision-aware-optimizer", "exp-avg-dtype", "exp-avg-sq-dtype",
                  "main-params-dtype", "optimizer", "optimizer-cpu-offload",
                  "optimizer-offload-fraction"),
    "dist": ("use-tp-pp-dp-mapping",),
}  # fmt: skip


def _pairs(words: list[str]) -> Iterator[tuple[str, Any]]:
    kinds = MODEL | PLAN | PLAN_TOGETHER
    at = 0
    while at < len(words):
        name, behind = words[at].removeprefix("--"), []
        at += 1
        while at < len(words) and not words[at].startswith("--"):
            behind.append(words[at])
            at += 1
        if name not in kinds:
            continue
        value: Any = behind if kinds[name] == WORDS else behind[0] if behind else True
        yield name, int(value) if kinds[name] == NUMBER else value


def _sections(given: dict[str, Any]) -> dict[str, Any]:
    """Fields by sections; a switch that turns one off is that field, false."""
    owners = {argument: section for section, some in _IN.items() for argument in some}
    inverse = {name.replace("_", "-"): field for field, names in bridge.INVERSE.items()
               for name in names.split()}  # fmt: skip
    names = {argument: field for field, argument in bridge.OWN.items()}
    made: dict[str, Any] = {"_target_": "megatron.bridge.training.config.ConfigContainer"}
    made |= {section: {"_target_": target} for section, target in _TARGETS.items()}
    length = given["seq-length"]
    made["dataset"] |= {"seq_length": length, "random_seed": 1234}
    made["tokenizer"] |= {"tokenizer_type": "NullTokenizer", "vocab_size": given.pop("vocab-size")}
    made["train"] |= {"train_iters": 100}
    made["optimizer"] |= {"lr": 1e-4}
    for argument in ("tokenizer-type", "grad-reduce-in-bf16"):
        given.pop(argument, None)
    wide = given.pop("accumulate-allreduce-grads-in-fp32", False)
    made["ddp"]["grad_reduce_in_fp32"] = wide
    grouped = given.pop("group-query-attention", False)
    if not grouped:
        given["num-query-groups"] = given["num-attention-heads"]
    for name in ("hidden-dropout", "attention-dropout"):
        given[name] = float(given[name])
    for argument, value in given.items():
        section = made[owners.get(argument, "model")]
        if argument in inverse:
            section[inverse[argument]] = False
        else:
            section[names.get(argument, argument.replace("-", "_"))] = value
    return made
