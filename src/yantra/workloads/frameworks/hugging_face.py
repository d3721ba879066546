"""Hugging Face's training arguments and DeepSpeed's JSON: a job, and back.

Trade-off: the training script itself is not read; it is taken to train a causal model on sequences
of the given length, with the optimizer's state in fp32.

Sources: huggingface/transformers, training_args.py; deepspeed.ai/docs/config-json;
DeepSpeedExamples' DeepSpeed-Chat.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from os import path as paths
from typing import Any

from yantra.base.documents import parse_json
from yantra.base.errors import ConfigError, expected_got
from yantra.base.notes import note
from yantra.base.open_values import Open
from yantra.workloads.frameworks import deepspeed
from yantra.workloads.frameworks.checkpoints import is_named, named_in
from yantra.workloads.frameworks.hf_starts import (
    MODEL,
    by_name,
    is_on,
    is_whole,
    mapping_of,
    ranks_of,
    refuse_others,
    sharded,
    starts_of,
    text_of,
)
from yantra.workloads.frameworks.launch import Nodes, torchrun
from yantra.workloads.frameworks.said import Said
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan

PROGRAM = "DeepSpeed"
SAYS: Mapping[str, tuple[Any, ...]] = {
    **dict.fromkeys(("tp", "cp", "pp", "vpp", "ep", "etp"), (1,)),
    "recompute": ("none", "full"),
    "embedding_as_layer": (False,),
    "loss_as_layer": (False,),
    "messages": ("whole",),
    "bucket_elements": (None,),
    "shard": (None,),
    "prefetch": (1,),
    "reshard_after_forward": (True,),
    "offload_activations": (False,),
}
"""Fields that a search varies, and what arguments can say of them."""
PLAIN: Mapping[str, str] = {
    "per_device_train_batch_size": "micro_batch",
    "gradient_accumulation_steps": "gradient_accumulation_steps",
    "gradient_checkpointing": "recompute",
    "zero_stage": "zero",
    "lora_r": "lora_rank",
    "lora_dim": "lora_rank",
    "lora_rank": "lora_rank",
    "sequence_parallel_size": "cp",
}
"""Arguments and what they are in a plan, as `_meant` turns their values."""
LENGTHS = ("max_seq_len", "max_seq_length", "model_max_length", "block_size", "max_length",
           "cutoff_len")  # fmt: skip
_SWITCHES = ("bf16", "fp16", "fp8", "use_peft", "gradient_checkpointing", "offload")
_DTYPE = ("dtype", "torch_dtype")
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
_LORA = ("use_peft", "use_lora", "lora_enable", "low_rank_training")
_ADAPTERS = (*_LORA, "finetuning_type", "lora_target_modules", "lora_target",
             "lora_module_name")  # fmt: skip
_TRL_RANK = 16
"""Of trl's `ModelConfig`."""
_USUAL_RANK = 8
"""Of LLaMA-Factory, LMFlow and peft."""
_REFUSED = {
    "beta": "losses over pairs of answers are not covered (yantra rl)",
    "load_in_4bit": "weights in 4 bits beside adapters are not covered",
    "load_in_8bit": "weights in 8 bits beside adapters are not covered",
    "actor_model_name_or_path": "training with rollouts is not covered here (yantra rl)",
    "num_padding_at_beginning": "models of rewards are not covered",
    "q_lora": "weights in 4 bits beside adapters are not covered",
    "mixture_of_depths": "layers that some tokens leave out are not covered",
    "quantization_bit": "weights in few bits beside adapters are not covered",
    "use_4bit": "weights in 4 bits beside adapters are not covered",
    "use_qlora": "weights in 4 bits beside adapters are not covered",
    "bits": "weights in few bits beside adapters are not covered",
}
_NOT_ASKED = ("none", "false", "16", "32")
_PRESETS = ("zero0", "zero1", "zero2", "zero3", "zero2_offload", "zero3_offload")
"""Of ms-swift."""
_FSDP = {"full_shard": 3, "shard_grad_op": 2, "no_shard": 0, "auto_wrap": None,
         "offload": None}  # fmt: skip
"""Words of --fsdp, and what they are in a plan."""


def is_arguments(tree: object) -> bool:
    """Whether a mapping has arguments of a training script of Hugging Face's."""
    return isinstance(tree, dict) and MODEL in tree and "model" not in tree


def is_deepspeed(tree: object) -> bool:
    """Whether a mapping is a configuration of DeepSpeed's."""
    words = ("train_micro_batch_size_per_gpu", "train_batch_size", "zero_optimization")
    return isinstance(tree, dict) and "model" not in tree and any(word in tree for word in words)


def of_script(text: str, where: str, files: Mapping[str, str]) -> Said | None:
    """The job that a shell script starts, or None. Raises ConfigError."""
    for start in starts_of(text, where, files):
        refuse_others(start.program, where)
        return _said(start.given, where, files, start.launcher, start.doubts)
    return None


def of_arguments(tree: Mapping[str, Any], where: str, files: Mapping[str, str]) -> Said:
    """The job of a mapping of arguments. Raises ConfigError."""
    refuse_others(where, where, but=("nothing",))
    return _said(dict(tree), where, files, {}, {})


def of_json(tree: Mapping[str, Any], where: str) -> Said:
    """A plan without a model, which `--set workload.model` says. Raises ConfigError."""
    return Said(PROGRAM, None, deepspeed.of_tree(tree, where, {}))


def _said(
    given: dict[str, Any],
    where: str,
    files: Mapping[str, str],
    launcher: Mapping[str, Any],
    doubts: Mapping[str, str],
) -> Said:
    for name, why in _REFUSED.items():
        if str(given.get(name)).lower() not in _NOT_ASKED:
            raise ConfigError(f"{where}: {name}", why)
    if str(given.get("stage", "sft")) not in ("sft", "pt"):
        refuse_others(f"{given['stage']}.py", f"{where}: stage")
    notes: list[str] = []
    around = sharded(launcher, where, files, notes)
    config = given.get("deepspeed") or given.get("deepspeed_config") or around.pop("deepspeed", "")
    plan, ignored = _plan(given, where, doubts, notes, files)
    plan = around | {name: value for name, value in plan.items() if name not in around
                     or name != "dtype" or value != "fp32"}  # fmt: skip
    if config in _PRESETS:
        plan |= by_name(str(config), where, notes)
    elif isinstance(config, str) and "." in config:
        plan |= deepspeed.of_file(config, where, files, plan, notes)
    if ranks := ranks_of(launcher):
        plan["ranks"] = ranks
    if "zero" not in plan:
        plan["zero"] = 0
        notes.append("says nothing of sharding; taken as none (--set workload.plan.zero=3)")
    said = (given[name] for name in LENGTHS if name not in doubts and is_whole(given.get(name)))
    length = next(said, None)
    if length is None:
        notes.append("says no length of sequences; taken as the model's usual")
    model = _model(given, where, doubts)
    sequence = None if length is None else int(length)
    return Said(PROGRAM, model, plan, sequence, tuple(ignored), tuple(notes))


def _said_in(value: Any, files: Mapping[str, str], where: str) -> Any:
    """The words of `--fsdp`, which may be a file that has them, or a preset of ms-swift's."""
    if str(value) in ("fsdp1", "fsdp2"):
        return "full_shard"
    if not str(value).endswith(".json"):
        return value
    text = text_of(str(value), files)
    tree = None if text is None else parse_json(text, f"{where}: {value}")[0]
    return mapping_of(tree).get("fsdp") or "full_shard"


def _plan(
    given: Mapping[str, Any],
    where: str,
    doubts: Mapping[str, str],
    notes: list[str],
    files: Mapping[str, str],
) -> tuple[dict[str, Any], list[str]]:
    plan: dict[str, Any] = {"gradient_accumulation_steps": 1, "micro_batch": 8, "dtype": "fp32"}
    if "zero_stage" in given:
        plan["dtype"] = "fp16"  # of DeepSpeed-Chat, unless --dtype says bf16
    ignored: list[str] = []
    for name, value in given.items():
        if name in doubts and name in (*PLAIN, *LENGTHS, *_SWITCHES, *_DTYPE):
            _taken_as_usual(name, doubts[name], where)
            continue
        if name in PLAIN:
            plan |= _meant(name, value, where)
        elif name in ("bf16", "fp16", "fp8"):
            plan |= {"dtype": name} if is_on(value) else {}
        elif name in _DTYPE and value not in ("auto", None):
            plan |= {"dtype": _DTYPES.get(str(value), str(value))} if name == "dtype" else {}
        elif name == "fsdp" and value:
            plan |= _fsdp(_said_in(value, files, where), where)
        elif name == "offload":
            plan["offload_optimizer"] = is_on(value)
        elif name == "optim" and "adam" not in str(value):
            notes.append(f"optim: {value} is taken as Adam with its state in fp32")
        elif name not in (MODEL, "deepspeed", "deepspeed_config", *LENGTHS, *_ADAPTERS):
            ignored.append(name)
    if is_on(given.get("fp8")):
        plan["narrow_weights"] = False
    if int(plan.get("cp", 1)) > 1:
        plan["cp_kind"] = "a2a"
    return plan | _adapters(given, plan.pop("lora_rank", None), where, notes), ignored


def _taken_as_usual(name: str, doubt: str, where: str) -> None:
    field = f"plan.{PLAIN[name]}" if name in PLAIN else "sequence" if name in LENGTHS else "plan"
    note(f"{where}: --{name}: {doubt}; taken as its default (--set workload.{field}=VALUE)")


def _adapters(
    given: Mapping[str, Any], rank: int | None, where: str, notes: list[str]
) -> dict[str, Any]:
    """Low-rank adapters, where a rank, a switch or LLaMA-Factory's `finetuning_type` asks."""
    kind = given.get("finetuning_type")
    if kind not in ("lora", "full", None):
        place = f"{where}: finetuning_type"
        raise ConfigError(place, expected_got("full or lora", kind))
    switches = [is_on(given[name]) for name in _LORA if name in given]
    if kind is not None:
        switches.append(kind == "lora")
    if not (any(switches) if switches else rank):
        return {}
    if rank is None:
        rank = _TRL_RANK if "use_peft" in given else _USUAL_RANK
        notes.append(f"says no rank of adapters; taken as {rank} (--set workload.plan.lora_rank=N)")
    found: dict[str, Any] = {"lora_rank": rank}
    target = given.get("lora_target_modules") or given.get("lora_target")
    if given.get("lora_module_name") and given.get("lora_dim"):
        found["lora_targets"] = _named(str(given["lora_module_name"]), where)
    elif target in ("all", "all-linear", ["all-linear"]) or (
        not target and "finetuning_type" in given
    ):
        found["lora_targets"] = "all-linear"
    elif target:
        found["lora_targets"] = ",".join(target) if isinstance(target, list) else _of_regex(target)
    return found


def _of_regex(target: object) -> str:
    """The products that a pattern of paths names, as peft takes one."""
    text = str(target)
    return ",".join(re.findall(r"\w+_proj", text)) if re.search(r"[*(|]", text) else text


def _fsdp(value: Any, where: str) -> dict[str, Any]:
    words = value if isinstance(value, list) else str(value).split()
    for word in words:
        if word not in _FSDP:
            raise ConfigError(f"{where}: fsdp", expected_got(f"words of {', '.join(_FSDP)}", word))
    plan: dict[str, Any] = {
        "zero": next((_FSDP[word] for word in words if _FSDP[word] is not None), 3)
    }
    if "offload" not in words:
        return plan
    note(f"{where}: fsdp: {deepspeed.WEIGHTS_STAY}")
    return plan | {"offload_optimizer": True}


def _named(text: str, where: str) -> str:
    if not text.endswith("layers."):
        problem = expected_got("the start of all layers, such as decoder.layers.", text)
        raise ConfigError(f"{where}: --lora_module_name", problem)
    return "all-linear"


def _meant(name: str, value: Any, where: str) -> dict[str, Any]:
    if name == "gradient_checkpointing":
        return {"recompute": "full" if is_on(value) else "none"}
    if PLAIN[name] == "lora_rank" and str(value) in ("0", "None"):
        return {}
    if not is_whole(value):
        raise ConfigError(f"{where}: {name}", expected_got("a whole number", value))
    return {PLAIN[name]: int(value)}


def _model(given: Mapping[str, Any], where: str, doubts: Mapping[str, str]) -> str | dict[str, Any]:
    try:
        return _named_model(given, where, doubts)
    except ConfigError as error:
        return Open.of(error)


def _named_model(
    given: Mapping[str, Any], where: str, doubts: Mapping[str, str]
) -> str | dict[str, Any]:
    from yantra.workloads.models import catalogue, hub

    if MODEL not in given:
        raise ConfigError(where, f"its program says the model, which has no --{MODEL}")
    name = str(given[MODEL])
    if given[MODEL] is True:
        raise ConfigError(f"{where}: --{MODEL}", "names no model; write out which it is")
    if MODEL in doubts and not is_named(name, doubts[MODEL]):
        raise ConfigError(f"{where}: --{MODEL}", doubts[MODEL])
    if catalogue.is_known(name):
        return name
    kind = hub.stored(name, f"{where}: {MODEL}").dtype
    if kind not in ("", "bf16"):
        problem = f"{name}: training beside weights in {kind} is not covered"
        raise ConfigError(f"{where}: {MODEL}", problem)
    if not paths.isdir(name) and (known := named_in(name, where)) is not None:
        return known.model.name
    try:
        catalogue.described(name, MODEL)
    except ConfigError as error:
        raise ConfigError(f"{where}: {MODEL}", error.problem) from None
    return name


def files(model: Transformer, plan: Plan, sequence: int, nodes: Nodes) -> dict[str, str]:
    """A script with training arguments, and DeepSpeed's JSON beside it."""
    from yantra.workloads.frameworks.ids import id_of

    config = {
        "train_micro_batch_size_per_gpu": plan.micro_batch,
        "gradient_accumulation_steps": plan.micro_batches,
        "gradient_clipping": 1.0,
        "zero_optimization": {
            "stage": plan.zero,
            "overlap_comm": plan.overlap_gradients,
            "offload_optimizer": {"device": "cpu" if plan.offload_optimizer else "none"},
        },
        "bf16": {"enabled": plan.dtype == "bf16"},
        "fp16": {"enabled": plan.dtype == "fp16"},
        "data_types": {"grad_accum_dtype": plan.gradient_dtype},
    }
    lines = [
        f"--{MODEL} {id_of(model)}",
        f"--per_device_train_batch_size {plan.micro_batch}",
        f"--gradient_accumulation_steps {plan.micro_batches}",
        f"--block_size {sequence}",
        f"--gradient_checkpointing {plan.recompute == 'full'}",
        "--deepspeed ds_config.json",
        "--dataset_name wikitext --dataset_config_name wikitext-103-raw-v1 --do_train",
        "--output_dir ./output --max_steps 100 --report_to none",
    ]
    if plan.dtype in ("bf16", "fp16"):
        lines.append(f"--{plan.dtype} True")
    program = torchrun(nodes, "${RUN_CLM:-run_clm.py}")
    arguments = " \\\n".join(f"  {line}" for line in lines)
    script = f'#!/bin/bash\nset -e\n{program} \\\n{arguments} \\\n  "$@"\n'
    return {"train.sh": script, "ds_config.json": json.dumps(config, indent=1) + "\n"}
