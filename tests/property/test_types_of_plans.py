"""A plan in a type of numbers is the run of its step in that type: in `plan`, studies and `ui`."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.explore.answers.best import Answer, best_plans
from yantra.explore.answers.sensitivity import sensitivities
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import PlanSpace
from yantra.explore.study.point import scenario_of
from yantra.explore.study.study import run_study
from yantra.explore.study.study_file import Study, study_of
from yantra.fabric import clusters
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario.on_cluster import on_cluster
from yantra.ui import controls, jobs, question
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import CHOICES, Plan
from yantra.workloads.training.train import train

DTYPES = CHOICES["dtype"]
JOBS = [("llama3-8b", 8, 64), ("mixtral-8x7b", 16, 64)]
HAS = {"fp4": "hgx-b200"}
"""A cluster that has a rate of a type; `hgx-h100` has one of the others."""


def cluster_of(dtype: str) -> str:
    return HAS.get(dtype, "hgx-h100")


@cache
def answer(model: str, ranks: int, batch: int, dtype: str) -> Answer:
    space = PlanSpace(ranks=ranks, global_batch=batch, dtype=dtype)
    return best_plans(find(model), cluster_of(dtype), space, refined=model == JOBS[0][0], top=8)


def as_run(model: str, plan: Any, dtype: str, folder: Path) -> Result:
    path = folder / "step.yw"
    train(model, plan.replace(dtype=dtype)).save(str(path))
    return simulate(on_cluster(str(path), cluster_of(dtype)))


@pytest.mark.parametrize(
    ("model", "ranks", "batch", "dtype"),
    [
        *(pytest.param(*JOBS[0], dtype) for dtype in DTYPES),
        pytest.param(*JOBS[1], "fp8_block"),
        *(
            pytest.param(*JOBS[1], one, marks=pytest.mark.slow)
            for one in DTYPES
            if one != "fp8_block"
        ),
    ],
)
def test_a_plan_is_the_run_of_its_step_in_its_type(
    model: str, ranks: int, batch: int, dtype: str, tmp_path: Path
) -> None:
    """The closed form's time is within 1 % of the run's."""
    found = answer(model, ranks, batch, dtype)
    for one in found.ranked[:2]:
        result = as_run(model, one.plan, dtype, tmp_path)
        assert one.time_ns == result.makespan_ns
        assert one.mfu == result.figures.mfu
        assert one.memory_bytes == result.figures.memory_need_bytes
        assert one.refined or one.closed_ns == pytest.approx(result.makespan_ns, rel=0.01)
    assert not all(one.refined for one in found.ranked)


@pytest.mark.parametrize("dtype", DTYPES)
def test_on_one_device_the_closed_form_is_its_kernels(dtype: str) -> None:
    space = PlanSpace(ranks=1, global_batch=8, dtype=dtype)
    found = best_plans(find("bert-large"), cluster_of(dtype), space, top=4, stack="roofline")
    for one in found.ranked:
        assert one.closed_ns == pytest.approx(one.time_ns, rel=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("model", "ranks", "batch"), JOBS)
def test_memory_counts_the_bits_of_the_type(model: str, ranks: int, batch: int, dtype: str) -> None:
    space = PlanSpace(
        ranks=ranks, global_batch=batch, most_tp=8, sequence=2048, dtype=dtype, zero=(0, 1)
    )
    columns = space.columns(find(model))
    machine = Machine(cluster_of(dtype), ranks, dtype=dtype)
    memory = ClosedForm(find(model), machine, 2048).memory(columns, batch)
    for row in np.random.default_rng(3).choice(len(memory), 4, replace=False):
        workload = train(model, space.plan(columns, int(row)), 2048)
        assert memory[row] == pytest.approx(max(workload.peaks().values()), rel=1e-6)


@pytest.mark.parametrize("model", ["llama3-8b", "mixtral-8x7b"])
def test_a_narrower_type_is_never_slower(model: str) -> None:
    times = []
    for dtype in ("fp32", "bf16", "fp8"):
        space = PlanSpace(ranks=16, global_batch=32, most_tp=8, sequence=2048, dtype=dtype)
        form = ClosedForm(find(model), Machine("hgx-h100", 16, dtype=dtype), 2048)
        times.append(form.judge(space.columns(find(model)), 32).time_ns)
    for wide, narrow in pairwise(times):
        assert (narrow <= wide * (1 + 1e-9)).all()


@pytest.mark.parametrize("dtype", ["fp8", "fp32"])
def test_the_rate_of_arithmetic_is_that_of_every_type(dtype: str) -> None:
    """Elasticities sum to -1, so `peak` scales what kernels of all types run at."""
    space = PlanSpace(ranks=16, global_batch=32, most_tp=8, sequence=2048, tp=(4,), dtype=dtype)
    found = sensitivities(find("llama3-8b"), clusters.load("hgx-h100"), space)
    assert sum(one.elasticity for one in found) == pytest.approx(-1, abs=0.01)
    fast = Machine("hgx-h100", 8, Scale(peak=2.0), dtype=dtype)
    usual = Machine("hgx-h100", 8, dtype=dtype)
    for kind in ("bf16", dtype):
        assert fast._rate(kind) == pytest.approx(2 * usual._rate(kind))


def study(**more: Any) -> Study:
    tree = {"model": "llama3-8b", "global_batch": 64, "clusters": ["hgx-h100"], "ranks": [8]}
    return study_of(tree | more, "s.yaml")


@pytest.mark.parametrize("dtype", ["bf16", "fp8", "fp32"])
def test_a_trial_of_a_study_is_the_run_of_its_plan(dtype: str, tmp_path: Path) -> None:
    of = study(dtype=dtype)
    finished = run_study(of)
    scenario = scenario_of(of, finished, 0)
    result = simulate(scenario)
    assert scenario.machine.dtype == dtype
    assert finished.trials[0]["step_time"] == pytest.approx(result.makespan_ns / 1e9, rel=0.01)
    assert finished.trials[0]["memory"] == pytest.approx(result.figures.memory_need_bytes, rel=1e-3)
    workload = scenario.workload.workload  # type: ignore[union-attr]
    workload.save(str(tmp_path / "step.yw"))
    again = simulate(on_cluster(str(tmp_path / "step.yw"), "hgx-h100"))
    assert again.makespan_ns == result.makespan_ns
    assert again.figures.mfu == result.figures.mfu


def test_a_folder_of_before_there_was_a_choice_is_of_the_usual_type() -> None:
    usual = study()
    of_before = json.loads(json.dumps(usual._replace(points=None)))[:-1]
    assert Study.of(of_before).digest == usual.digest == study(dtype="bf16").digest
    assert len({study(dtype=one).digest for one in ("bf16", "fp16", "fp8", "fp32")}) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("fp4", "s.yaml: dtype: its products are in fp4, of which hgx-h100 states no rate; it "),
        ("fp9", "s.yaml: dtype: expected one of fp32, bf16, fp16, fp8, fp8_block, fp4, got "),
        (8, "s.yaml: dtype: expected one of fp32, bf16, fp16, fp8, fp8_block, fp4, got 8"),
        (["fp8"], "s.yaml: dtype: expected one of fp32, bf16, fp16, fp8, fp8_block, fp4, got "),
    ],
)
def test_a_study_of_a_type_that_is_not_there_is_refused_as_it_is_read(
    given: Any, said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        study(dtype=given)
    assert str(error.value).startswith(said)


def test_the_command_takes_a_type_and_refuses_what_the_run_refuses(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    job = ["plan", "--model", "llama3-8b", "--ranks", "8", "--global-batch", "64", "--top", "2"]
    assert main([*job, "--cluster", "hgx-h100", "--dtype", "fp8", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    best = told["clusters"][0]["ranked"][0]
    ranked = answer("llama3-8b", 8, 64, "fp8").ranked[0]
    assert (best["time_ns"], best["mfu"]) == (ranked.time_ns, ranked.mfu)
    assert best["plan"]["dtype"] == "fp8"
    assert told["title"] == "llama3-8b on 8 ranks, global batch 64 x 8,192 tokens, fp8"
    for dtype, said in (
        ("fp4", "error: --dtype: its products are in fp4, of which hgx-h100 states no rate; it "),
        ("fp9", "error: --dtype: expected one of fp32, bf16, fp16, fp8, fp8_block, fp4, got "),
    ):
        assert main([*job, "--cluster", "hgx-h100", "--dtype", dtype]) == 2
        assert capsys.readouterr().err.startswith(said)
    path = tmp_path / "x.yw"
    narrow = Plan(dp=8, zero=1, global_batch=64, dtype="fp4")
    train("llama3-8b", narrow).save(str(path))
    assert main(["run", "--workload", str(path), "--cluster", "hgx-h100"]) == 2
    assert "its products are in fp4, of which hgx-h100 states no rate" in capsys.readouterr().err


@pytest.mark.parametrize("dtype", ["bf16", "fp8"])
def test_the_page_runs_and_plans_in_the_type_of_its_control(dtype: str, tmp_path: Path) -> None:
    form = controls.read({"dtype": dtype})
    plan = Plan.of(question.workload(form)["plan"])
    result, again = jobs.run(form), as_run("llama3-8b", plan, dtype, tmp_path)
    assert result.makespan_ns == again.makespan_ns
    assert result.figures.mfu == again.figures.mfu
    best = jobs.best(form)["plans"][0]
    assert jobs.run(form | best["set"]).makespan_ns == best["time_ns"]


def test_the_page_names_the_control_of_a_type_that_is_not_there() -> None:
    form = controls.read({"dtype": "fp4"})
    for act in (jobs.run, jobs.best):
        with pytest.raises(ConfigError, match="its products are in fp4") as raised:
            act(form)
        assert question.place(raised.value, form) == "dtype"
    with pytest.raises(ConfigError, match="dtype: expected one of fp32, bf16"):
        jobs.run(form | {"dtype": "fp9"})
