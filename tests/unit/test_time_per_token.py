"""Time per output token is the cost of one more iteration, without filling and draining."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from yantra.base.errors import ConfigError
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts
from yantra.scenario.disturbances import Failure
from yantra.workloads.serving import InferencePlan, infer
from yantra.workloads.templates import Workload, load

PLANS = [
    ("llama3-8b", {"pp": 1}),
    ("llama3-8b", {"pp": 2}),
    ("llama3-8b", {"pp": 3}),
    ("llama3-8b", {"pp": 4, "micro_batches": 8}),
    ("llama3-8b", {"pp": 8}),
    ("llama3-8b", {"pp": 2, "tp": 2, "dp": 2}),
    ("mixtral-8x7b", {"pp": 2, "tp": 2, "ep": 2}),
    ("qwen3-30b-a3b", {"pp": 2, "ep": 4}),
]


def made(model: str, plan: dict[str, int], phase: Any = "decode", **job: Any) -> Workload:
    return infer(model, InferencePlan(**plan), phase=phase, **({"batch": 32} | job))


def ran(work: Workload, **changes: Any) -> Result:
    parts = cluster_parts("hgx-h100", work.ranks) | changes
    return simulate(Scenario(workload=Templates(workload=work), **parts))


@pytest.mark.parametrize(("model", "plan"), PLANS)
def test_it_is_the_cost_of_one_more_iteration_however_many_there_are(
    model: str, plan: dict[str, int]
) -> None:
    of = {
        count: ran(made(model, plan, context=1024, iterations=count)) for count in (1, 2, 3, 4, 9)
    }
    cost = (of[9].makespan_ns - of[1].makespan_ns) / 8
    for iterations in (1, 3):
        here = of[iterations]
        assert here.figures.tpot_ns == pytest.approx(cost, rel=1e-3)
        more = of[iterations + 1].makespan_ns - here.makespan_ns
        assert here.figures.tpot_ns == pytest.approx(more, rel=1e-3)


@pytest.mark.parametrize("iterations", [1, 4])
def test_rates_are_those_of_the_steady_state_and_filling_is_told(iterations: int) -> None:
    result = ran(made("llama3-8b", {"pp": 4}, context=1024, iterations=iterations))
    found = result.figures
    assert found.tpot_ns is not None and found.fill_drain_ns is not None
    assert iterations * found.tpot_ns + found.fill_drain_ns == pytest.approx(result.makespan_ns)
    assert found.fill_drain_ns > 0.5 * found.tpot_ns  # of four stages three wait to be filled
    assert found.tokens_per_s == pytest.approx(32 / found.tpot_ns * 1e9)
    could = 989.4e12 * 4 * found.tpot_ns / 1e9
    assert found.mfu == pytest.approx((found.model_flops or 0) / iterations / could)
    texts = dict(found.lines())
    assert texts["fill and drain"].endswith("of the run, in none of the rates")


def test_without_a_pipeline_nothing_fills() -> None:
    work = made("llama3-8b", {"tp": 2}, context=512, iterations=4)
    result = ran(work)
    assert work.steady is None and result.figures.fill_drain_ns is None
    assert result.figures.tpot_ns == result.makespan_ns / 4


def test_with_prompts_between_it_is_the_mean_of_the_iterations_as_they_go_on() -> None:
    job: dict[str, Any] = {"prompts": 8, "prompt": 512, "context": 1024}
    alone, piped = (
        ran(made("llama3-8b", {"pp": pp}, "mixed", max_num_batched_tokens=512, **job)).figures
        for pp in (1, 2)
    )
    assert alone.tpot_ns is not None and piped.tpot_ns is not None
    assert 0.8 * alone.tpot_ns < piped.tpot_ns < alone.tpot_ns and piped.fill_drain_ns


def test_a_file_keeps_the_other_iterations(tmp_path: Path) -> None:
    work = made("llama3-8b", {"pp": 2}, context=1024)
    work.save(tmp_path / "d.yw")
    read = load(tmp_path / "d.yw")
    assert read.steady is not None and work.steady is not None
    assert read.templates == work.templates and read.steady.iterations == 2
    assert ran(read).figures == ran(work).figures
    read.save(tmp_path / "again.yw")
    assert (tmp_path / "again.yw").read_bytes() == (tmp_path / "d.yw").read_bytes()
    assert ran(pickle.loads(pickle.dumps(read))).figures == ran(work).figures


def test_a_file_that_holds_one_number_of_iterations_says_what_its_figure_has(
    tmp_path: Path,
) -> None:
    work = made("llama3-8b", {"pp": 2}, context=1024)
    del work._sections["steady"]
    work._set_steady({})
    result = ran(work)
    assert result.figures.tpot_ns is None and result.figures.iteration_ns == result.makespan_ns
    told = dict(result.figures.lines())["time per iteration"]
    assert told.endswith("with filling and draining the pipeline")


def test_under_failures_nothing_is_called_steady() -> None:
    work = made("llama3-8b", {"pp": 2}, context=1024)
    slow = Failure(ranks=(0,), at_ns=0.0, slower=2.0)
    assert ran(work, failures=(slow,)).figures.tpot_ns is None


def test_a_file_without_the_other_templates_is_refused(tmp_path: Path) -> None:
    made("llama3-8b", {"pp": 2}, context=1024).save(tmp_path / "d.yw")
    with ZipFile(tmp_path / "d.yw") as archive, ZipFile(tmp_path / "cut.yw", "w") as cut:
        for name in archive.namelist():
            if name != "steady/stage1.et":
                cut.writestr(name, archive.read(name))
    with pytest.raises(ConfigError, match=r"steady: no steady/stage1\.et"):
        load(tmp_path / "cut.yw")
