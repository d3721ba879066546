"""Several training steps, one behind the other, in one workload."""

from __future__ import annotations

import pytest

from yantra.base.errors import ConfigError
from yantra.compile import compile
from yantra.result import Result
from yantra.run.simulate import run
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.workloads.plan.plan import Plan
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

PLANS = (
    Plan(tp=2, dp=2),
    Plan(tp=2, dp=2, zero=1, overlap_parameters=False, overlap_gradients=False),
    Plan(dp=4, zero=3),
    Plan(pp=2, dp=2, zero=1, global_batch=8),
    Plan(pp=4, vpp=2, global_batch=8),
    Plan(pp=2, dp=2, zero=2, global_batch=8, schedule="zb-h1"),
    Plan(pp=4, global_batch=8, schedule="dualpipe"),
    Plan(tp=4, offload_optimizer=True),
)


def result_of(workload: Workload) -> Result:
    parts = cluster_parts("hgx-h100", workload.ranks)
    return run(compile(Scenario(workload=Templates(workload=workload), **parts)))


def makespan(workload: Workload) -> float:
    return result_of(workload).makespan_ns


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_each_further_step_takes_as_long_as_the_one_before(plan: Plan) -> None:
    one, two, three = (
        makespan(train("llama3-8b", plan.replace(steps=steps), 512)) for steps in (1, 2, 3)
    )
    assert three - two == pytest.approx(two - one, rel=1e-3)
    assert two - one == pytest.approx(one, rel=0.02)


def test_without_a_pipeline_n_steps_take_n_times_one() -> None:
    plan = Plan(tp=2, dp=2, zero=1)
    one, four = (makespan(train("llama3-8b", plan.replace(steps=n), 512)) for n in (1, 4))
    assert four == pytest.approx(4 * one, rel=1e-9)


def test_work_is_that_of_all_steps_and_memory_that_of_one() -> None:
    plan = Plan(tp=2, pp=2, dp=2, zero=1, global_batch=8)
    one, three = (train("llama3-8b", plan.replace(steps=n), 512) for n in (1, 3))
    assert three.memory == one.memory
    assert three.about["model_flops"] == 3 * one.about["model_flops"]
    for name, total in one.totals.items():
        assert three.totals[name]["nodes"] == 3 * total["nodes"]
        for part in ("compute", "communication"):
            assert [row[2] for row in three.totals[name][part]] == [
                3 * row[2] for row in total[part]
            ]


def test_a_run_quotes_the_mean_of_its_steps() -> None:
    result = result_of(train("llama3-8b", Plan(tp=8, steps=3), 512))
    figures = result.figures
    assert figures.steps == 3 and figures.tokens == 3 * 512
    assert figures.step_time_ns == pytest.approx(result.makespan_ns / 3)
    assert "the mean of 3 steps" in dict(figures.lines())["step time"]
    alone = result_of(train("llama3-8b", Plan(tp=8), 512)).figures
    assert alone.mfu == pytest.approx(figures.mfu, rel=1e-9)


def test_more_steps_than_can_be_written_are_refused() -> None:
    with pytest.raises(ConfigError, match="steps"):
        train("llama3-8b", Plan(steps=1_000_000), 512)
    with pytest.raises(ConfigError, match="whole number of at least 1"):
        Plan(steps=0)
