"""Low-rank adapters: what is trained, kept, reduced and computed beside frozen weights."""

from __future__ import annotations

from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.models.assemble import model_of
from yantra.workloads.models.catalogue import find
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
    """Return the weights of adapters by the paper: rank x (inputs + outputs) of each product."""
    return LAYERS * sum(RANK * sum(SIZES[name]) for name in targets_of(targets) if name in SIZES)


def made(plan: Plan, **changes: Any) -> Workload:
    return train(model_of(small()), plan.replace(**changes))


def amounts(workload: Workload, part: str, kind: str, group: str | None = None) -> int:
    """Return the operations of a phase, or the bytes of a collective over a group."""
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


def test_experts_have_no_adapters() -> None:
    plan = Plan(ep=8, dp=8, lora_rank=4, lora_targets="q,down")
    with pytest.raises(ConfigError, match="adapters of experts are not modelled; leave out down"):
        train(find("mixtral-8x7b"), plan, 512)
    assert train(find("mixtral-8x7b"), plan.replace(lora_targets="q"), 512).ranks == 8


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("dit-xl/2", "adapters of modulation of dit-xl/2 are not modelled; name those meant"),
        ("mamba2-2.7b", "adapters of mixer.in, mixer.out of mamba2-2.7b are not modelled$"),
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
