"""Closed forms of plans that train only adapters: memory is that of the step, times are near."""

from __future__ import annotations

import pytest

from yantra.base.errors import ConfigError
from yantra.explore.answers.best import best_plans
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.workloads.models.catalogue import find
from yantra.workloads.training.train import train

CLUSTER = clusters.load("hgx-h100")
TOKENS = 1024
MODELS = {
    "llama3-8b": "all-linear",
    "mixtral-8x7b": "q_proj,v_proj,gate,up,down",
    "qwen3-32b": "linear_qkv,o",
}


@pytest.mark.parametrize("name", MODELS)
def test_memory_is_that_of_the_step(name: str) -> None:
    model = find(name)
    space = PlanSpace(
        ranks=8, global_batch=32, sequence=TOKENS, lora_rank=16, lora_targets=MODELS[name]
    )
    columns = space.columns(model)
    works = Works(model, TOKENS, space.held)
    memory = ClosedForm(model, Machine(CLUSTER, 8), TOKENS, works).memory(columns, 32)
    rows = range(0, len(memory), max(len(memory) // 12, 1))
    for row in rows:
        plan = space.plan(columns, row)
        peak = max(train(model, plan, TOKENS).peaks().values())
        near = 1e-4 if plan.recompute == "operators" else 1e-5
        assert memory[row] == pytest.approx(peak, rel=near), plan


def test_the_best_plans_are_simulated_and_near() -> None:
    space = PlanSpace(ranks=8, global_batch=32, sequence=TOKENS, lora_rank=16)
    answer = best_plans(find("llama3-8b"), CLUSTER, space, top=2)
    assert answer.error is not None and answer.error < 0.03
    whole = best_plans(
        find("llama3-8b"), CLUSTER, PlanSpace(ranks=8, global_batch=32, sequence=TOKENS), top=1
    )
    assert answer.ranked[0].time_ns < whole.ranked[0].time_ns


def test_targets_that_cannot_be_are_refused_before_plans_are_judged() -> None:
    space = PlanSpace(
        ranks=8, global_batch=32, sequence=TOKENS, lora_rank=16, lora_targets="out_proj"
    )
    with pytest.raises(ConfigError, match="mixtral-8x7b has no product out_proj; it has"):
        space.columns(find("mixtral-8x7b"))
