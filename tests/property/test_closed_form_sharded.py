"""Plans that shard gradients or weights (ZeRO-2, ZeRO-3), against their steps and their runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from yantra.explore.closed_form.closed_form import ClosedForm, Judged
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.space import Columns, PlanSpace
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.training.train import train

CLUSTER = "hgx-h100"


def some(
    name: str, space: PlanSpace, count: int
) -> tuple[Columns, Judged, list[tuple[float, int]]]:
    model, batch = find(name), space.global_batch
    every = space.columns(model)
    rows = np.random.default_rng(4).permutation(len(every["tp"]))[:count]
    columns = {name: of[rows] for name, of in every.items()}
    machine = Machine(CLUSTER, space.ranks, stack="unknown")
    judged = ClosedForm(model, machine, space.sequence).judge(columns, batch)
    parts = parts_for(CLUSTER, space.ranks, "bf16", "unknown")
    found = []
    for row in range(len(rows)):
        workload = train(model, space.plan(columns, row), space.sequence)
        ran = simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns
        found.append((ran, max(workload.peaks().values())))
    return columns, judged, found


@pytest.mark.parametrize(
    ("zero", "overlap", "memory", "time"),
    [(2, True, 0.01, 0.05), (3, True, 1e-6, 0.02), (2, False, 0.01, 0.05), (3, False, 1e-6, 0.03)],
)
def test_replicas_of_one_stage(zero: int, overlap: bool, memory: float, time: float) -> None:
    space = PlanSpace(
        ranks=32, global_batch=64, sequence=2048, most_tp=8, cp=(1,), pp=(1,), zero=(zero,),
        overlap=(overlap,), recompute=("none", "selective", "full"),
    )  # fmt: skip
    _, judged, found = some("llama3-8b", space, 5)
    for row, (ran, need) in enumerate(found):
        assert judged.memory_bytes[row] == pytest.approx(need, rel=memory)
        assert judged.time_ns[row] == pytest.approx(ran, rel=time)


def test_layers_that_wait_for_their_weights_fill_all_but_the_ends_of_a_pass() -> None:
    space = PlanSpace(
        ranks=32, global_batch=32, sequence=2048, tp=(1, 2), cp=(1,), pp=(1,), zero=(3,),
        micro_batch=(1,), gradient_dtype=("fp32",), recompute=("none",),
    )  # fmt: skip
    _, judged, found = some("llama3-8b", space, 2)
    assert max(judged.communication_ns / judged.kernels_ns) > 0.5
    for row, (ran, _) in enumerate(found):
        assert judged.time_ns[row] == pytest.approx(ran, rel=2e-3)


@pytest.mark.parametrize(("name", "ranks"), [("llama3-8b", 32), ("mixtral-8x7b", 32)])
def test_pipelines_and_experts(name: str, ranks: int) -> None:
    space = PlanSpace(ranks=ranks, global_batch=32, sequence=2048, most_tp=8, zero=(2, 3))
    columns, judged, found = some(name, space, 6)
    for row, (_, need) in enumerate(found):
        off = 1e-6 if columns["zero"][row] > 2 else 0.01
        assert judged.memory_bytes[row] == pytest.approx(need, rel=off)
    errors = [abs(judged.time_ns[row] / ran - 1) for row, (ran, _) in enumerate(found)]
    assert np.median(errors) < 0.05
    assert max(errors) < 0.10


@pytest.mark.parametrize("name", ["llama3-8b", "mixtral-8x7b"])
def test_chunks_of_interleaved_pipelines(name: str) -> None:
    space = PlanSpace(
        ranks=32, global_batch=32, sequence=2048, most_tp=8, cp=(1,), vpp=(2, 4, 8), zero=(3,),
        recompute=("none", "full"), embedding_as_layer=(False,), loss_as_layer=(False,),
    )  # fmt: skip
    columns, judged, found = some(name, space, 6)
    assert (columns["vpp"] > 1).all()
    errors = [abs(judged.time_ns[row] / ran - 1) for row, (ran, _) in enumerate(found)]
    assert np.median(errors) < 0.005
    assert max(errors) < 0.02


def test_a_tied_embedding_that_is_sharded_is_summed_by_shards() -> None:
    space = PlanSpace(
        ranks=16, global_batch=16, sequence=2048, tp=(2,), cp=(1,), pp=(2,), vpp=(1, 4),
        micro_batch=(2,), zero=(2, 3), gradient_dtype=("fp32",), recompute=("none",),
    )  # fmt: skip
    columns, judged, found = some("gpt3-13b", space, 4)
    assert sorted(columns["zero"].tolist()) == [2, 2, 3, 3]
    for row, (ran, _) in enumerate(found):
        assert judged.time_ns[row] == pytest.approx(ran, rel=0.02)


def test_each_level_needs_less_of_what_it_shards_and_adapters_have_two() -> None:
    model = find("llama3-8b")
    more: dict[str, Any] = {
        "tp": (1,),
        "cp": (1,),
        "pp": (1,),
        "micro_batch": (1,),
        "recompute": ("full",),
    }
    space = PlanSpace(ranks=16, global_batch=16, gradient_dtype=("fp32",), **more)
    columns = space.columns(model)
    assert columns["zero"].tolist() == [0, 1, 2, 3]
    need = ClosedForm(model, Machine(CLUSTER, 16)).memory(columns, 16)
    assert (np.diff(need) < 0).all()
    adapted = space.replace(lora_rank=8).columns(model)
    assert adapted["zero"].tolist() == [0, 1]
