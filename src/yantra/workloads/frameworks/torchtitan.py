"""TorchTitan's TOML: a job, and back; one table of keys for both.

Sources: pytorch/torchtitan, torchtitan/config/job_config.py; sizes of models from
torchtitan/models.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from yantra.base.errors import ConfigError, expected_got
from yantra.base.notes import note
from yantra.base.open_values import Open
from yantra.workloads.frameworks.checkpoints import sizes_of_id
from yantra.workloads.frameworks.flavors import sizes_beside
from yantra.workloads.frameworks.launch import Nodes, torchrun
from yantra.workloads.frameworks.said import Said, sizes_of
from yantra.workloads.models.megatron.given import says_structure
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.plan import Plan

PROGRAM = "TorchTitan"
FLAVORS: Mapping[tuple[str, str], str] = {
    ("llama3", "8B"): "llama3-8b",
    ("llama3", "70B"): "llama3-70b",
    ("llama3", "405B"): "llama3-405b",
    ("llama2", "7B"): "llama2-7b",
    ("llama2", "13B"): "llama2-13b",
    ("llama2", "70B"): "llama2-70b",
    ("deepseek_v3", "16B"): "deepseek-v2-lite",
    ("deepseek_v3", "236B"): "deepseek-v2",
    ("deepseek_v3", "671B"): "deepseek-v3",
    ("qwen3", "0.6B"): "Qwen/Qwen3-0.6B",
    ("qwen3", "1.7B"): "Qwen/Qwen3-1.7B",
    ("qwen3", "4B"): "Qwen/Qwen3-4B",
    ("qwen3", "8B"): "Qwen/Qwen3-8B",
    ("llama3", "1B"): "meta-llama/Llama-3.2-1B",
    ("llama3", "3B"): "meta-llama/Llama-3.2-3B",
    ("llama4", "17bx16e"): "meta-llama/Llama-4-Scout-17B-16E",
    ("llama4", "17bx128e"): "meta-llama/Llama-4-Maverick-17B-128E",
    ("gpt_oss", "20b"): "openai/gpt-oss-20b",
    ("gpt_oss", "120b"): "openai/gpt-oss-120b",
    ("qwen3", "14B"): "Qwen/Qwen3-14B",
    ("qwen3", "32B"): "qwen3-32b",
    ("qwen3", "30B-A3B"): "qwen3-30b-a3b",
    ("qwen3", "235B-A22B"): "qwen3-235b-a22b",
}
_DEBUG = {
    "num_layers": 6, "hidden_size": 256, "num_attention_heads": 16, "ffn_hidden_size": 768,
    "vocab_size": 2048, "seq_length": 2048,
}  # fmt: skip
SAYS: Mapping[str, tuple[Any, ...]] = {
    "schedule": ("1f1b", "interleaved", "zb-v", "dualpipev"),
    "vpp": (1, 2),
    "zero": (0, 3),
    "etp": (1,),
    "cp_kind": ("p2p", "all_gather"),
    "recompute": ("none", "full"),
    "gradient_dtype": ("fp32",),
    "sequence_parallel": (True,),
    "embedding_as_layer": (False,),
    "loss_as_layer": (False,),
    "messages": ("whole",),
    "bucket_elements": (None,),
    "prefetch": (1,),
    "overlap_p2p": (True,),
    "overlap_tensor": (True,),
    "gather_again": (True,),
    "offload_optimizer": (False,),
    "offload_activations": (False,),
    "stage_layers": (None,),
}
"""Fields that a search varies, and what keys can say of them."""
DEGREES: Mapping[str, str] = {
    "tensor_parallel_degree": "tp",
    "context_parallel_degree": "cp",
    "pipeline_parallel_degree": "pp",
    "expert_parallel_degree": "ep",
    "expert_tensor_parallel_degree": "etp",
}
"""Keys of [parallelism], and of [training] and [experimental] in older releases."""
ROTATIONS = {"allgather": "all_gather", "alltoall": "p2p"}
SCHEDULES = {
    "1F1B": "1f1b",
    "Interleaved1F1B": "interleaved",
    "ZBVZeroBubble": "zb-v",
    "DualPipeV": "dualpipev",
}
_CHUNKS = {"interleaved": 2, "zb-v": 2, "dualpipev": 2}
_MODES = {"none": "none", "full": "full", "selective": "operators", "memory_budget": None}
_IGNORED = frozenset((
    "job", "profiling", "metrics", "lr_scheduler", "checkpoint", "comm", "validation", "debug",
    "experimental.custom_import", "fault_tolerance", "dataset", "memory_estimation", "eval",
    "compile", "mx", "logging", "dataloader", "hf_transformers",
))  # fmt: skip
"""Sections that change no time here; of `compile` the stack says what it gains."""
_SECTIONS = ("model", "training", "parallelism", "activation_checkpoint", "float8", "quantize",
             "optimizer", "experimental")  # fmt: skip
"""Those whose keys may change the time."""
_OF_THE_PLAN = ("parallelism", "activation_checkpoint")
_READ = frozenset((
    "name", "flavor", "converters", "local_batch_size", "batch_size", "global_batch_size",
    "seq_len", "data_parallel_degree", "data_parallel_replicate_degree",
    "data_parallel_shard_degree", "fsdp_reshard_after_forward", "enable_async_tensor_parallel",
    "pipeline_parallel_schedule", "pipeline_parallel_microbatch_size", "mode",
    "pipeline_parallel_layers_per_stage", "context_parallel_rotate_method", "selective_ac_option",
    "enable_float8_linear", "enable_fsdp_float8_all_gather", "recipe_name", *DEGREES,
))  # fmt: skip
_FREE = frozenset((
    "tokenizer_path", "hf_assets_path", "norm_type", "lr", "eps", "beta1", "beta2", "weight_decay",
    "implementation", "max_norm", "steps", "dataset", "dataset_path", "compile", "warmup_steps",
    "gc_freq", "gc_debug", "seed", "deterministic", "mixed_precision_param", "filter_fqns",
    "mixed_precision_reduce", "precompute_float8_dynamic_scale_for_fsdp",
    "enable_compiled_autograd",
    "early_stop", "disable_loss_parallel", "moe_fqns", "print_after_conversion", "fused",
    "scale_for_fsdp", "force_recompute_fp8_weight_in_bwd", "enable_loss_parallel", "emulate",
    "per_op_sac_force_recompute_mm_shapes_by_fqns", "loss_parallel", "dtype", "ac_freq",
    "module_fqns_per_model_part", "early_step_in_backward", "dataset_name", "data_dir", "rms_norm",
    "expert_parallel_comm_backend", "moe_fqns_prototype", "custom_args_module",
    "min_lr_factor", "num_workers", "grad_clip", "compile_model",
))  # fmt: skip
_REFUSED = {
    "enable_cpu_offload": "weights and gradients in the host's memory are not covered",
    "pipeline_parallel_split_points": "give pipeline_parallel_layers_per_stage in its place",
    "pipeline_parallel_schedule_csv": "a schedule in another file is given as a job's schedule",
}


def is_config(tree: Mapping[str, Any]) -> bool:
    """Whether a TOML file is a job of TorchTitan's."""
    return "model" in tree and "flavor" in (tree["model"] or {}) and "training" in tree


def read(
    text: str,
    where: str,
    said: Mapping[str, Any] | None = None,
    ranks: int | None = None,
    files: Mapping[str, str] | None = None,
) -> Said | None:
    """The job of a TOML file, with keys `said` on the command line in place of its own.

    `files` may have the Python that defines its flavor.

    Raises ConfigError for what is unknown or not covered; None for other TOML.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        if not where.endswith(".toml"):
            return None
        raise ConfigError(where, f"not TOML: {error}") from None
    if not is_config(tree):
        return None
    for path, value in (said or {}).items():
        section, _, key = path.partition(".")
        if isinstance(tree.setdefault(section, {}), dict) and "." not in key:
            tree[section][key] = _typed(value)
    given, ignored, unknown = _flat(tree, where, text)
    plan = _degrees(given) | _batches(given) | _precision(tree, where)
    plan |= _pipeline(given, where)
    model, notes = _left_open(tree, where, {} if files is None else files)
    if unknown:
        model = Open.of(unknown[0])
    own = model.get("num_layers") if isinstance(model, dict) else None
    layers = own or _layers(tree["model"])
    plan |= _recompute(given, where, layers // (plan["pp"] * plan.get("vpp", 1)))
    if given.get("enable_async_tensor_parallel"):
        plan["overlap_products"] = True
    if ranks is not None and "dp" not in plan:
        plan["ranks"] = ranks
    return Said(PROGRAM, model, plan, int(given.get("seq_len", 2048)), ignored, notes)


def _flat(
    tree: Mapping[str, Any], where: str, text: str
) -> tuple[dict[str, Any], tuple[str, ...], list[ConfigError]]:
    """Keys that are read, those that are ignored, and why others may not be."""
    given: dict[str, Any] = {}
    ignored = []
    unknown: list[ConfigError] = []
    for section, keys in tree.items():
        if section in _IGNORED or section not in _SECTIONS or not isinstance(keys, dict):
            ignored.append(f"[{section}]")
            continue
        for key, value in keys.items() if section != "quantize" else ():
            place = f"{where}, line {_line(text, key)}: {section}.{key}"
            if key in _REFUSED and value not in (False, "", []):
                raise ConfigError(place, _REFUSED[key])
            if key in _READ and not isinstance(value, dict):
                given.setdefault(key, value)
                if section == "activation_checkpoint" or section == "parallelism":
                    given[key] = value
            elif key in _FREE or key in _REFUSED or isinstance(value, dict) or not value:
                ignored.append(f"{section}.{key}")
            elif section in _OF_THE_PLAN or says_structure(key):
                problem = "not a key that is known here; it may change the time"
                unknown.append(ConfigError(place, problem))
            else:
                note(f"{place}: not a key that is known here; left out")
    return given, tuple(ignored), unknown


def _typed(value: Any) -> Any:
    """A word of a command as TOML has it."""
    try:
        return value if value is True else tomllib.loads(f"x = {value}")["x"]
    except tomllib.TOMLDecodeError:
        return value


def _line(text: str, key: str) -> int:
    lines = [at for at, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith(key)]
    return lines[0] if lines else 1


def _left_open(
    tree: Mapping[str, Any], where: str, files: Mapping[str, str]
) -> tuple[Any, tuple[str, ...]]:
    """The model, left to a setting where its flavor is not known."""
    section = tree["model"]
    kind = (str(section.get("name")), str(section.get("flavor")))
    if kind not in FLAVORS and (made := sizes_beside(*kind, where, files)) is not None:
        return made, (f"the sizes of {kind[1]} are of models/{kind[0]} beside it",)
    try:
        return _model(section, where, tree.get("hf_transformers"))
    except ConfigError as error:
        return Open.of(error), ()


def _model(
    section: Mapping[str, Any], where: str, published: object = None
) -> tuple[Any, tuple[str, ...]]:
    """Of a flavor, or of the id that `[hf_transformers]` names for the whole model."""
    if isinstance(published, dict) and section.get("flavor") == "full":
        name = str(published.get("model"))
        if sizes_of_id(name) is None:
            problem = expected_got("the id of a published transformer that is known here", name)
            raise ConfigError(f"{where}: hf_transformers.model", problem)
        return name, ()
    kind = (str(section.get("name")), str(section.get("flavor")))
    if kind[1] == "debugmodel" and kind[0] in ("llama3", "llama"):
        return dict(_DEBUG), ()
    if kind in FLAVORS:
        name = FLAVORS[kind]
        known = sizes_of_id(name)
        return (sizes_of(known) if "/" in name and known is not None else name), ()
    of = [flavor for name, flavor in FLAVORS if name == kind[0]] or sorted(
        {name for name, _ in FLAVORS}
    )
    expected = expected_got(f"one of {', '.join(of)}", kind[1] if kind[1] not in of else kind[0])
    raise ConfigError(f"{where}: model.flavor", expected)


def _degrees(given: Mapping[str, Any]) -> dict[str, Any]:
    plan: dict[str, Any] = {own: int(given.get(key, 1)) for key, own in DEGREES.items()}
    copies = int(given.get("data_parallel_replicate_degree", 1))
    shard = int(given.get("data_parallel_shard_degree", given.get("data_parallel_degree", -1)))
    if shard > 0:
        plan["dp"] = copies * shard
    is_sharded = shard != 1 or plan["cp"] > 1
    plan["zero"] = 3 if is_sharded else 0
    if copies > 1 and is_sharded:
        plan["data_parallel_replicate_degree"] = copies
    kind = str(given.get("fsdp_reshard_after_forward", "default"))
    resharded = plan["pp"] == 1 if kind == "default" else kind == "always"
    plan["reshard_after_forward"] = resharded or not is_sharded
    if plan["cp"] > 1:
        method = given.get("context_parallel_rotate_method", "allgather")
        plan["cp_kind"] = ROTATIONS.get(str(method), str(method))
    return plan


def _batches(given: Mapping[str, Any]) -> dict[str, Any]:
    """A local batch is whole without a pipeline, else cut into its micro-batches."""
    local = int(given.get("local_batch_size", given.get("batch_size", 8)))
    is_pipe = int(given.get("pipeline_parallel_degree", 1)) > 1
    micro = int(given.get("pipeline_parallel_microbatch_size", 1)) if is_pipe else local
    plan: dict[str, Any] = {"micro_batch": micro}
    if (whole := int(given.get("global_batch_size", -1))) > 0:
        return plan | {"global_batch": whole}
    return plan | {"gradient_accumulation_steps": max(local // micro, 1)}


def _precision(tree: Mapping[str, Any], where: str) -> dict[str, Any]:
    sections = [tree.get("float8"), tree.get("quantize", {}).get("linear", {}).get("float8")]
    float8 = next((one for one in sections if isinstance(one, dict)), {})
    converters = tree["model"].get("converters", [])
    optimizer = str(tree.get("optimizer", {}).get("name", "AdamW"))
    if optimizer not in ("Adam", "AdamW"):
        raise ConfigError(f"{where}: optimizer.name", expected_got("Adam or AdamW", optimizer))
    plan: dict[str, Any] = {"dtype": "bf16", "gradient_dtype": "fp32"}
    if float8.get("enable_float8_linear") or any("float8" in str(one) for one in converters):
        recipe = str(float8.get("recipe_name", "tensorwise"))
        if recipe != "tensorwise":
            raise ConfigError(f"{where}: float8.recipe_name", expected_got("tensorwise", recipe))
        narrow = bool(float8.get("enable_fsdp_float8_all_gather", False))
        plan |= {"dtype": "fp8", "narrow_weights": narrow}
    elif any("mx" in str(one) for one in converters):
        plan |= {"dtype": "fp8", "scaling": "mxfp8", "narrow_weights": False}
    return plan


def _layers(section: Mapping[str, Any]) -> int:
    name = FLAVORS.get((str(section.get("name")), str(section.get("flavor"))))
    known = None if name is None else sizes_of_id(name)
    return known.num_layers if known is not None else _DEBUG["num_layers"]


def _recompute(given: Mapping[str, Any], where: str, layers: int) -> dict[str, Any]:
    """Every n-th layer of a chunk is as many as its first ones."""
    mode, option = str(given.get("mode", "selective")), str(given.get("selective_ac_option", "op"))
    if mode == "selective" and option == "1":
        mode = "full"
    elif mode == "selective" and option.isdecimal() and int(option) > 1:
        repeated = layers // int(option)
        return (
            {"recompute": "full", "recompute_method": "block", "recompute_layers": repeated}
            if repeated
            else {"recompute": "none"}
        )
    elif mode == "selective" and option != "op":
        place = f"{where}: activation_checkpoint.selective_ac_option"
        raise ConfigError(place, expected_got("op or a number of layers", option))
    if (found := _MODES.get(mode)) is None:
        known = expected_got("none, selective or full", mode)
        raise ConfigError(f"{where}: activation_checkpoint.mode", known)
    return {"recompute": found}


def _pipeline(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    if int(given.get("pipeline_parallel_degree", 1)) == 1:
        return {}
    name = str(given.get("pipeline_parallel_schedule", "1F1B"))
    if name not in SCHEDULES:
        known = expected_got(f"one of {', '.join(SCHEDULES)}", name)
        raise ConfigError(f"{where}: parallelism.pipeline_parallel_schedule", known)
    schedule = SCHEDULES[name]
    return {"schedule": schedule, "vpp": _CHUNKS.get(schedule, 1)}


def files(model: Transformer, plan: Plan, sequence: int, nodes: Nodes) -> dict[str, str]:
    """A TOML file, and the script that starts it."""
    kind = next((kind for kind, name in FLAVORS.items() if name == model.name), None)
    if kind is None:
        raise ConfigError(f"model {model.name}", f"{PROGRAM} has no flavor of these sizes")
    sections = {
        "job": {"dump_folder": "./outputs"},
        "model": {"name": kind[0], "flavor": kind[1]} | _converters(plan),
        "optimizer": {"name": "AdamW", "lr": 3e-4},
        "training": {
            "local_batch_size": plan.micro_batch if plan.pp == 1 else plan.global_batch // plan.dp,
            "global_batch_size": plan.global_batch,
            "seq_len": sequence,
            "steps": 100,
            "dataset": "c4_test",
        },
        "parallelism": _written(plan),
        "activation_checkpoint": _ac(plan),
    }
    if plan.dtype == "fp8":
        sections["quantize.linear.float8"] = {"enable_fsdp_float8_all_gather": plan.narrow_weights}
    text = "\n".join(
        "\n".join((f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in keys.items()), ""))
        for name, keys in sections.items()
    )
    program = torchrun(nodes, "-m torchtitan.train --job.config_file ${CONFIG:-train.toml}")
    return {"train.toml": text, "train.sh": f'#!/bin/bash\nset -e\n{program} "$@"\n'}


def _written(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = {key: getattr(plan, own) for key, own in DEGREES.items()}
    copies = plan.replicas if plan.zero else plan.dp
    found["data_parallel_replicate_degree"] = copies
    found["data_parallel_shard_degree"] = plan.dp // copies if plan.dp % copies == 0 else plan.dp
    found["fsdp_reshard_after_forward"] = "always" if plan.reshard_after_forward else "never"
    found["enable_async_tensor_parallel"] = plan.overlap_products
    if plan.cp > 1:
        ways = {own: word for word, own in ROTATIONS.items()}
        found["context_parallel_rotate_method"] = ways.get(plan.cp_kind, "allgather")
    if plan.pp > 1:
        names = {own: word for word, own in SCHEDULES.items()}
        found["pipeline_parallel_schedule"] = names.get(plan.schedule, plan.schedule)
        found["pipeline_parallel_microbatch_size"] = plan.micro_batch
    return found


def _converters(plan: Plan) -> dict[str, Any]:
    if plan.dtype != "fp8":
        return {}
    return {"converters": [f"quantize.linear.{'mx' if plan.scaling == 'mxfp8' else 'float8'}"]}


def _ac(plan: Plan) -> dict[str, Any]:
    if plan.recompute == "operators":
        return {"mode": "selective", "selective_ac_option": "op"}
    return {"mode": "full" if plan.recompute == "full" else "none"}


def _toml(value: object) -> str:
    from json import dumps

    return dumps(value)
