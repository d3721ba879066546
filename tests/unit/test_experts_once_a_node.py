"""Without a named framework a token goes once to a node, to as many experts as its model has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import yantra
from yantra.base.fields import Plugin
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.models.catalogue import find
from yantra.workloads.models.experts import experts_a_token
from yantra.workloads.templates import load
from yantra.workloads.templates.expand import expand
from yantra.workloads.training.train import train

STEP = {
    "model": {"name": "mixtral-8x7b", "num_layers": 2},
    "plan": {"ranks": 16, "ep": 16, "global_batch": 16},
    "sequence": 1024,
}
MORE = {"num_experts": 16}


@pytest.mark.parametrize(
    ("model", "experts"),
    [("mixtral-8x7b", 2), ("deepseek-v3", 8), ("qwen3-30b-a3b", 8), ("llama3-8b", None)],
)
def test_a_model_says_to_how_many_experts_a_token_goes(model: str, experts: int | None) -> None:
    assert experts_a_token(find(model)) == experts


def step(top_k: int) -> dict[str, Any]:
    sizes = MORE | {"moe_router_topk": top_k}
    return STEP | {"model": STEP["model"] | sizes}  # type: ignore[operator]


def with_copies(scenario: Scenario, copies: int) -> Scenario:
    chosen = scenario.collectives.selection
    assert isinstance(chosen, Plugin) and dict(chosen.options)["copies"] == 0
    options = tuple((dict(chosen.options) | {"copies": copies}).items())
    own = scenario.collectives.replace(selection=chosen.replace(options=options))
    return scenario.replace(collectives=own)


@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_the_default_takes_what_the_copies_of_the_model_take(top_k: int) -> None:
    scenario = on_cluster(step(top_k), "hgx-h100", ignore_memory=True)
    took = simulate(scenario).makespan_ns
    assert took == simulate(with_copies(scenario, top_k)).makespan_ns
    if top_k > 1:
        assert took < simulate(with_copies(scenario, 1)).makespan_ns


def test_a_job_without_experts_sends_all() -> None:
    job = {"model": "llama3-8b", "plan": {"ranks": 16, "tp": 8, "cp": 2}, "sequence": 1024}
    scenario = on_cluster(job, "hgx-h100")
    assert simulate(scenario).makespan_ns == simulate(with_copies(scenario, 1)).makespan_ns


def test_traces_send_as_their_workload_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = on_cluster(step(4), "hgx-h100", ignore_memory=True)
    from yantra.scenario.training import templates_of

    templates_of(scenario.workload).save("w.yw")  # type: ignore[arg-type]
    assert load("w.yw").experts == 4
    expand(load("w.yw"), "et")
    (groups,) = (str(path) for path in Path("et").glob("*.json"))
    traces = {"traces": "et/workload.{rank}.et", "groups": groups}
    times = [
        simulate(on_cluster(one, "hgx-h100", ignore_memory=True)).makespan_ns
        for one in (step(4), "w.yw", traces)
    ]
    assert len(set(times)) == 1


def test_closed_forms_know_the_experts_of_each_model() -> None:
    for model, ep in (("qwen3-30b-a3b", 16), ("mixtral-8x7b", 8)):
        best = yantra.plan(
            model, ranks=16, cluster="hgx-h200", global_batch=32, sequence=2048, ep=(ep,), top=1
        ).best
        assert best.not_simulated == ""
        assert best.closed_ns == pytest.approx(best.time_ns, rel=0.04)
        said = Scenario(
            workload=Templates(workload=train(model, best.plan, 2048)),
            **cluster_parts("hgx-h200", 16, "bf16"),
        )
        assert simulate(said).makespan_ns == best.time_ns


@pytest.mark.parametrize(("ep", "same"), [(8, True), (16, False)])
def test_a_plan_that_sends_each_copy_takes_what_a_model_of_one_copy_takes(
    ep: int, same: bool
) -> None:
    """In a node nothing is sent twice; over nodes all copies are."""
    plan = {"ranks": 16, "ep": ep, "global_batch": 16}
    once, each = (
        on_cluster(
            step(4) | {"plan": plan | {"dispatch": dispatch}}, "hgx-h100", ignore_memory=True
        )
        for dispatch in ("once", "each")
    )
    took = simulate(each).makespan_ns
    assert took == simulate(with_copies(once, 1)).makespan_ns
    assert (took == simulate(once).makespan_ns) is same
