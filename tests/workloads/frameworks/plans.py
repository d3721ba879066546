"""Random plans that a framework can say, and what reading them back gives."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.run.simulate import simulate
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.frameworks import emit, read
from yantra.workloads.frameworks.said import sizes_of
from yantra.workloads.models import zoo
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan

SEQUENCE = 1024
DENSE = Transformer(
    name="small", source="a test", num_layers=8, hidden_size=512, num_attention_heads=8,
    num_query_groups=4, ffn_hidden_size=1024, vocab_size=4096, seq_length=SEQUENCE,
)  # fmt: skip
MIXED = DENSE.replace(
    name="mixed", num_experts=8, moe_router_topk=2, moe_ffn_hidden_size=256,
    moe_layer_freq=(0, *(1,) * 7),
)  # fmt: skip
MODELS = {
    "megatron": (DENSE, MIXED),
    "nemo": (DENSE, MIXED),
    "torchtitan": (zoo.get("llama3-8b"), zoo.get("qwen3-30b-a3b")),
    "deepspeed": (zoo.get("llama3-8b"), zoo.get("qwen3-32b")),
}
"""Of sizes where a framework has words for these, else by name."""
USUAL: dict[str, Any] = {
    "dp": [1, 2, 4, 8],
    "micro_batch": [1, 2],
    "steps_a_rank": [1, 2, 8],
    "gradient_dtype": ["fp32", "bf16"],
}
OWN: dict[str, dict[str, list[Any]]] = {
    "megatron": {
        "tp": [1, 2, 4], "cp": [1, 2], "pp": [1, 2, 4], "vpp": [1, 2], "ep": [1, 2, 4],
        "cp_kind": ["p2p", "all_gather", "a2a"], "zero": [0, 1, 2, 3],
        "recompute": ["none", "selective", "full"], "recompute_modules": ["core_attn", "mlp"],
        "overlap_gradients": [True, False], "overlap_parameters": [True, False],
        "overlap_p2p": [True, False], "dtype": ["bf16", "fp16", "fp32", "fp8", "fp8_block"],
        "narrow_weights": [True, False], "dropout": [True, False],
        "order": ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"],
        "bucket_elements": [None, 10_000_000], "offload_optimizer": [False, True],
        "unfused_kernels": ["none", "rope", "bias_activation"], "embedding_as_layer": [False],
        "dispatch": ["once", "each"], "exp_avg_dtype": ["fp32", "bf16"],
        "master_dtype": ["fp32", "remainder"],
    },
}  # fmt: skip
OWN["torchtitan"] = {
    "tp": [1, 2], "cp": [1, 2], "pp": [1, 2], "vpp": [1, 2], "zero": [0, 3],
    "cp_kind": ["p2p", "all_gather"], "recompute": ["none", "operators", "full"],
    "schedule": [None, "zb-v"], "reshard_after_forward": [True, False],
    "overlap_products": [True, False], "dtype": ["bf16", "fp8"], "narrow_weights": [True, False],
    "gradient_dtype": ["fp32"], "ep": [1, 2], "shard": [None, 2],
}  # fmt: skip
OWN["deepspeed"] = {
    "zero": [0, 1, 2, 3], "recompute": ["none", "full"], "dtype": ["bf16", "fp16", "fp32"],
    "gradient_dtype": ["fp32", "bf16"], "offload_optimizer": [True, False],
    "overlap_gradients": [True, False],
}  # fmt: skip
OWN["nemo"] = OWN["megatron"] | {"overlap_p2p": [True]}


@st.composite
def plans(draw: Any, framework: str) -> tuple[Transformer, Plan]:
    model = draw(st.sampled_from(MODELS[framework]))
    fields = {name: draw(st.sampled_from(some)) for name, some in (USUAL | OWN[framework]).items()}
    if not model.num_experts:
        fields |= {"ep": 1, "dispatch": "once"}
    fields["etp"] = fields.get("tp", 1) if model.num_experts else 1
    a_step = fields.pop("steps_a_rank") * fields.get("pp", 1)
    if fields.get("dtype") == "fp16" and fields["gradient_dtype"] == "bf16":
        fields["gradient_dtype"] = "fp16"
    if fields.get("master_dtype") == "remainder" and fields["dtype"] in ("fp32", "fp16"):
        fields["master_dtype"] = "fp32"
    if not fields.get("dtype", "bf16").startswith("fp8"):
        fields.pop("narrow_weights", None)
    if framework in ("megatron", "nemo"):
        _as_megatron(fields)
    if framework == "torchtitan":
        _as_torchtitan(fields)
    if fields.get("master_dtype") == "fp32":
        fields["exp_avg_dtype"] = "fp32"
    try:
        plan = Plan(**fields, global_batch=a_step * fields["micro_batch"] * fields["dp"])
        check(plan, model_of(model), SEQUENCE)
    except ConfigError:
        assume(False)
    return model, plan


def _as_megatron(fields: dict[str, Any]) -> None:
    """As its `validate_args` takes them."""
    if fields["pp"] == 1:
        fields["vpp"] = 1
    if fields["vpp"] > 1 and fields["pp"] == 2:
        fields["overlap_p2p"] = True
    if not fields["zero"]:
        fields["overlap_parameters"] = True
    elif not fields["overlap_gradients"]:
        fields["overlap_parameters"] = False
    if fields["offload_optimizer"]:
        fields["master_dtype"] = "fp32"
    if "narrow_weights" in fields and (fields["offload_optimizer"] or not fields["zero"]):
        fields["narrow_weights"] = False


def _as_torchtitan(fields: dict[str, Any]) -> None:
    """FSDP over dp and cp where there are several, chunks by the schedule's."""
    fields["etp"] = 1
    if fields["dp"] * fields["cp"] == 1:
        fields["dp"] = 2
    if fields["cp"] > 1:
        fields |= {"zero": 3}
    else:
        fields["cp_kind"] = "p2p"
    if fields["zero"] == 0:
        fields |= {"reshard_after_forward": True, "shard": None}
    if fields["shard"]:
        fields["shard"] = fields["dp"] * fields["cp"] // 2 if fields["dp"] > 2 else None
    if fields["pp"] == 1:
        fields |= {"vpp": 1, "schedule": None}
    elif fields["schedule"]:
        fields["vpp"] = 2


def read_back(framework: str, model: Transformer, plan: Plan) -> dict[str, Any]:
    start = emit(framework, model, plan, SEQUENCE)
    tree = read(start.files[start.reads], start.reads, start.files, quiet=True)
    assert tree is not None
    return tree


def step_ns(workload: dict[str, Any]) -> float:
    scenario = on_cluster(workload, "hgx-h100", stack="roofline", ignore_memory=True)
    return simulate(scenario).makespan_ns


def asked(model: Transformer, plan: Plan) -> dict[str, Any]:
    """The workload that the plan is, without a framework's words."""
    fields = {name: value for name, value in plan.given.items() if value is not None}
    name = sizes_of(model) if model in (DENSE, MIXED) else model.name
    return {"model": name, "plan": fields, "sequence": SEQUENCE}
