"""The closed form of plans: against the simulation, against itself, and its laws."""

from __future__ import annotations

import numpy as np
import pytest

from yantra.base.errors import CapacityError, ConfigError
from yantra.explore.best import best_plans
from yantra.explore.closed_form import ClosedForm
from yantra.explore.machine import Machine
from yantra.explore.space import FIELDS, Space
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.check import facts_of, problems
from yantra.workloads.training.train import train

CLUSTER = "hgx-h100"
JOBS = [("llama3-8b", 32, 64), ("mixtral-8x7b", 32, 32), ("gpt3-13b", 16, 32)]


@pytest.mark.parametrize(("name", "ranks", "batch"), JOBS)
def test_memory_is_exact_and_time_near_the_simulation(name: str, ranks: int, batch: int) -> None:
    model = find(name)
    space = Space(ranks=ranks, global_batch=batch, most_tp=8, sequence=2048)
    columns = space.columns(model)
    judged = ClosedForm(model, Machine(CLUSTER, ranks), 2048).judge(columns, batch)
    parts = cluster_parts(CLUSTER, ranks)
    rng = np.random.default_rng(7)
    errors = []
    for row in rng.choice(len(columns["tp"]), 6, replace=False):
        workload = train(model, space.plan(columns, int(row)), 2048)
        assert judged.memory_bytes[row] == pytest.approx(max(workload.peaks().values()), rel=0.02)
        result = simulate(Scenario(workload=Templates(workload=workload), **parts))
        errors.append(abs(judged.time_ns[row] / result.makespan_ns - 1))
    assert np.median(errors) < 0.03
    assert max(errors) < 0.15


def test_every_row_of_a_space_is_a_legal_plan() -> None:
    model = find("llama3-8b")
    space = Space(ranks=24, global_batch=48, cp=(1, 2), most_tp=8)
    columns = space.columns(model)
    facts = facts_of(model)
    for row in range(0, len(columns["tp"]), 7):
        plan = space.plan(columns, row)
        assert plan.ranks == 24
        assert list(problems(plan, facts, model.sequence)) == []


def test_no_row_stands_twice_and_parts_add_up() -> None:
    model = find("llama3-8b")
    columns = Space(ranks=16, global_batch=32).columns(model)
    rows = np.stack([columns[name] for name in FIELDS], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    judged = ClosedForm(model, Machine(CLUSTER, 16)).judge(columns, 32)
    whole = judged.kernels_ns + judged.communication_ns + judged.bubble_ns + judged.behind_ns
    assert whole == pytest.approx(judged.time_ns, rel=1e-12)


def test_a_larger_space_has_no_worse_optimum() -> None:
    model = find("llama3-8b")
    form = ClosedForm(model, Machine(CLUSTER, 16))
    best = [
        form.judge(space.columns(model), 32).time_ns.min()
        for space in (
            Space(ranks=16, global_batch=32, tp=(2,), zero=(1,)),
            Space(ranks=16, global_batch=32, tp=(1, 2, 4), zero=(1,)),
            Space(ranks=16, global_batch=32),
        )
    ]
    assert best == sorted(best, reverse=True)


def test_differences_of_the_ranked_add_up_to_their_times() -> None:
    answer = best_plans(
        find("llama3-8b"), CLUSTER, Space(ranks=16, global_batch=32, sequence=2048), top=3
    )
    times = [one.time_ns for one in answer.ranked]
    assert times == sorted(times) and len(times) == 3
    for one in answer.ranked:
        assert sum(one.parts_ns) == pytest.approx(one.time_ns, rel=1e-9)
        assert abs(one.closed_ns / one.time_ns - 1) <= answer.error + 1e-12
        assert one.memory_bytes <= answer.capacity_bytes


def test_a_search_without_an_answer_says_what_is_missing() -> None:
    with pytest.raises(CapacityError, match=r"none of .* fits; the smallest"):
        best_plans(find("llama3-70b"), CLUSTER, Space(ranks=2, global_batch=2))
    with pytest.raises(ConfigError, match="no legal plan for llama3-8b on 16 ranks"):
        Space(ranks=16, global_batch=7, pp=(1,), tp=(1,)).columns(find("llama3-8b"))
    with pytest.raises(ConfigError, match="pp: an empty choice"):
        Space(ranks=16, global_batch=7, pp=())
    with pytest.raises(ConfigError, match="zero: expected 0 or 1"):
        Space(ranks=16, global_batch=7, zero=(3,))
