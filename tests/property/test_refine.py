"""A search by fields without a closed form is never worse, and no single change beats its
answer.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from yantra.base.errors import ConfigError, YantraError
from yantra.compile import Model
from yantra.explore.answers import runner
from yantra.explore.answers.best import Answer, best_plans
from yantra.explore.answers.causes import PARTS
from yantra.explore.answers.plan_words import also, command_of, held, held_of
from yantra.explore.answers.refine import changed, moves, parts_after, read_choice
from yantra.explore.closed_form.exact import Budget, Exact
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.run import simulate as run_module
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.check import check
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

JOBS = (("llama3-8b", 16, 64, "hgx-h100"), ("mixtral-8x7b", 32, 32, "hgx-b200"))
CHANGES: dict[str, tuple[Any, ...]] = {
    "vpp": (1, 2, 4), "zero": (0, 1, 2, 3), "micro_batch": (1, 2, 4),
    "recompute": ("none", "selective", "full"), "sequence_parallel": (True, False),
    "schedule": ("1f1b", "gpipe", "interleaved", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipev"),
    "overlap_gradients": (False,), "overlap_parameters": (False,), "overlap_p2p": (False,),
    "overlap_tensor": (False,), "gather_again": (False,), "messages": ("sliced", "scattered"),
    "bucket_elements": (20_000_000, 80_000_000, 200_000_000), "offload_optimizer": (True,),
    "embedding_as_layer": (True,), "loss_as_layer": (True,), "shard": (2, 4, 8),
    "order": ("tp-cp-ep-pp-dp", "dp-tp-cp-ep-pp"), "prefetch": (2,), "fused_loss": (False,),
    "cp_kind": ("a2a", "all_gather"), "etp": (2,),
}  # fmt: skip


@cache
def answer(model: str, ranks: int, batch: int, cluster: str, refined: bool = True) -> Answer:
    space = PlanSpace(ranks=ranks, global_batch=batch, sequence=2048)
    return best_plans(find(model), cluster, space, stack="roofline", refined=refined)


def time_of(model: str, plan: Plan, cluster: str) -> float | None:
    try:
        check(plan, find(model), 2048)
        workload = train(find(model), plan, 2048)
    except YantraError:
        return None
    if max(workload.peaks().values()) > clusters.load(cluster).usable_bytes:
        return None
    parts = parts_for(cluster, plan.ranks, "bf16", "roofline")
    return simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns


@pytest.mark.parametrize("job", JOBS)
def test_further_fields_never_make_the_best_worse(job: tuple[str, int, int, str]) -> None:
    plain, refined = answer(*job, refined=False), answer(*job)
    assert refined.ranked[0].time_ns <= plain.ranked[0].time_ns
    assert refined.ranked[0].refined and not any(one.refined for one in plain.ranked)


@pytest.mark.parametrize("job", JOBS)
def test_a_refined_plan_has_the_time_and_memory_of_its_run(job: tuple[str, int, int, str]) -> None:
    model, _, _, cluster = job
    for one in answer(*job).ranked:
        assert one.time_ns == time_of(model, one.plan, cluster)
        assert sum(one.parts_ns) == pytest.approx(one.time_ns, rel=1e-9)
        assert min(one.parts_ns) >= 0


@pytest.mark.parametrize("job", JOBS)
def test_no_single_change_of_the_best_is_faster(job: tuple[str, int, int, str]) -> None:
    model, _, _, cluster = job
    best = answer(*job).ranked[0]
    faster = {}
    for name, values in CHANGES.items():
        for value in values:
            try:
                plan = best.plan.replace(**{name: value})
            except ConfigError:
                continue
            time = time_of(model, plan, cluster)
            if time is not None and time < best.time_ns * 0.995:
                faster[name, value] = time / best.time_ns
    assert not faster


def test_layers_leave_the_device_with_the_loss() -> None:
    """The loss of Llama 3 8B takes as long as layers, which four equal stages cannot make up."""
    given: dict[str, Any] = {
        "tp": (1,),
        "cp": (1,),
        "pp": (4,),
        "vpp": (1,),
        "recompute": ("full",),
    }
    space = PlanSpace(ranks=8, global_batch=64, sequence=2048, **given)
    others: dict[str, tuple[Any, ...]] = {"schedule": ("1f1b",)}
    best, even = (
        best_plans(find("llama3-8b"), "hgx-h100", space, stack="roofline", others=of).ranked[0]
        for of in (others, others | {"stage_layers": (None,)})
    )
    layers = best.plan.stage_layers
    assert layers is not None and sum(layers) == 32 and layers[-1] == min(layers)
    assert even.plan.stage_layers is None and best.time_ns < 0.95 * even.time_ns
    assert best.time_ns == time_of("llama3-8b", best.plan, "hgx-h100")


@pytest.mark.parametrize(("cluster", "stack"), [("mi300x", "unknown"), ("hgx-h100", "roofline")])
def test_no_number_of_chunks_beats_what_each_collective_takes(cluster: str, stack: str) -> None:
    plan = Plan(dp=16, zero=3, global_batch=32, recompute="full")
    workload = Templates(workload=train(find("llama3-8b"), plan, 2048))
    parts = parts_for(cluster, plan.ranks, "bf16", stack)
    own = simulate(Scenario(workload=workload, **parts)).makespan_ns
    for chunks in (1, 2, 4, 8, 16, 32):
        collectives = parts["collectives"].replace(chunks=chunks)
        given = Scenario(workload=workload, **(parts | {"collectives": collectives}))
        assert own <= 1.001 * simulate(given).makespan_ns


def test_who_chooses_how_collectives_run_is_told() -> None:
    measured, simulated = (
        held_of(parts_for("hgx-h100", 16, "bf16", stack)["collectives"])
        for stack in ("unknown", "roofline")
    )
    assert measured == "collectives: algorithms as the library that was measured chooses"
    assert simulated == (
        "collectives: algorithms of the cluster, as many chunks as are best for each"
    )


def test_finding_classes_counts_where_messages_are_followed() -> None:
    plan = Plan(dp=16, zero=3, global_batch=32, recompute="full")
    workload = Templates(workload=train(find("llama3-8b"), plan, 2048))
    spent = {}
    for stack in ("unknown", "roofline"):
        budget = Budget(events=1)
        parts = parts_for("hgx-h100", plan.ranks, "bf16", stack)
        assert budget.simulate(Scenario(workload=workload, **parts)).result is not None
        spent[stack] = budget.is_spent
    assert spent == {"unknown": False, "roofline": True}


def test_a_run_of_all_ranks_that_is_too_long_takes_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan(dp=16, zero=3, global_batch=32, recompute="full")
    workload = Templates(workload=train(find("llama3-8b"), plan, 2048))
    parts = parts_for("hgx-h100", plan.ranks, "bf16", "unknown")
    scenario = Scenario(workload=workload, fold="off", **parts)
    assert Budget().simulate(scenario).result is not None

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a simulation was made")

    monkeypatch.setattr(run_module, "_simulation", never)
    exact = Budget(each=1_000).simulate(scenario)
    assert exact.result is None and "1,000 events" in exact.reason


def test_a_search_holds_few_runs_and_what_it_drops_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space, model = PlanSpace(ranks=16, global_batch=64, sequence=2048), find("llama3-8b")
    usual = best_plans(model, "hgx-h100", space, top=3).ranked
    made: list[ref[Model]] = []
    most, real = 0, Budget.simulate

    def counted(budget: Budget, scenario: Scenario) -> Exact:
        nonlocal most
        exact = real(budget, scenario)
        made.append(ref(exact.model))
        most = max(most, sum(one() is not None for one in made))
        return exact

    monkeypatch.setattr(Budget, "simulate", counted)
    monkeypatch.setattr(runner, "_RUNS", 1)
    monkeypatch.setattr(runner, "_KEPT", 1)
    assert best_plans(model, "hgx-h100", space, top=3).ranked == usual
    assert most <= 3 < len(made) / 3


def test_what_is_allowed_bounds_all_plans() -> None:
    space = PlanSpace(ranks=16, global_batch=64, sequence=2048)
    others: dict[str, tuple[Any, ...]] = {
        "schedule": ("1f1b",),
        "bucket_elements": (100_000_000,),
        "gather_again": (True,),
    }
    found = best_plans(find("llama3-8b"), "hgx-h100", space, stack="roofline", others=others)
    for one in found.ranked:
        assert one.plan.bucket_elements == 100_000_000 and one.plan.gather_again
        assert one.plan.pp == 1 or one.plan.schedule == "1f1b"


def test_what_columns_leave_open_is_refined_unless_it_is_given() -> None:
    given: dict[str, Any] = {"tp": (1,), "cp": (4,), "pp": (1,), "zero": (1,)}
    space = PlanSpace(ranks=8, global_batch=8, recompute=("full",), **given)
    best, *kinds = (
        best_plans(find("llama3-8b"), "hgx-h100", of).ranked[0]
        for of in (space, *(space.replace(cp_kind=(kind,)) for kind in ("a2a", "p2p")))
    )
    assert [one.plan.cp_kind for one in kinds] == ["a2a", "p2p"]
    assert best.time_ns == min(one.time_ns for one in kinds) < max(one.time_ns for one in kinds)
    assert "cp_kind p2p" in held(space.replace(cp_kind=("p2p",)))
    assert not any(words.startswith("cp_kind") for words in held(space))


def test_a_plan_that_fits_with_activations_in_the_host_is_found() -> None:
    given: dict[str, Any] = {"tp": (1,), "cp": (1,), "pp": (1,), "zero": (1,), "micro_batch": (2,)}
    space, model = PlanSpace(ranks=8, global_batch=64, **given), find("llama3-8b")
    never = {"offload_activations": (False,), "offload_optimizer": (False,)}
    best, without = (
        best_plans(model, "dgx-a100-80gb", space, stack="roofline", others=others).ranked[0]
        for others in ({}, never)
    )
    assert best.plan.offload_activations and not without.plan.offload_activations
    assert best.time_ns < 0.98 * without.time_ns
    check(best.plan, model)
    peaks = train(model, best.plan).peaks().values()
    assert max(peaks) <= clusters.load("dgx-a100-80gb").usable_bytes


def test_all_forward_passes_come_first_where_activations_wait_in_the_host() -> None:
    given: dict[str, Any] = {"tp": (1,), "cp": (1,), "pp": (1,), "zero": (1,), "micro_batch": (2,)}
    space, model = PlanSpace(ranks=8, global_batch=64, **given), find("llama3-8b")
    usual: dict[str, tuple[Any, ...]] = {"schedule": ("1f1b",)}
    best, turning = (
        best_plans(model, "dgx-a100-80gb", space, stack="roofline", others=others).ranked[0]
        for others in ({}, usual)
    )
    assert best.plan == turning.plan.replace(schedule="gpipe")
    assert best.time_ns < 0.997 * turning.time_ns
    assert "schedule=gpipe" in also(best.plan, space.shown)
    assert "--schedule gpipe" in command_of("llama3-8b", best.plan)


def test_a_single_micro_batch_without_a_pipeline_names_no_order() -> None:
    plan = Plan(dp=2, micro_batch=2, global_batch=8, schedule="gpipe", offload_activations=True)
    made = [changed(plan, move, {}) for move in moves(plan, dict.fromkeys(PARTS, 0.25))]
    single, several = (
        {one.schedule for one in made if one is not None and (one.micro_batches == 1) is alone}
        for alone in (True, False)
    )
    assert (single, several) == ({"1f1b"}, {"gpipe"})


def test_a_schedule_that_no_plan_can_have_is_refused() -> None:
    space = PlanSpace(ranks=8, global_batch=8, pp=(8,), tp=(1,))
    others = {"schedule": ("zb-v",)}
    with pytest.raises(ConfigError, match="no plan that fits can have zb-v"):
        best_plans(find("bert-large"), "hgx-h100", space, stack="roofline", others=others)


def test_parts_of_a_changed_plan_are_times_that_sum_to_its_own() -> None:
    before = (60.0, 20.0, 15.0, 5.0)
    assert parts_after(before, 90.0, "bubble") == (60.0, 20.0, 5.0, 5.0)
    assert parts_after(before, 200.0, "") == (120.0, 40.0, 30.0, 10.0)
    beyond = parts_after(before, 68.0, "bubble")
    assert beyond == pytest.approx((48.0, 16.0, 0.0, 4.0))


def test_choices_are_read_in_the_form_of_their_field() -> None:
    assert read_choice("schedule", "1f1b,zb-v", "--allow") == ("1f1b", "zb-v")
    assert read_choice("gather_again", "true,false", "--allow") == (True, False)
    assert read_choice("bucket_elements", "1000,20", "--allow") == (1000, 20)
    assert read_choice("stage_layers", "even", "--allow") == (None,)
    with pytest.raises(ConfigError, match="did you mean 'schedule'"):
        read_choice("schedul", "1f1b", "--allow")
    with pytest.raises(ConfigError, match='--allow stage_layers: expected even, got "1,2"'):
        read_choice("stage_layers", "1,2", "--allow")
    with pytest.raises(ConfigError, match="--allow shard: expected whole numbers"):
        read_choice("shard", "some", "--allow")


def test_fields_beside_the_columns_are_told_and_typed() -> None:
    plan = Plan(
        tp=2, dp=4, pp=2, vpp=2, zero=1, micro_batch=2, global_batch=64, schedule="zb-v",
        gather_again=False, bucket_elements=100,
    )  # fmt: skip
    columns = ("tp", "cp", "ep", "pp", "vpp", "dp", "zero", "micro_batch", "recompute")
    assert also(plan, columns) == "schedule=zb-v gather_again=false bucket_elements=100"
    assert also(Plan(tp=2, dp=2), columns) == ""
    assert command_of("llama3-8b", plan, 2048) == (
        "yantra workload train --model llama3-8b --seq 2048 --tp 2 --pp 2 --vpp 2 --dp 4 --zero 1 "
        "--micro-batch 2 --global-batch 64 --schedule zb-v --no-gather-again --bucket-elements 100 "
        "-o step.yw"
    )


def test_sequence_parallelism_that_is_off_is_told_and_typed() -> None:
    """It is on by itself where tp is above 1, so a command that left it out made another step."""
    plan = Plan(tp=2, dp=2, sequence_parallel=False)
    assert also(plan, ("tp", "dp")) == "sequence_parallel=false"
    assert "--no-sequence-parallel" in command_of("llama3-8b", plan)
    assert "sequence" not in command_of("llama3-8b", Plan(tp=2, dp=2)) + also(Plan(dp=2), ("dp",))


def test_the_command_of_the_best_plan_makes_its_step(tmp_path: Path) -> None:
    from yantra.cli import main
    from yantra.run.simulate import simulate as run
    from yantra.scenario.on_cluster import on_cluster

    best = answer(*JOBS[0]).ranked[0]
    words = command_of("llama3-8b", best.plan, 2048).split()[1:]
    words[-1] = str(tmp_path / words[-1])
    assert main(words) == 0
    assert run(on_cluster(words[-1], "hgx-h100", stack="roofline")).makespan_ns == best.time_ns


def test_a_schedule_that_keeps_everything_is_found_where_it_fits() -> None:
    space = PlanSpace(ranks=16, global_batch=32, pp=(2,))
    others = {"schedule": ("gpipe",)}
    found = best_plans(find("llama3-8b"), "hgx-h100", space, stack="roofline", others=others)
    assert {one.plan.schedule for one in found.ranked} == {"gpipe"}


@pytest.mark.parametrize(("stack", "lacks"), [("megatron-bridge-26.06", True), ("unknown", False)])
def test_a_named_frameworks_plans_have_its_schedules_unless_others_are_asked_for(
    stack: str, lacks: bool
) -> None:
    space = PlanSpace(ranks=16, global_batch=32, sequence=2048, pp=(4,), tp=(1,), vpp=(1, 2))

    def found(**more: Any) -> Answer:
        return best_plans(find("llama3-8b"), "hgx-h100", space, stack=stack, top=1, **more)

    usual, asked = found(), found(others={"schedule": ("dualpipev",)})
    assert ("schedules that megatron lacks" in usual.held) == lacks
    assert (usual.ranked[0].plan.schedule in ("1f1b", "interleaved")) == lacks
    assert asked.ranked[0].plan.schedule == "dualpipev"
    assert "schedules that megatron lacks" not in asked.held
