"""Low-rank adapters: what is trained, kept, reduced and computed beside frozen weights."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.blocks.mamba2 import Mamba2
from yantra.workloads.models.catalogue import find
from yantra.workloads.models.hf import from_config
from yantra.workloads.models.transformer import Transformer
from yantra.workloads.operators.adapters import PRODUCTS, targets_of
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import steps_of, train

HIDDEN, KV, INNER, LAYERS, RANK = 64, 32, 192, 3, 4
SIZES = {
    "q_proj": (HIDDEN, HIDDEN),
    "k_proj": (HIDDEN, KV),
    "v_proj": (HIDDEN, KV),
    "o_proj": (HIDDEN, HIDDEN),
    "gate_proj": (HIDDEN, INNER),
    "up_proj": (HIDDEN, INNER),
    "down_proj": (INNER, HIDDEN),
    "linear_qkv": (HIDDEN, HIDDEN + 2 * KV),
    "linear_fc1": (HIDDEN, 2 * INNER),
}
"""Inputs and outputs of each product of the small model."""
PLANS = (
    Plan(),
    Plan(tp=2, dp=2),
    Plan(tp=2, sequence_parallel=False, zero=1, dp=2),
    Plan(tp=2, cp=2, pp=3, global_batch=3, schedule="zb-h1"),
    Plan(dp=4, zero=3),
    Plan(dp=2, zero=2, recompute="full"),
    Plan(pp=2, global_batch=2, recompute="operators"),
)


def small() -> Transformer:
    return Transformer(
        name="small", source="", num_layers=LAYERS, hidden_size=HIDDEN, num_attention_heads=8,
        num_query_groups=4, ffn_hidden_size=INNER, vocab_size=256, seq_length=32,
    )  # fmt: skip


def trained(targets: str) -> int:
    return LAYERS * sum(RANK * sum(SIZES[name]) for name in targets_of(targets) if name in SIZES)


def made(plan: Plan, **changes: Any) -> Workload:
    return train(model_of(small()), plan.replace(**changes))


def amounts(workload: Workload, part: str, kind: str, group: str | None = None) -> int:
    total = 0
    for name, ranks in workload.ranks_of_template().items():
        for row in workload.totals[name][part]:
            if part == "compute" and row[1] == kind:
                total += ranks * row[3]
            if part == "communication" and (row[0], row[1]) == (kind, group):
                total += ranks * row[3]
    return total


@pytest.mark.parametrize("targets", [*SIZES, "q_proj,v_proj", "all-linear", "linear_qkv,o"])
def test_adapters_alone_have_gradients_and_state(targets: str) -> None:
    if targets == "linear_qkv,o":
        SIZES_OF = SIZES["linear_qkv"], SIZES["o_proj"]
        count = LAYERS * RANK * sum(map(sum, SIZES_OF))
    else:
        count = trained(targets)
    plain = made(Plan()).memory["stage0"]
    memory = made(Plan(), lora_rank=RANK, lora_targets=targets).memory["stage0"]
    assert memory["gradients"] == 4 * count
    assert memory["optimizer"] == 12 * count
    assert memory["weights"] == plain["weights"] + 2 * count


def test_llama_2_7b_with_rank_8_as_counted_by_hand() -> None:
    plan = Plan(micro_batch=4, lora_rank=8, recompute="full")
    memory = train("llama2-7b", plan, 512).memory["stage0"]
    assert memory["weights"] == 2 * (6_738_415_616 + 4_194_304)
    assert memory["gradients"] == 16 * 2**20 and memory["optimizer"] == 48 * 2**20
    two = train("llama2-7b", plan.replace(dp=2), 512)
    assert amounts(two, "communication", "all_reduce", "dp_cp") == 2 * (16 * 2**20 + 4)


def test_frozen_products_take_two_thirds_of_the_work() -> None:
    whole = train("llama2-7b", Plan(), 512).about["model_flops"]
    frozen = train("llama2-7b", Plan(lora_rank=8), 512).about["model_flops"]
    products = 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008) + 32000 * 4096
    adapters = 3 * 4_194_304  # forward, and two gradients
    assert frozen == whole - 2 * 512 * products + 2 * 512 * adapters
    assert frozen / whole == pytest.approx(2 / 3, rel=6e-3)


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_only_gradients_of_adapters_are_computed_and_reduced(plan: Plan) -> None:
    adapted = made(plan, lora_rank=RANK, lora_targets="all-linear")
    tokens = plan.micro_batches * plan.micro_batch * plan.dp * 32
    copies = 1 if plan.tp == 1 or plan.sequence_parallel else 2  # A is whole on each rank of tp
    sides = [SIZES[name] for name in targets_of("all-linear") if name in SIZES]
    by_columns = [(i, o) for i, o in sides if (i, o) not in ((HIDDEN, HIDDEN), (INNER, HIDDEN))]
    assert len(by_columns) < len(sides)
    total = amounts(adapted, "compute", "wgrad")
    least = 2 * tokens * RANK * LAYERS * sum(map(sum, sides))
    assert least <= total <= copies * least


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_weights_are_conserved_over_ranks(plan: Plan) -> None:
    (step, *_) = steps_of(model_of(small()), plan.replace(lora_rank=RANK), 32)
    plain = sum(
        weight.elements
        for (one, *_) in [steps_of(model_of(small()), plan, 32)]
        for chunks in one.job.chunks
        for chunk in chunks
        for weight in chunk.work.weights
    )
    weights = [w for chunks in step.job.chunks for chunk in chunks for w in chunk.work.weights]
    assert sum(weight.elements for weight in weights if weight.is_frozen) == plain
    assert all(".lora_" in weight.name for weight in weights if not weight.is_frozen)


def test_zero_3_gathers_all_weights_and_reduces_those_of_adapters() -> None:
    plan = Plan(dp=4, zero=3, lora_rank=RANK)
    adapted, plain = made(plan), made(plan, lora_rank=None)
    count = trained("q_proj,v_proj")
    assert amounts(adapted, "communication", "reduce_scatter", "dp_cp") == 4 * 4 * count
    gathered = amounts(adapted, "communication", "all_gather", "dp_cp")
    passes = 2  # forward and backward; the embedding is read forward alone
    assert gathered >= amounts(plain, "communication", "all_gather", "dp_cp")
    assert gathered == (amounts(plain, "communication", "all_gather", "dp_cp") + passes * 2 * count)


def test_adapters_keep_less_than_training_all() -> None:
    plain, adapted = made(Plan()), made(Plan(), lora_rank=RANK)
    assert adapted.memory["stage0"]["activations"] < plain.memory["stage0"]["activations"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"lora_rank": 0}, "whole number of at least 1"),
        ({"lora_rank": 1025}, "v_proj has 1024 rows or columns"),
        ({"lora_rank": 4, "lora_targets": "query"}, "expected names among"),
        ({"lora_rank": 4, "lora_targets": "q_a_proj"}, "has no product q_a_proj"),
        ({"lora_rank": 4, "lora_targets": "q,linear_qkv"}, "adapt the same product"),
        ({"lora_targets": "k"}, "adapts nothing without lora_rank"),
    ],
)
def test_what_adapts_nothing_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        train("llama3-8b", Plan(**fields), 512)


EXPERTS, TOP, EXPERT = 8, 2, 48
EXPERT_SIDES = {"gate_proj": (HIDDEN, EXPERT), "up_proj": (HIDDEN, EXPERT)}
EXPERT_SIDES |= {"down_proj": (EXPERT, HIDDEN), "linear_fc1": (HIDDEN, 2 * EXPERT)}


def mixture(plan: Plan, targets: str, **changes: Any) -> Workload:
    model = small().replace(
        name="mixture", num_experts=EXPERTS, moe_router_topk=TOP, moe_ffn_hidden_size=EXPERT,
        moe_layer_freq=(1,) * LAYERS,
    )  # fmt: skip
    return train(model_of(model), plan.replace(lora_rank=RANK, lora_targets=targets, **changes))


@pytest.mark.parametrize("targets", ["down_proj", "up_proj", "linear_fc1", "gate,up,down"])
def test_each_expert_has_an_adapter_of_its_own(targets: str) -> None:
    of_one = sum(RANK * sum(EXPERT_SIDES[name]) for name in targets_of(targets))
    memory = mixture(Plan(), targets).memory["stage0"]
    assert memory["gradients"] == 4 * LAYERS * EXPERTS * of_one
    for ep in (2, 4, 8):
        spread = mixture(Plan(ep=ep, dp=8), targets).memory["stage0"]
        assert spread["gradients"] == memory["gradients"] // ep


@pytest.mark.parametrize(
    ("plan", "a", "b"),
    [
        (Plan(tp=2, etp=2, ep=1), {"up_proj": HIDDEN, "down_proj": EXPERT // 2}, (2, 1)),
        (Plan(tp=2, etp=2, ep=4, dp=4), {"up_proj": HIDDEN, "down_proj": EXPERT // 2}, (2, 1)),
    ],
)
def test_an_expert_split_by_columns_splits_b_and_one_split_by_rows_splits_a(
    plan: Plan, a: dict[str, int], b: tuple[int, int]
) -> None:
    local = EXPERTS // plan.ep
    for (target, whole), ways in zip(a.items(), b, strict=True):
        outputs = EXPERT_SIDES[target][1] // ways
        memory = mixture(plan, target).memory["stage0"]
        assert memory["gradients"] == 4 * LAYERS * local * RANK * (whole + outputs)


@pytest.mark.parametrize(
    "plan", [Plan(), Plan(ep=4, dp=4), Plan(ep=2, etp=2, tp=2, dp=4), Plan(ep=8, dp=8, zero=3)]
)
def test_adapters_of_experts_work_on_the_rows_that_experts_get(plan: Plan) -> None:
    tokens = plan.micro_batches * plan.micro_batch * plan.dp * 32
    total = amounts(mixture(plan, "gate,up,down"), "compute", "wgrad")
    sides = sum(sum(EXPERT_SIDES[f"{name}_proj"]) for name in ("gate", "up", "down"))
    assert total == 2 * tokens * TOP * RANK * LAYERS * sides


GATED = {
    "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "num_hidden_layers": 4,
    "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "intermediate_size": 96, "vocab_size": 256, "max_position_embeddings": 64,
    "linear_num_value_heads": 8, "linear_num_key_heads": 4, "linear_key_head_dim": 8,
    "linear_value_head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, "decoder_sparse_step": 1,
    "mlp_only_layers": [], "norm_topk_prob": True,
}  # fmt: skip
QKVZ, BA, VALUES, MIXERS = 2 * 4 * 8 + 2 * 8 * 8, 2 * 8, 8 * 8, 3


@pytest.mark.parametrize(
    ("kind", "targets", "sides"),
    [
        ("qwen3_next", "in_proj_qkvz", ((64, QKVZ),)),
        ("qwen3_next", "in_proj_ba", ((64, BA),)),
        ("qwen3_next", "in_proj_qkvz,in_proj_ba,out_proj", ((64, QKVZ), (64, BA), (VALUES, 64))),
        ("qwen3_5", "in_proj_z", ((64, VALUES),)),
        ("qwen3_5", "in_proj_qkv,in_proj_a", ((64, QKVZ - VALUES), (64, BA // 2))),
    ],
)
@pytest.mark.parametrize("tp", [1, 2])
def test_mixers_have_adapters_of_the_modules_that_their_model_has(
    kind: str, targets: str, sides: tuple[tuple[int, int], ...], tp: int
) -> None:
    config = GATED | {"model_type": kind}
    if kind == "qwen3_5":
        dropped = ("num_experts", "num_experts_per_tok", "decoder_sparse_step", "norm_topk_prob")
        config = {
            key: value
            for key, value in config.items()
            if key not in dropped and "moe" not in key and "shared" not in key
        }
    model = model_of(from_config(config, name="own"))
    plan = Plan(tp=tp, lora_rank=RANK, lora_targets=targets)
    memory = train(model, plan, 32).memory["stage0"]
    if tp == 1:
        assert memory["gradients"] == 4 * MIXERS * RANK * sum(map(sum, sides))
    else:
        split = [(i // 2, o) if name == "out_proj" else (i, o // 2)
                 for name, (i, o) in zip(targets_of(targets), sides, strict=True)]  # fmt: skip
        assert memory["gradients"] == 4 * MIXERS * RANK * sum(map(sum, split))


def test_modules_of_another_model_are_not_those_of_this_one() -> None:
    model = model_of(from_config(GATED, name="own"))
    with pytest.raises(ConfigError, match="own has no product in_proj_z; it has q_proj"):
        train(model, Plan(lora_rank=RANK, lora_targets="in_proj_z"), 32)
    with pytest.raises(ConfigError, match=r"moe\.shared\.gate of own are not modelled"):
        train(model, Plan(lora_rank=RANK, lora_targets="all-linear"), 32)


def test_mamba_2_has_two_adapters_a_layer() -> None:
    model = find("mamba2-2.7b")
    mixer = next(part for part in vars(model.layers[0]).values() if isinstance(part, Mamba2))
    inner = mixer.heads * mixer.head_dim
    wide = 2 * inner + 2 * mixer.groups * mixer.state + mixer.heads
    memory = train(model, Plan(lora_rank=RANK, lora_targets="all-linear"), 512).memory["stage0"]
    each = RANK * (mixer.hidden + wide + inner + mixer.hidden)
    assert memory["gradients"] == 4 * len(model.layers) * each


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("dit-xl/2", "adapters of modulation of dit-xl/2 are not modelled; name those meant"),
        ("resnet-50", "resnet-50 has no product q_proj"),
    ],
)
def test_all_products_are_none_left_out(model: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        train(find(model), Plan(lora_rank=4, lora_targets="all-linear"))


def test_each_output_of_a_product_has_at_most_one_target_of_a_list() -> None:
    for product, targets in PRODUCTS.items():
        outputs = [out for name in targets_of("all-linear") for out in targets.get(name, ())]
        assert len(outputs) == len(set(outputs)), product
