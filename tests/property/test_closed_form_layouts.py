"""Pipelines whose chunks have unequal layers, against their orders, their steps and their runs."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.layouts import Layouts, _moments
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.space import PlanSpace
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads import schedules
from yantra.workloads.models.catalogue import find
from yantra.workloads.schedules.in_flight import peak_bytes
from yantra.workloads.schedules.schedule import one_more_ahead
from yantra.workloads.training.step.layers import layer_ranges
from yantra.workloads.training.train import train

CLUSTER = "hgx-h100"


@given(st.integers(0, 2**32))
def test_a_device_holds_at_most_what_its_order_says(seed: int) -> None:
    draw = Random(seed)
    p, v, groups = draw.randrange(1, 6), draw.randrange(1, 6), draw.randrange(1, 5)
    if p == 1:
        v = 1
    m = p * groups if v > 1 else draw.randrange(1, 12)
    device = draw.randrange(p)
    chunks = np.array([[draw.randrange(4), draw.randrange(3)] for _ in range(v)])
    saves, front, tail = (draw.randrange(1, 50), draw.randrange(1, 50)), 70, 90
    sizes = [int(layers @ saves) for layers in chunks]
    sizes[0] += front * (device == 0)
    sizes[-1] += tail * (device == p - 1)
    order = schedules.get("interleaved" if v > 1 else "1f1b").order(device, p, m, v)
    ahead = draw.randrange(2)
    if ahead:
        order = one_more_ahead(order)
    moments = _moments(chunks, device, p, min(m, 3 * p if v > 1 else p + ahead), ahead)
    most = moments[:, :2] @ saves + moments[:, 2] * front + moments[:, 3] * tail
    assert most.max() == peak_bytes(order, sizes)


@given(st.integers(0, 2**32))
def test_counts_of_layers_are_those_of_the_stages(seed: int) -> None:
    draw = Random(seed)
    kinds = [draw.randrange(2) for _ in range(draw.randrange(2, 40))]
    p, v, count = draw.randrange(1, 5), draw.randrange(1, 6), len(kinds)
    either = [(a, b) for a in (0, 1) for b in (0, 1)]
    ends = [(a, b) for a, b in either if not a + b or (count + a + b) % (p * v) == 0]
    front, tail = draw.choice(ends)
    if count + front + tail < p * v:
        return
    ranges = layer_ranges(count, p * v, front=bool(front), tail=bool(tail))
    each = [np.bincount(kinds[a:b], minlength=max(kinds) + 1) for a, b in ranges]
    stages = np.array(each).reshape(v, p, -1)
    found = Layouts(kinds).layers(np.array([[p, v, front, tail]]))
    assert (found.all[:, 0] == stages.sum(axis=(0, 1))).all()
    for at, device in ((0, 0), (1, p - 1)):
        assert (found.own[2 * at][:, 0] == stages[:, device].sum(axis=0)).all()
        assert (found.first[at][:, 0] == stages[0, device]).all()
        assert (found.final[at][:, 0] == stages[-1, device]).all()
    assert (found.across[0][:, 0] == stages[0, :-1].sum(axis=0)).all()
    if p > 1:
        assert found.others.sum() == stages[0, 1:].sum(axis=1).max()
    beyond = stages[1:-1, :-1].sum(axis=(1, 2)) - (p - 1) * stages[1:-1, -1].sum(axis=1)
    assert found.mixed.sum() == np.maximum(beyond, 0).sum()
    if p > 2:
        sums = stages[:, 1:-1].sum(axis=(0, 2))
        assert found.own[1].sum() == sums.max()
        middle = 1 + int(np.flatnonzero(sums == sums.max())[-1])
        assert (found.middle[:, :, 0] == stages[[0, -1], middle]).all()
        across = stages[0, :middle].sum(axis=0) + stages[-1, middle + 1 : -1].sum(axis=0)
        assert (found.across[1][:, 0] == across).all()


@pytest.mark.parametrize(
    ("name", "ranks", "batch", "kept"),
    [
        ("llama3-8b", 16, 32, "uneven"),
        ("llama3-8b", 16, 32, "ends"),  # 32 layers and both ends are 34: two stages of 17
        ("deepseek-v2-lite", 16, 16, "uneven"),  # 27 layers, the first of its own kind
        ("llama3-405b", 128, 128, "ends"),  # 126 layers and both ends are 128
    ],
)
def test_memory_of_uneven_chunks_is_that_of_the_step_and_time_near_its_run(
    name: str, ranks: int, batch: int, kept: str
) -> None:
    model = find(name)
    space = PlanSpace(ranks=ranks, global_batch=batch, most_tp=8, sequence=2048, zero=(0, 1))
    every = space.columns(model)
    stages = every["pp"] * every["vpp"]
    ends = every["embedding_as_layer"] + every["loss_as_layer"] > 0
    chosen = (
        ends if kept == "ends" else ~ends & (every["vpp"] > 1) & (len(model.layers) % stages > 0)
    )
    rows = np.random.default_rng(5).permutation(np.flatnonzero(chosen))[:5]
    columns = {name: of[rows] for name, of in every.items()}
    judged = ClosedForm(model, Machine(CLUSTER, ranks, stack="unknown"), 2048).judge(columns, batch)
    parts = parts_for(CLUSTER, ranks, "bf16", "unknown")
    errors = []
    for row in range(len(rows)):
        workload = train(model, space.plan(columns, row), 2048)
        assert judged.memory_bytes[row] == pytest.approx(max(workload.peaks().values()), rel=1e-6)
        result = simulate(Scenario(workload=Templates(workload=workload), **parts))
        errors.append(abs(judged.time_ns[row] / result.makespan_ns - 1))
    assert np.median(errors) < 0.04
    assert max(errors) < 0.08


def test_a_space_has_chunks_that_do_not_divide_the_layers_and_ends_that_count() -> None:
    """Llama 3's own layout of 126 layers on 16 devices, and the 61 layers of DeepSeek-V3."""
    wanted: dict[str, Any] = {
        "tp": 8,
        "pp": 16,
        "vpp": 8,
        "embedding_as_layer": 1,
        "loss_as_layer": 1,
    }
    columns = PlanSpace(ranks=16384, global_batch=2048, most_tp=8).columns(find("llama3-405b"))
    assert np.logical_and.reduce([columns[name] == value for name, value in wanted.items()]).any()
    columns = PlanSpace(ranks=512, global_batch=8192, most_tp=8).columns(find("deepseek-v3"))
    assert set(columns["vpp"][columns["pp"] == 2].tolist()) == set(range(1, 32))


def test_of_layouts_with_equal_stages_one_is_judged_and_a_given_one_always() -> None:
    """126 layers on 16 stages are 7 on both ends anyway, as where the ends count as layers."""
    model = find("llama3-405b")
    space = PlanSpace(ranks=128, global_batch=16, tp=(8,), pp=(16,), vpp=(1,), micro_batch=(1,))
    assert not space.columns(model)["loss_as_layer"].any()
    ends = space.replace(embedding_as_layer=(True,), loss_as_layer=(True,))
    columns = ends.columns(model)
    assert columns["embedding_as_layer"].all() and columns["loss_as_layer"].all()
    plan = ends.plan(columns, 0)
    assert plan.embedding_as_layer is plan.loss_as_layer is True
