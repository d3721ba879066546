"""Any plan of any model gives a workload that runs, or one error that helps.

The error names a field as it was typed, and the nearest plan that it gives is possible, has as many
ranks, and runs when typed.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.every_model.plans import Trial
from tests.workloads.step.test_simulation import runs_within_its_bounds
from tests.zoo import drawn
from yantra.base.errors import ConfigError
from yantra.workloads.models import description
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.model import Model
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan import names
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

AXIS = st.sampled_from([1, 1, 1, 2, 2, 3, 4])
SWITCH = st.booleans()
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "tp": AXIS,
    "tensor_model_parallel_size": AXIS,
    "cp": AXIS,
    "pp": AXIS,
    "pipeline_parallel_degree": AXIS,
    "dp": st.sampled_from([1, 2, 3, 4, 8]),
    "vpp": AXIS,
    "ep": AXIS,
    "expert_model_parallel_size": AXIS,
    "etp": AXIS,
    "ranks": st.sampled_from([4, 6, 8, 12, 16]),
    "world_size": st.sampled_from([5, 8, 16]),
    "zero": st.integers(0, 3),
    "use_distributed_optimizer": SWITCH,
    "shard": AXIS,
    "num_distributed_optimizer_instances": AXIS,
    "sequence_parallel": SWITCH,
    "reshard_after_forward": SWITCH,
    "prefetch": st.integers(1, 3),
    "micro_batch": st.integers(1, 3),
    "global_batch": st.integers(1, 24),
    "global_batch_size": st.sampled_from([8, 16, 24]),
    "gradient_accumulation_steps": st.integers(1, 5),
    "schedule": st.sampled_from(
        ["1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipev", "none"]
    ),
    "recompute": st.sampled_from(["none", "selective", "operators", "full", "half"]),
    "recompute_modules": st.sampled_from(["moe", "layernorm,moe_act", "mlp", "attention"]),
    "recompute_layers": st.sampled_from([1, 2]),
    "recompute_method": st.sampled_from(["uniform", "block"]),
    "cuda_graphs": st.sampled_from(["none", "attn", "attn,mlp", "full_iteration", "some"]),
    "unfused_kernels": st.sampled_from(["rope,norm", "permute,router", "softmax_masks", "some"]),
    "dtype": st.sampled_from(["bf16", "fp8", "fp32"]),
    "optimizer": st.sampled_from(["adam", "sgd"]),
    "steps": st.sampled_from([1, 2]),
    "lora_rank": st.sampled_from([1, 4, 5000]),
    "lora_targets": st.sampled_from(["q_proj,v_proj", "all-linear", "linear_qkv", "down"]),
    "stage_layers": st.sampled_from(["1,1", "2,1,1", "0,2,2", "Et|ttL", (1, 1, 1, 1)]),
    "first_stage_layers": st.integers(1, 3),
    "decoder_last_pipeline_num_layers": st.integers(1, 3),
    "cp_kind": st.sampled_from(["p2p", "all_gather", "a2a"]),
    "order": st.sampled_from(["tp-cp-ep-dp-pp", "pp-tp", "tp-ep-pp-dp", "dp-dp"]),
    "overlap_p2p": SWITCH,
    "overlap_tensor": SWITCH,
    "overlap_products": SWITCH,
    "overlap_experts": st.sampled_from(["none", "1f1b", "dualpipe"]),
    "exposed_gradients": st.sampled_from([0, 0.5, 2]),
    "exposed_experts": st.sampled_from([0, 0.5, 2]),
    "dispatch": st.sampled_from(["once", "each", "allgather"]),
    "gather_again": SWITCH,
    "messages": st.sampled_from(["whole", "sliced", "scattered", "some"]),
    "offload_activations": SWITCH,
    "offload_modules": st.sampled_from(["core_attn", "attn_norm,moe_act", "attn_proj", "some"]),
    "offload_optimizer": SWITCH,
    "fused_loss": SWITCH,
    "loss_as_layer": SWITCH,
    "routing": st.sampled_from(["uniform", "zipf:1", "zipf:-1"]),
    "capacity_factor": st.sampled_from([0.5, 1.25, 0]),
    "bucket_elements": st.sampled_from([10**6, 10**9]),
}
SIZE = st.sampled_from([1, 2, 3, 4, 6, 8])
DENSE = st.fixed_dictionaries(
    {
        "num_layers": st.integers(1, 9),
        "hidden_size": st.sampled_from([48, 64, 96]),
        "num_attention_heads": st.sampled_from([4, 6, 8]),
        "ffn_hidden_size": st.sampled_from([60, 96, 128]),
        "vocab_size": st.sampled_from([100, 128]),
        "seq_length": st.sampled_from([24, 32, 36, 7]),
    },
    optional={
        "num_query_groups": SIZE,
        "kv_channels": st.sampled_from([8, 16]),
        "max_position_embeddings": st.sampled_from([16, 64]),
        "tie_word_embeddings": SWITCH,
        "sliding_window": st.sampled_from([4, 16]),
        "num_experts": SIZE,
        "moe_router_topk": st.integers(1, 2),
        "moe_ffn_hidden_size": st.sampled_from([20, 32]),
        "moe_shared_expert_intermediate_size": st.sampled_from([16, 30]),
    },
)
KNOWN = (
    "bert-base",
    "deepseek-v2-lite",
    "dit-xl/2",
    "dlrm",
    "gpt3-1.3b",
    "llama3-8b",
    "mamba2-2.7b",
    "qwen3-30b-a3b",
    "vit-b/16",
)


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    chosen = draw(st.lists(st.sampled_from(list(FIELDS)), max_size=9, unique=True))
    values: dict[str, Any] = {}
    for name in chosen:
        values = names.over(values, {name: draw(FIELDS[name])})  # one name for each field
    if draw(st.booleans()):
        return {f"--{name.replace('_', '-')}": value for name, value in values.items()}
    return values


@given(st.sampled_from(KNOWN), st.integers(1, 5), plans())
@drawn(60)
def test_any_plan_of_a_known_model_runs_or_is_refused(
    name: str, layers: int, fields: dict[str, Any]
) -> None:
    check(Trial(name, Plan(), layers).model, fields)


@given(DENSE, plans())
@drawn(100)
def test_any_plan_of_any_transformer_runs_or_is_refused(
    sizes: dict[str, Any], fields: dict[str, Any]
) -> None:
    try:
        model = model_of(description.transformer(sizes, "sizes", "small"))
    except ConfigError as error:
        assert error.where.removeprefix("sizes: ") in {*sizes, *Transformer.field_names}, error
        return
    check(model, fields)


def check(model: Model, fields: dict[str, Any]) -> None:
    """Generate and run; where that is refused, follow the advice and try again."""
    workload = made(model, fields)
    if isinstance(workload, ConfigError):
        advised = followed(fields, workload)
        if advised is None:
            return
        assert Plan.of(advised).ranks == int(found(r"possible plan on (\d+) rank", workload))
        workload = made(model, advised)
        assert isinstance(workload, Workload), f"{fields}\n{advised}\n{workload}"
    if 1 < workload.ranks <= 16:
        runs_within_its_bounds(workload, "yantra")
        runs_within_its_bounds(workload, "astra-sim")


def made(model: Model, fields: dict[str, Any]) -> Workload | ConfigError:
    try:
        return train(model, Plan.of(fields))
    except ConfigError as error:
        is_flag = any(name.startswith("-") for name in fields)
        own = {f"--{name.replace('_', '-')}" if is_flag else name for name in names.known_names()}
        assert error.where in {*fields, *own, "sequence", "--sequence"}, error
        assert all(line.startswith("  ") for line in str(error).split("\n")[1:])
        return error


def followed(fields: dict[str, Any], error: ConfigError) -> dict[str, Any] | None:
    """Return the fields with what the error's last line advises; None without such a line."""
    advice = re.search(r"nearest possible plan on .*?: (.*)$", str(error))
    if advice is None:
        return None
    words = advice[1].split(" ")
    changed = fields
    while words:
        word = words.pop(0)
        is_switch = not words or words[0].startswith("-") or words[0] == "without"
        if word == "without":
            name, value = words.pop(0), None
        elif not word.startswith("-"):
            name, value = word.split("=")[0], ast.literal_eval(word.partition("=")[2])
        elif is_switch:
            name, value = word.replace("--no-", "--"), not word.startswith("--no-")
        else:
            name, value = word, literal(words.pop(0))
        changed = names.over(changed, {name: False})  # drops the field by whatever name
        changed = {**changed, name: value}
    return changed


def literal(word: str) -> Any:
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word


def found(pattern: str, error: ConfigError) -> str:
    match = re.search(pattern, str(error))
    assert match is not None
    return match[1]
