"""Recomputation of modules of a layer, of several layers at once, and of some layers alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from yantra.base.errors import ConfigError
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.graph.modules import DROPPED, MODULES
from yantra.workloads.operators.operations import Operation, StageWork
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import stage_work

LAYERS, TOKENS, HIDDEN = 4, 1024, 2048
EXPERTS, TOP, COLUMNS = 64, 6, 1408


def work(layers: tuple[int, int] = (1, 1 + LAYERS), **plan: Any) -> StageWork:
    made = Plan(ep=8, dp=8, global_batch=8, **plan)
    model = find("deepseek-v2-lite")
    return stage_work(model, made, layers=layers, front=False, tail=False, sequence=TOKENS)


def saved(one: StageWork) -> int:
    return sum(each.saves for each in one.forward.operations)


def again(one: StageWork) -> list[Operation]:
    return [each for each in one.backward.operations if each.phase == "recompute"]


@pytest.mark.parametrize("module", MODULES)
def test_bytes_that_are_saved_are_freed(module: str) -> None:
    made = work(recompute="selective", recompute_modules=module)
    passes = (*made.forward.operations, *made.backward.operations)
    assert sum(one.saves for one in passes) == sum(one.frees for one in passes)


@pytest.mark.parametrize("module", ["layernorm", "moe_act", "mla_up_proj", "moe", "shared_experts"])
def test_a_module_that_is_computed_again_saves_less(module: str) -> None:
    made = work(recompute="selective", recompute_modules=module)
    assert saved(made) < saved(work())
    assert {one.kind for one in again(made)}


def test_what_is_dropped_is_made_again_before_the_gradient_that_needs_it() -> None:
    made = work(recompute="selective", recompute_modules="moe_act")
    rows = TOP * TOKENS
    assert saved(work()) - saved(made) == LAYERS * 2 * rows * COLUMNS
    names = [one.name.removeprefix("layers.4.") for one in made.backward.operations]
    product = names.index("moe.experts.down.wgrad")
    assert names.index("moe.experts.swiglu") < product
    assert made.backward.operations[names.index("moe.experts.swiglu")].phase == "recompute"
    assert [one.kind for one in again(made)] == ["elementwise"] * LAYERS


def test_layers_norms_are_a_row_of_each_token() -> None:
    made = work(recompute="selective", recompute_modules="layernorm")
    assert saved(work()) - saved(made) == LAYERS * 2 * 2 * TOKENS * HIDDEN
    assert [one.kind for one in again(made)] == ["norm"] * 2 * LAYERS


def test_modules_add_up() -> None:
    usual = saved(work())
    each = [usual - saved(work(recompute="selective", recompute_modules=one)) for one in DROPPED]
    assert usual - saved(work(recompute="selective", recompute_modules=DROPPED)) == sum(each)


def test_core_attention_is_what_selective_means() -> None:
    assert work(recompute="selective") == work(
        recompute="selective", recompute_modules=["core_attn"]
    )


def test_several_layers_at_once_keep_fewer_inputs() -> None:
    alone, pairs = work(recompute="full"), work(recompute="full", recompute_layers=2)
    assert saved(alone) - saved(pairs) == LAYERS // 2 * 2 * TOKENS * HIDDEN
    assert len(again(alone)) == len(again(pairs))


def test_block_repeats_the_first_layers_of_a_chunk() -> None:
    some = work(recompute="full", recompute_method="block", recompute_layers=1)
    assert {one.unit for one in again(some)} == {"layers.1"}
    every = work(recompute="full", recompute_method="block", recompute_layers=LAYERS)
    assert every == work(recompute="full")


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        ({"recompute_modules": "moe"}, "are of selective recomputation, and recompute is none"),
        ({"recompute_layers": 2}, "recompute_layers: is of full recomputation"),
        ({"recompute": "full", "recompute_method": "block"}, "block needs the number of layers"),
        ({"recompute": "selective", "recompute_modules": "moe"}, "llama3-8b has no experts (moe)"),
        (
            {"recompute": "selective", "recompute_modules": "mla_up_proj"},
            "llama3-8b has no latent attention (mla_up_proj)",
        ),
    ],
)
def test_what_repeats_nothing_is_refused(plan: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        check(Plan(**plan), find("llama3-8b"))


def test_an_unknown_module_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"recompute_modules: expected one of .*did you mean"):
        Plan(recompute="selective", recompute_modules="layer_norm")
