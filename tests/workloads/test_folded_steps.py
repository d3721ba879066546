"""Generated training steps fold, and every rank and node keeps its times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario.on_cluster import on_cluster
from yantra.scenario.types import Semantics
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

STEPS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "dense": ("llama3-8b", "hgx-h100", {"tp": 8, "pp": 4, "dp": 4, "zero": 1, "global_batch": 16}),
    "half a server": ("llama3-8b", "hgx-h100", {"tp": 4, "pp": 4, "dp": 8, "global_batch": 16}),
    "experts": ("mixtral-8x7b", "hgx-h100", {"tp": 2, "pp": 4, "dp": 8, "ep": 8, "zero": 1}),
    "a torus": ("llama3-8b", "tpu-v4", {"tp": 4, "pp": 2, "dp": 8, "zero": 2, "global_batch": 16}),
}


def times(result: Result) -> list[Any]:
    """Return the start and the end of every node, by rank."""
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
