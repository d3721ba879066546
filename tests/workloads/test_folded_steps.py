"""Generated training steps fold, and every rank and node keeps its times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra import _core
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.on_cluster import on_cluster
from yantra.scenario.types import Semantics
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

STEPS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "dense": ("llama3-8b", "hgx-h100", {"tp": 8, "pp": 4, "dp": 4, "zero": 1, "global_batch": 16}),
    "half a server": ("llama3-8b", "hgx-h100", {"tp": 4, "pp": 4, "dp": 8, "global_batch": 16}),
    "experts": ("mixtral-8x7b", "hgx-h100", {"tp": 2, "pp": 4, "dp": 8, "ep": 8, "zero": 1}),
    "hidden experts": (
        "mixtral-8x7b",
        "hgx-h100",
        {"pp": 2, "dp": 8, "ep": 8, "global_batch": 32, "overlap_experts": "1f1b"},
    ),
    "a torus": ("llama3-8b", "tpu-v4", {"tp": 4, "pp": 2, "dp": 8, "zero": 2, "global_batch": 16}),
}


def times(result: Result) -> list[Any]:
    outcome, graphs = result.outcome, result.model.graphs
    spans = ((outcome.first_node[rank], len(graphs.of(rank))) for rank in range(result.model.ranks))
    return [
        (outcome.start[first : first + count].tolist(), outcome.end[first : first + count].tolist())
        for first, count in spans
    ]


@pytest.mark.parametrize("semantics", ["yantra", "astra-sim"])
@pytest.mark.parametrize("name", STEPS)
def test_a_step_folds_and_every_node_keeps_its_time(
    name: str, semantics: Semantics, tmp_path: Path
) -> None:
    model_name, cluster, plan = STEPS[name]
    path = tmp_path / "step.yw"
    train(find(model_name), Plan(**plan)).save(path)
    model = compile(on_cluster(str(path), cluster, semantics=semantics, ignore_memory=True))
    once, whole = run(model, fold="require"), run(model, fold="off")
    assert times(once) == times(whole)
    assert once.ranks.as_dict() == whole.ranks.as_dict()
    assert once.dimensions.as_dict() == whole.dimensions.as_dict()
    assert once.messages == whole.messages


@pytest.mark.parametrize(("network", "fewer"), [("ideal", 2), ("analytical", 1)])
def test_a_step_whose_ranks_all_differ_is_spared_the_messages_of_their_collectives(
    network: str, fewer: int
) -> None:
    plan = Plan(tp=2, pp=8, dp=2, global_batch=32, zero=1, recompute="selective")
    workload = train(find("llama3-8b"), plan)
    parts = cluster_parts("hgx-h100", plan.ranks, stack="roofline")
    model = compile(Scenario(workload=Templates(workload=workload), **parts | {"network": network}))
    assert max(_core.fold(model.native).count) == 1
    by_class, whole = run(model), run(model, fold="off")
    assert by_class.not_folded == ""
    assert by_class.events < whole.events / fewer
    assert times(by_class) == times(whole)
    assert by_class.ranks.as_dict() == whole.ranks.as_dict()
    assert by_class.dimensions.as_dict() == whole.dimensions.as_dict()
    assert by_class.messages == whole.messages


def test_a_recorded_step_whose_ranks_all_differ_is_run_whole() -> None:
    plan = Plan(tp=2, pp=8, dp=2, global_batch=16, zero=1, recompute="selective")
    workload = train(find("llama3-8b"), plan)
    parts = cluster_parts("hgx-h100", plan.ranks, stack="roofline")
    model = compile(Scenario(workload=Templates(workload=workload), **parts))
    assert "100%" in run(model, record=True).not_folded
