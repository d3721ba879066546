"""Plans whose gradients have 16 bits: their kernels, their memory and their time."""

from __future__ import annotations

import numpy as np
import pytest

from yantra.explore.closed_form.amounts import amounts_of
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.space import PlanSpace
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.stage import stage_work
from yantra.workloads.training.train import train

CLUSTER = "hgx-h100"
MODELS = (
    "llama3-8b",
    "mixtral-8x7b",
    "deepseek-v2-lite",
    "dlrm",
    "vit-b/16",
    "mamba2-2.7b",
    "dit-xl/2",
)


@pytest.mark.parametrize("name", MODELS)
def test_amounts_with_half_gradients_are_those_of_works_made_for_them(name: str) -> None:
    model = find(name)
    count = len(model.layers)
    found = {}
    for dtype in ("fp32", "bf16"):
        plan = Plan(gradient_dtype=dtype)  # type: ignore[arg-type]
        work = stage_work(
            model, plan, layers=(0, count), front=True, tail=True, sequence=model.sequence
        )
        found[dtype] = amounts_of(work, 1)
    half, narrow = found["fp32"].with_half_gradients(), found["bf16"]
    assert (half.rows == narrow.rows).all()
    assert (half.rows != found["fp32"].rows).any()


@pytest.mark.parametrize(
    ("name", "ranks", "batch"), [("llama3-8b", 16, 32), ("mixtral-8x7b", 32, 32)]
)
def test_memory_is_that_of_the_step_and_time_near_its_run(
    name: str, ranks: int, batch: int
) -> None:
    model = find(name)
    space = PlanSpace(
        ranks=ranks,
        global_batch=batch,
        most_tp=8,
        sequence=2048,
        zero=(0, 1),
        gradient_dtype=("bf16", "fp16"),
    )
    every = space.columns(model)
    rows = np.random.default_rng(2).permutation(len(every["tp"]))[:5]
    columns = {name: of[rows] for name, of in every.items()}
    judged = ClosedForm(model, Machine(CLUSTER, ranks, stack="unknown"), 2048).judge(columns, batch)
    parts = parts_for(CLUSTER, ranks, "bf16", "unknown")
    for row in range(len(rows)):
        plan = space.plan(columns, row)
        workload = train(model, plan, 2048)
        assert plan.gradient_dtype in ("bf16", "fp16")
        assert judged.memory_bytes[row] == pytest.approx(max(workload.peaks().values()), rel=1e-6)
        ran = simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns
        assert judged.time_ns[row] == pytest.approx(ran, rel=0.04)


def test_narrow_gradients_never_take_longer_or_need_more() -> None:
    model = find("llama3-8b")
    space = PlanSpace(ranks=16, global_batch=16, cp=(1,))
    columns = space.columns(model)
    judged = ClosedForm(model, Machine(CLUSTER, 16)).judge(columns, 16)
    names = [name for name in columns if name != "gradient_dtype"]
    order = np.lexsort([columns["gradient_dtype"], *(columns[name] for name in names)])
    wide, narrow = order[::2], order[1::2]
    assert (columns["gradient_dtype"][wide] == 0).all()
    assert (columns["gradient_dtype"][narrow] == 1).all()
    assert all((columns[name][wide] == columns[name][narrow]).all() for name in names)
    assert (judged.memory_bytes[narrow] < judged.memory_bytes[wide]).all()
    assert (judged.time_ns[narrow] <= judged.time_ns[wide] * (1 + 1e-9)).all()
