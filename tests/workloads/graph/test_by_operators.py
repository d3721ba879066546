"""Recomputation by operators, torchtitan's: what is computed again and kept, in closed form."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.workloads.graph.chunks import GPT, ROUTED, Small, operations, setting
from yantra.base.errors import ConfigError
from yantra.workloads.models.blocks import MLP, Attention, Layer
from yantra.workloads.operators.operations import StageWork
from yantra.workloads.plan.check import plan_problems
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import Chunk

S, H, KV, F, HEADS = 1024, 2048, 512, 8192, 16
LAYER = Layer(
    hidden=H,
    attention=Attention(heads=HEADS, kv_heads=KV * HEADS // H, head_dim=H // HEADS),
    mlp=MLP(intermediate=F),
)


def work(recompute: str, tp: int = 1, layer: Layer = LAYER) -> StageWork:
    split = setting(1, S, tp=tp, recompute=recompute)
    return Chunk(Small((layer,)), split, (0, 1), False, False).work()


def repeated(made: StageWork) -> Counter[str]:
    return Counter(
        {item.name: item.tensor_flops for item in operations(made) if item.phase == "recompute"}
    )


@pytest.mark.parametrize("tp", [1, 2, 4])
def test_of_the_products_in_their_order_every_second_is_computed_again(tp: int) -> None:
    # q k v proj gate up down: k, proj and up.
    flops = sum(repeated(work("operators", tp)).values())
    assert flops == 2 * S * H * (KV + H + F) // tp


def test_attention_and_what_no_gradient_needs_are_not_computed_again() -> None:
    names = set(repeated(work("operators")))
    assert not any(name.endswith((".core", ".down", ".mlp_residual")) for name in names)
    assert {name.rpartition(".")[2] for name in names} >= {"qkv", "q_rope", "proj", "gate_up"}
    assert any(name.endswith(".core") for name in repeated(work("full")))


def test_a_layer_keeps_its_input_attention_and_the_other_products() -> None:
    kept = sum(item.saves for item in work("operators").forward.operations)
    statistics = 4 * S * HEADS  # of fused attention, in fp32
    by_name = {"x": H, "q": H, "v": KV, "context": H, "gate": F, "down": H}
    assert kept == 2 * S * sum(by_name.values()) + statistics


def test_reduced_and_scattered_sums_are_kept_so_nothing_is_reduced_again() -> None:
    made = work("operators", tp=4)
    again = [item.kind for item in operations(made) if item.phase == "recompute"]
    assert "reduce_scatter" not in again
    assert "all_gather" in again
    forward = work("none", tp=4).forward.operations
    scatters = [item.kind for item in forward].count("reduce_scatter")
    assert [item.kind for item in made.forward.operations].count("reduce_scatter") == scatters == 2


@pytest.mark.parametrize("layer", [LAYER, GPT, ROUTED], ids=["gated", "gpt", "routed"])
@pytest.mark.parametrize("tp", [1, 4])
def test_what_is_kept_is_between_full_and_none_and_all_of_it_is_freed(
    tp: int, layer: Layer
) -> None:
    def kept(recompute: str) -> int:
        return sum(item.saves for item in work(recompute, tp, layer).forward.operations)

    assert kept("full") < kept("operators") < kept("none")
    both = operations(work("operators", tp, layer))
    assert sum(item.saves for item in both) == sum(item.frees for item in both)


def test_attention_that_is_not_fused_has_no_result_to_keep() -> None:
    plan = Plan(recompute="operators", flash_attention=False)
    (broken,) = plan_problems(plan)
    assert broken.field == "flash_attention"


def test_torchtitans_option_has_its_name() -> None:
    assert Plan.of(selective_ac_option="op").recompute == "operators"
    with pytest.raises(ConfigError, match="selective_ac_option"):
        Plan.of(selective_ac_option="2")
