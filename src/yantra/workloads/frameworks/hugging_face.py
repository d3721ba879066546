"""Hugging Face's training arguments and DeepSpeed's JSON: a job, and back.

Trade-off: the training script itself is not read; it is taken to train a causal model on sequences
of the given length, with the optimizer's state in fp32.

Sources: huggingface/transformers, training_args.py; deepspeed.ai/docs/config-json;
DeepSpeedExamples' DeepSpeed-Chat.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from os import path as paths
from typing import Any

from yantra.base.errors import ConfigError, expected_got
from yantra.base.shell import Word, commands_of
from yantra.workloads.frameworks.checkpoints import is_named, named_in
from yantra.workloads.frameworks.launch import Nodes, torchrun
from yantra.workloads.frameworks.said import Said
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan

PROGRAM = "DeepSpeed"
MODEL = "model_name_or_path"
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
}
"""Arguments and what they are in a plan, as `_meant` turns their values."""
LENGTHS = ("max_seq_len", "max_seq_length", "model_max_length", "block_size", "max_length",
           "cutoff_len")  # fmt: skip
_SWITCHES = ("bf16", "fp16", "use_peft", "gradient_checkpointing", "offload")
_REFUSED = {
    "beta": "losses over pairs of answers are not covered (yantra rl)",
    "load_in_4bit": "weights in 4 bits beside adapters are not covered",
    "load_in_8bit": "weights in 8 bits beside adapters are not covered",
    "actor_model_name_or_path": "training with rollouts is not covered here (yantra rl)",
    "num_padding_at_beginning": "models of rewards are not covered",
    "fp8": "products in 8 bits are not covered; give a job file",
    "quantization_bit": "weights in few bits beside adapters are not covered",
}
_FSDP = {"full_shard": 3, "shard_grad_op": 2, "no_shard": 0, "auto_wrap": None}
"""Words of --fsdp, and what they are in a plan."""
_LAUNCH = {"num_gpus": "gpus", "nproc_per_node": "gpus", "num_nodes": "nodes", "nnodes": "nodes",
           "num_processes": "ranks", "n_gpu": "gpus"}  # fmt: skip
_AUTO = "auto"


def is_arguments(tree: object) -> bool:
    """Whether a mapping has arguments of a training script of Hugging Face's."""
    return isinstance(tree, dict) and MODEL in tree and "model" not in tree


def is_deepspeed(tree: object) -> bool:
    """Whether a mapping is a configuration of DeepSpeed's."""
    words = ("train_micro_batch_size_per_gpu", "train_batch_size", "zero_optimization")
    return isinstance(tree, dict) and "model" not in tree and any(word in tree for word in words)


def of_script(text: str, where: str, files: Mapping[str, str]) -> Said | None:
    """The job that a shell script starts, or None. Raises ConfigError."""
    for words in commands_of(text):
        at = next((n for n, word in enumerate(words) if word.text.endswith(".py")), None)
        if at is not None and any(word.text.startswith(f"--{MODEL}") for word in words):
            given, doubts = _arguments(words[at + 1 :])
            launcher, _ = _arguments(words[:at])
            return _said(given, where, files, _ranks(launcher), doubts)
    return None


def of_arguments(tree: Mapping[str, Any], where: str, files: Mapping[str, str]) -> Said:
    """The job of a mapping of arguments. Raises ConfigError."""
    return _said(dict(tree), where, files, None, {})


def of_json(tree: Mapping[str, Any], where: str) -> Said:
    """A plan without a model, which `--set workload.model` says. Raises ConfigError."""
    return Said(PROGRAM, None, _deepspeed(tree, where, {}))


def _said(
    given: dict[str, Any],
    where: str,
    files: Mapping[str, str],
    ranks: int | None,
    doubts: Mapping[str, str],
) -> Said:
    for name, why in _REFUSED.items():
        if given.get(name) not in (None, False, "false", "False"):
            raise ConfigError(f"{where}: {name}", why)
    plan, ignored, notes = _plan(given, where, doubts)
    config = given.get("deepspeed") or given.get("deepspeed_config")
    if isinstance(config, str) and config.endswith(".json"):
        text = json.loads(files[config])
        plan = _deepspeed(text, f"{where}: {config}", plan)
    if ranks:
        plan["ranks"] = ranks
    if "zero" not in plan:
        plan["zero"] = 0
        notes.append("says nothing of sharding; taken as none (--set workload.plan.zero=3)")
    length = next((given[name] for name in LENGTHS if _whole(given.get(name))), None)
    if length is None:
        notes.append("says no length of sequences; taken as the model's usual")
    model = _model(given, where, doubts)
    sequence = None if length is None else int(length)
    return Said(PROGRAM, model, plan, sequence, tuple(ignored), tuple(notes))


def _plan(
    given: Mapping[str, Any], where: str, doubts: Mapping[str, str]
) -> tuple[dict[str, Any], list[str], list[str]]:
    plan: dict[str, Any] = {"gradient_accumulation_steps": 1, "micro_batch": 8, "dtype": "fp32"}
    if "zero_stage" in given:
        plan["dtype"] = "fp16"  # of DeepSpeed-Chat, unless --dtype says bf16
    ignored: list[str] = []
    for name, value in given.items():
        if name in doubts and name in (*PLAIN, *LENGTHS, *_SWITCHES, "dtype"):
            raise ConfigError(f"{where}: --{name}", f"{doubts[name]}; write out what it is")
        if name in PLAIN:
            plan |= _meant(name, value, where)
        elif name in ("bf16", "fp16"):
            plan |= {"dtype": name} if _is_on(value) else {}
        elif name == "dtype":
            plan["dtype"] = str(value)
        elif name == "fsdp" and value:
            plan |= _fsdp(value, where)
        elif name == "offload":
            plan["offload_optimizer"] = _is_on(value)
        elif name == "lora_module_name" and given.get("lora_dim"):
            plan["lora_targets"] = _named(str(value), where)
        elif name == "lora_target_modules" and value:
            plan["lora_targets"] = ",".join(value) if isinstance(value, list) else str(value)
        elif name not in (MODEL, "deepspeed", "deepspeed_config", *LENGTHS, "use_peft"):
            ignored.append(name)
    if plan.get("lora_rank") is None or not _is_on(given.get("use_peft", True)):
        plan.pop("lora_rank", None)
        plan.pop("lora_targets", None)
    return plan, ignored, []


def _fsdp(value: Any, where: str) -> dict[str, Any]:
    words = value if isinstance(value, list) else str(value).split()
    for word in words:
        if word not in _FSDP:
            raise ConfigError(f"{where}: fsdp", expected_got(f"words of {', '.join(_FSDP)}", word))
    return {"zero": next((_FSDP[word] for word in words if _FSDP[word] is not None), 3)}


def _named(text: str, where: str) -> str:
    if not text.endswith("layers."):
        problem = expected_got("the start of all layers, such as decoder.layers.", text)
        raise ConfigError(f"{where}: --lora_module_name", problem)
    return "all-linear"


def _meant(name: str, value: Any, where: str) -> dict[str, Any]:
    if name == "gradient_checkpointing":
        return {"recompute": "full" if _is_on(value) else "none"}
    if name in ("lora_dim", "lora_r") and not int(value or 0):
        return {}
    if not _whole(value):
        raise ConfigError(f"{where}: {name}", expected_got("a whole number", value))
    return {PLAIN[name]: int(value)}


def _deepspeed(tree: Mapping[str, Any], where: str, beside: Mapping[str, Any]) -> dict[str, Any]:
    """A plan from DeepSpeed's JSON; `auto` is what is said beside it."""
    plan = dict(beside)
    for key, own in (
        ("train_micro_batch_size_per_gpu", "micro_batch"),
        ("gradient_accumulation_steps", "gradient_accumulation_steps"),
        ("train_batch_size", "global_batch"),
    ):
        if tree.get(key, _AUTO) != _AUTO:
            plan[own] = int(tree[key])
    if "global_batch" in plan:
        plan.pop("gradient_accumulation_steps", None)
    zero = tree.get("zero_optimization") or {}
    plan["zero"] = int(zero.get("stage", 0))
    device = (zero.get("offload_optimizer") or {}).get("device", "none")
    plan["offload_optimizer"] = device not in ("none", None)
    if (zero.get("offload_param") or {}).get("device", "none") not in ("none", None):
        where = f"{where}: zero_optimization.offload_param"
        raise ConfigError(where, "weights in the host's memory are not covered")
    plan["overlap_gradients"] = zero.get("overlap_comm") in (True, None, _AUTO)
    for dtype in ("bf16", "fp16"):
        if (tree.get(dtype) or {}).get("enabled") is True:
            plan["dtype"] = dtype
    plan.setdefault("dtype", "fp32")
    plan["gradient_dtype"] = plan["dtype"]
    kind = tree.get("communication_data_type") or (tree.get("data_types") or {}).get(
        "grad_accum_dtype"
    )
    if kind in ("fp32", "bf16", "fp16"):
        plan["gradient_dtype"] = kind
    return plan


def _model(given: Mapping[str, Any], where: str, doubts: Mapping[str, str]) -> str | dict[str, Any]:
    from yantra.workloads.models import catalogue

    name = str(given[MODEL])
    if MODEL in doubts and not is_named(name, doubts[MODEL]):
        raise ConfigError(f"{where}: --{MODEL}", f"{doubts[MODEL]}; write out what it is")
    if catalogue.is_known(name):
        return name
    if not paths.isdir(name) and (known := named_in(name, where)) is not None:
        return known.model.name
    try:
        catalogue.described(name, MODEL)
    except ConfigError as error:
        raise ConfigError(f"{where}: {MODEL}", error.problem) from None
    return name


def _arguments(words: list[Word]) -> tuple[dict[str, Any], dict[str, str]]:
    given: dict[str, Any] = {}
    doubts: dict[str, str] = {}
    name = ""
    for word in _until_next(words):
        if word.text.startswith("--"):
            name, equals, value = word.text[2:].partition("=")
            name = name.replace("-", "_")
            given[name] = value if equals else True
        elif name and given[name] is True:
            given[name] = word.text
        if word.doubt and name:
            doubts[name] = word.doubt
    return given, doubts


def _until_next(words: list[Word]) -> Iterator[Word]:
    for word in words:
        if word.text[:1] in ("&", "|", ">", "<") or word.text[:2] == "2>":
            return
        if word.text or "uses $@," not in word.doubt:
            yield word


def ranks_of_launch(text: str) -> int | None:
    """The devices on which a script's first launch of a Python program starts; None if not said."""
    for words in commands_of(text):
        at = next((n for n, word in enumerate(words) if word.text.endswith(".py")), None)
        if at is not None:
            return _ranks(_arguments(words[:at])[0])
    return None


def _ranks(launcher: Mapping[str, Any]) -> int | None:
    found = {own: int(launcher[key]) for key, own in _LAUNCH.items() if _whole(launcher.get(key))}
    if "ranks" in found:
        return found["ranks"]
    return found["gpus"] * found.get("nodes", 1) if "gpus" in found else None


def _is_on(value: object) -> bool:
    return str(value).lower() == "true"


def _whole(value: object) -> bool:
    return str(value).isdecimal()


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
