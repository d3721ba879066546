"""Messages to experts behind other micro-batches: bounds, what is held, and the closed form."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.workloads.step.models import model_of
from tests.workloads.step.test_simulation import EXPERTS
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
from yantra.workloads.schedules.schedule import Step, one_more_ahead
from yantra.workloads.training.train import train

SEQUENCE = 2048
PLANS: dict[str, dict[str, Any]] = {
    "no pipeline": {"dp": 8, "ep": 8, "zero": 1, "global_batch": 64},
    "pipeline": {"dp": 8, "pp": 2, "ep": 8, "zero": 1, "global_batch": 64},
    "chunks": {"dp": 8, "pp": 2, "vpp": 4, "ep": 8, "zero": 2, "global_batch": 64},
    "sharded weights": {"dp": 8, "pp": 2, "ep": 4, "zero": 3, "global_batch": 64},
    "computed again": {"dp": 4, "tp": 2, "ep": 8, "global_batch": 16, "recompute": "full"},
}


def step_ns(model: Any, plan: Plan) -> float:
    parts = parts_for("hgx-h100", plan.ranks, "bf16")
    workload = train(model, plan, SEQUENCE)
    return simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns


@pytest.mark.parametrize("name", PLANS)
def test_a_hidden_message_costs_no_more_than_an_exposed_one_and_no_less_than_none(
    name: str,
) -> None:
    model, plan = find("qwen3-30b-a3b"), Plan(**PLANS[name])
    exposed = step_ns(model, plan)
    hidden, half, whole = (
        step_ns(model, plan.replace(overlap_experts="1f1b", exposed_experts=share))
        for share in (0.0, 0.5, 1.0)
    )
    assert _silent(model, plan) <= hidden < half < whole <= exposed * 1.0001


def _silent(model: Any, plan: Plan) -> float:
    """The step of the same kernels on a network that carries messages at once."""
    parts = parts_for("hgx-h100", plan.ranks, "bf16")
    fast = parts["topology"].replace(
        dimensions=tuple(
            one.replace(bytes_per_ns=one.bytes_per_ns * 1000)
            for one in parts["topology"].dimensions
        )
    )
    parts |= {"topology": fast, "collectives": parts["collectives"].replace(selection=None)}
    workload = train(model, plan, SEQUENCE)
    return simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns


def test_a_device_holds_one_more_micro_batch() -> None:
    model, plan = model_of(EXPERTS), Plan(dp=4, pp=2, ep=4, global_batch=32)
    usual, ahead = (
        train(model, one).sections["memory"]
        for one in (plan, plan.replace(overlap_experts="1f1b", global_batch=32))
    )
    for stage, held in (("stage0", 2), ("stage1", 1)):
        assert ahead[stage]["activations"] > usual[stage]["activations"] * (held + 1) / held * 0.8
    order = one_more_ahead([Step("F", 0), Step("B", 0), Step("F", 1), Step("B", 1)])
    assert "".join(map(str, order)) == "F0F1B0B1"


def test_all_exposed_is_the_step_without_it_but_for_the_order() -> None:
    model, plan = model_of(EXPERTS), Plan(dp=4, ep=4, global_batch=16)
    shown = plan.replace(overlap_experts="1f1b", exposed_experts=1.0, global_batch=16)
    one, other = (train(model, each).about["hardware_flops"] for each in (plan, shown))
    assert one == other


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            {"dp": 8, "global_batch": 16},
            "overlap_experts: experts exchange no messages with ep = 1",
        ),
        ({"dp": 8, "ep": 8}, "overlap_experts: hides behind other micro-batches, and the step has"),
        (
            {"dp": 8, "ep": 8, "pp": 2, "global_batch": 64, "schedule": "zb-h1"},
            "overlap_experts: pairs passes of the schedules 1f1b, interleaved",
        ),
    ],
)
def test_what_hides_nothing_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        check(Plan(overlap_experts="1f1b", **fields), find("qwen3-30b-a3b"))


def test_the_closed_form_is_within_its_error() -> None:
    model = find("mixtral-8x7b")
    space = PlanSpace(
        ranks=32, global_batch=64, most_tp=8, sequence=SEQUENCE, ep=(4, 8), zero=(1,),
        recompute=("none",), gradient_dtype=("bf16",), overlap_experts="1f1b",
    )  # fmt: skip
    columns = space.columns(model)
    machine = Machine("hgx-h100", 32, stack=DEFAULT)
    form = ClosedForm(model, machine, SEQUENCE, Works(model, SEQUENCE, space.held))
    judged = form.judge(columns, space.global_batch)
    rows = np.random.default_rng(3).permutation(len(columns["tp"]))[:6]
    ran = np.array([step_ns(model, space.plan(columns, int(row))) for row in rows])
    error = np.abs(judged.time_ns[rows] / ran - 1)
    assert np.median(error) < 0.02
    assert error.max() < 0.08
    for row in rows.tolist():
        memory = train(model, space.plan(columns, row), SEQUENCE).sections["memory"].values()
        most = max(stage["peak"] for stage in memory)
        assert judged.memory_bytes[row] == pytest.approx(most, rel=0.02)
