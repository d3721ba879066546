"""A share of the reductions of gradients that the end of the step has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric.stacks.choice import DEFAULT
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

MODEL, TOKENS = find("llama3-8b"), 2048


def step_ns(plan: Plan) -> float:
    workload = train(MODEL, plan, TOKENS)
    parts = parts_for("hgx-h100", plan.ranks, "bf16")
    return simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns


@pytest.mark.parametrize("zero", [0, 1])
def test_more_exposed_takes_longer(zero: int) -> None:
    plan = Plan(dp=16, zero=zero, global_batch=32)  # type: ignore[arg-type]
    times = [step_ns(plan.replace(exposed_gradients=share)) for share in (0.0, 0.3, 0.7, 1.0)]
    assert times == sorted(times)
    assert times[0] == step_ns(plan) < times[1]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"overlap_gradients": False}, "all is exposed without overlap_gradients"),
        ({"zero": 2}, "shards of gradients are reduced in every pass"),
    ],
)
def test_what_is_exposed_anyway_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        check(Plan(dp=8, exposed_gradients=0.5, **fields), MODEL)


def test_the_closed_form_has_it() -> None:
    space = PlanSpace(
        ranks=16, global_batch=32, most_tp=8, sequence=TOKENS, exposed_gradients=0.4,
        recompute=("none",),
    )  # fmt: skip
    columns = space.columns(MODEL)
    machine = Machine("hgx-h100", 16, stack=DEFAULT)
    judged = ClosedForm(MODEL, machine, TOKENS, Works(MODEL, TOKENS, space.held)).judge(columns, 32)
    rows = np.random.default_rng(2).permutation(len(columns["tp"]))[:4].tolist()
    error = [abs(judged.time_ns[row] / step_ns(space.plan(columns, row)) - 1) for row in rows]
    assert max(error) < 0.04
