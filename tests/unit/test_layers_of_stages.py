"""Which device of a pipeline has which layers, and how long each computes."""

from __future__ import annotations

import pytest

import yantra
from yantra.explore.answers.stages import busy_ns, stages_of
from yantra.result import Result
from yantra.workloads.plan.plan import Plan

LAYERS = 32  # of Llama 3 8B


def ran(plan: Plan) -> Result:
    fields = {name: value for name, value in plan.given.items() if value is not None}
    where = {"ranks": plan.ranks, "cluster": "hgx-h100", "sequence": 1024}
    return yantra.predict("llama3-8b", **where, **fields).result  # type: ignore[arg-type]


@pytest.mark.parametrize("order", ["tp-cp-ep-dp-pp", "pp-tp-cp-ep-dp"])
def test_a_device_computes_as_long_as_its_ranks_do_on_average(order: str) -> None:
    plan = Plan(tp=2, pp=4, dp=2, global_batch=16, order=order)
    result = ran(plan)
    compute = result.ranks["compute_ns"]
    slowest = order.startswith("tp")
    of_device = [compute[at * 4 : at * 4 + 4] if slowest else compute[at::4] for at in range(4)]
    means = [sum(own) / len(own) for own in of_device]
    assert busy_ns(plan, result) == pytest.approx(means, rel=1e-12)
    assert means[-1] > 1.05 * means[1]  # it has the head, too


@pytest.mark.parametrize("fields", [{}, {"vpp": 2}, {"schedule": "zb-v"}])
def test_every_layer_is_on_one_stage(fields: dict[str, object]) -> None:
    plan = Plan(pp=4, dp=2, global_batch=16, **fields)  # type: ignore[arg-type]
    counts, devices = stages_of(plan, LAYERS)
    assert sum(counts) == LAYERS and len(counts) == len(devices)
    assert set(devices) == set(range(4))
    assert max(counts) - min(counts) <= 1


def test_a_plan_that_says_its_layers_has_them() -> None:
    plan = Plan(pp=4, dp=2, global_batch=16, stage_layers=(6, 9, 9, 8))
    assert stages_of(plan, LAYERS) == ((6, 9, 9, 8), (0, 1, 2, 3))
