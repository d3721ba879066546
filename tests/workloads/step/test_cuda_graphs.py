"""Kernels that CUDA graphs launch: their launches do not bind."""

from __future__ import annotations

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.compile.slowdown import Slowdown
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.space import PlanSpace
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.cuda_graphs import launched, scopes_of
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import stage_work
from yantra.workloads.training.train import train

STACK = "megatron-deepspeed-2023"
"""A stack whose launches bind short kernels."""
TOKENS = 512


def step_ns(plan: Plan) -> float:
    workload = train(find("qwen3-30b-a3b"), plan, TOKENS)
    parts = parts_for("hgx-h100", plan.ranks, "bf16", STACK)
    return simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns


def test_each_scope_shortens_a_step_that_launches_bind() -> None:
    none, attention, more, whole = (
        step_ns(Plan(dp=8, ep=8, global_batch=16, cuda_graphs=scopes))
        for scopes in ("none", "attn", "attn,moe_router", "full_iteration")
    )
    assert none > attention > more > whole


def test_a_graph_of_all_leaves_no_launch() -> None:
    plan = Plan(dp=8, ep=8, global_batch=16)
    workload = train(find("qwen3-30b-a3b"), plan.replace(cuda_graphs="full_iteration"), TOKENS)
    assert workload.launched == 0
    assert Slowdown(launch_ns=5.0).launching(workload.launched).launch_ns == 0
    assert train(find("qwen3-30b-a3b"), plan, TOKENS).launched == 1


def test_a_dense_layer_is_attention_and_mlp() -> None:
    plan = Plan(recompute="none")
    work = stage_work(
        find("llama3-8b"), plan, layers=(1, 2), front=False, tail=False, sequence=TOKENS
    )
    every, alone = launched(work.forward.operations, ("attn", "mlp"))
    assert (every, alone) == (len(work.forward.operations), 0)
    assert 0 < launched(work.forward.operations, ("attn",))[1] < every
    assert launched(work.forward.operations, ("moe_preprocess",)) == (every, every)


def test_scopes_are_named() -> None:
    assert scopes_of(["attn", "moe_router"]) == scopes_of("attn moe_router")
    assert Plan(cuda_graphs=["attn", "mlp"]).cuda_graphs == "attn,mlp"
    with pytest.raises(ConfigError, match="cuda_graphs: expected one of none, attn"):
        Plan(cuda_graphs="attention")


def test_the_closed_form_has_them() -> None:
    space = PlanSpace(
        ranks=8, global_batch=32, most_tp=8, sequence=TOKENS, ep=(8,), recompute=("none",),
        gradient_dtype=("bf16",), cuda_graphs="attn",
    )  # fmt: skip
    model = find("qwen3-30b-a3b")
    columns = space.columns(model)
    machine = Machine("hgx-h100", 8, stack=STACK)
    judged = ClosedForm(model, machine, TOKENS, Works(model, TOKENS, space.held)).judge(columns, 32)
    rows = np.random.default_rng(3).permutation(len(columns["tp"]))[:3].tolist()
    error = [abs(judged.time_ns[row] / step_ns(space.plan(columns, row)) - 1) for row in rows]
    assert max(error) < 0.03
