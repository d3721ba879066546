"""Kernels that run as several."""

from __future__ import annotations

import numpy as np
import pytest

from tests.workloads.step.test_simulation import runs_within_its_bounds
from yantra.base.errors import ConfigError
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.space import PlanSpace
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.operators.fusions import UNFUSED, unfused_of
from yantra.workloads.operators.operations import Operation
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import stage_work
from yantra.workloads.training.train import train

STACK = "megatron-deepspeed-2023"
TOKENS = 512
MODELS = dict.fromkeys(UNFUSED, "llama3-8b") | {
    "bias_dropout_add": "gpt3-1.3b",
    "softmax_masks": "gpt3-1.3b",
    "router": "qwen3-30b-a3b",
    "permute": "qwen3-30b-a3b",
}


def plan_of(kernel: str) -> Plan:
    ep = 8 if kernel in ("router", "permute") else 1
    return Plan(
        dp=8, ep=ep, global_batch=16, dropout=kernel == "bias_dropout_add",
        flash_attention=kernel != "softmax_masks",
    )  # fmt: skip


def layer(name: str, plan: Plan) -> tuple[Operation, ...]:
    work = stage_work(find(name), plan, layers=(3, 4), front=False, tail=False, sequence=TOKENS)
    return (*work.forward.operations, *work.backward.operations)


def moved(operations: tuple[Operation, ...]) -> int:
    return sum(one.bytes_read + one.bytes_written for one in operations)


def step(name: str, plan: Plan) -> tuple[float, int]:
    workload = train(find(name), plan, TOKENS)
    parts = parts_for("hgx-h100", plan.ranks, "bf16", STACK)
    made = simulate(Scenario(workload=Templates(workload=workload), **parts))
    return made.makespan_ns, workload.sections["memory"]["stage0"]["peak"]


@pytest.mark.parametrize("kernel", UNFUSED)
def test_an_unfused_step_takes_no_less_and_keeps_no_less(kernel: str) -> None:
    plan, name = plan_of(kernel), MODELS[kernel]
    apart = plan.replace(unfused_kernels=kernel)
    fused, unfused = layer(name, plan), layer(name, apart)
    assert len(unfused) > len(fused) and moved(unfused) > moved(fused)
    assert sum(one.vector_flops for one in unfused) <= sum(one.vector_flops for one in fused) * 1.01
    (time_ns, peak), (longer_ns, higher) = step(name, plan), step(name, apart)
    assert longer_ns > time_ns and higher >= peak


def test_bytes_grow_by_the_definition() -> None:
    """Llama 3 8B: gate and up of 14336, a norm's rows of 4096, queries and keys of 5120."""
    base = moved(layer("llama3-8b", Plan()))
    grows = {
        "bias_activation": ((3 + 2 + 8 + 5) - (2 + 1 + 3 + 2)) * 14336,
        "norm": 2 * ((10 + 8 + 21 + 13) - (1 + 1 + 2 + 1)) * 4096,
        "rope": ((6.5 + 5.5 + 5.5 + 4.5) - 4) * 5120,
    }
    for kernel, elements in grows.items():
        found = moved(layer("llama3-8b", Plan(unfused_kernels=kernel))) - base
        assert found == 2 * TOKENS * elements


def test_kernels_that_are_one_anyway_stay() -> None:
    for name, kernel in (("llama3-8b", "bias_dropout_add"), ("llama3-8b", "softmax_masks")):
        assert layer(name, Plan(unfused_kernels=kernel)) == layer(name, Plan())


def test_unfused_kernels_run_within_their_bounds() -> None:
    plan = Plan(tp=2, dp=2, recompute="selective", unfused_kernels=UNFUSED)
    runs_within_its_bounds(train("llama3-8b", plan, 64), "yantra")


def test_kernels_are_named() -> None:
    assert unfused_of(["rope", "norm"]) == unfused_of("rope,norm")
    assert Plan(unfused_kernels="none") == Plan()
    with pytest.raises(ConfigError, match="unfused_kernels: expected one of none, rope"):
        Plan(unfused_kernels="gelu")


def test_the_closed_form_has_them() -> None:
    space = PlanSpace(
        ranks=8, global_batch=32, most_tp=8, sequence=TOKENS, ep=(8,), recompute=("none",),
        gradient_dtype=("bf16",), unfused_kernels="permute,router,norm",
    )  # fmt: skip
    model = find("qwen3-30b-a3b")
    columns = space.columns(model)
    machine = Machine("hgx-h100", 8, stack=STACK)
    judged = ClosedForm(model, machine, TOKENS, Works(model, TOKENS, space.held)).judge(columns, 32)
    rows = np.random.default_rng(3).permutation(len(columns["tp"]))[:3].tolist()
    for row in rows:
        time_ns, peak = step("qwen3-30b-a3b", space.plan(columns, row))
        assert judged.time_ns[row] == pytest.approx(time_ns, rel=0.03)
        assert judged.memory_bytes[row] == pytest.approx(peak, rel=1e-4)
