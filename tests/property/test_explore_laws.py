"""Laws of a search: rates are rates of one time, more is never worse, prices only scale."""

from __future__ import annotations

from functools import cache
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.explore import Space, explore
from yantra.explore.closed_form import ClosedForm
from yantra.explore.machine import Machine, Scale
from yantra.explore.pareto import front
from yantra.explore.passes import Works
from yantra.explore.space import Columns, PlanSpace
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.workloads.models.catalogue import find
from yantra.workloads.training.train import train

SEQUENCE = 2048
JOBS = (
    ("llama3-8b", 32, 64, "hgx-h100"),
    ("mixtral-8x7b", 32, 32, "hgx-h100"),
    ("gpt3-13b", 16, 32, "dgx-a100-80gb"),
    ("llama3-70b", 64, 64, "hgx-b200"),
    ("qwen3-30b-a3b", 32, 64, "mi300x"),
)
PLANS = 10
STEP = 1e-4


class Times:
    """The times of plans of a job at any scale."""

    def __init__(self, job: tuple[str, int, int, str]) -> None:
        name, self.ranks, self.batch, self.cluster = job
        self.model = find(name)
        self.space = PlanSpace(
            ranks=self.ranks, global_batch=self.batch, most_tp=8, sequence=SEQUENCE
        )
        self.columns = self.space.columns(self.model)
        self.works = Works(self.model, SEQUENCE)
        self.base = Machine(self.cluster, self.ranks)

    def at(self, scale: Scale, columns: Columns | None = None) -> np.ndarray:
        machine = Machine(self.cluster, self.ranks, scale, like=self.base)
        form = ClosedForm(self.model, machine, SEQUENCE, self.works)
        return form.judge(columns or self.columns, self.batch).time_ns

    def some(self, seed: int, count: int) -> Columns:
        rows = np.random.default_rng(seed).permutation(len(self.columns["tp"]))[:count]
        return {name: of[rows] for name, of in self.columns.items()}

    def everything(self, factor: float) -> Scale:
        scale = Scale()
        for rate in self.base.rates:
            scale = scale.times(rate, factor)
        return scale


times = cache(Times)
every_job = pytest.mark.parametrize("job", JOBS, ids=lambda job: job[0])


@every_job
def test_elasticities_of_any_plan_are_shares_of_its_time(job: tuple[str, int, int, str]) -> None:
    of = times(job)
    columns = of.some(7, PLANS)
    total = np.zeros(PLANS)
    for rate in of.base.rates:
        up, down = (of.at(Scale().times(rate, 1 + side), columns) for side in (STEP, -STEP))
        share = np.log(up / down) / log((1 + STEP) / (1 - STEP))
        assert (share <= 1e-6).all() and (share >= -1 - 1e-6).all()
        total += share
    assert np.abs(total + 1).max() < 1e-6


@every_job
def test_twice_every_rate_is_half_of_every_time(job: tuple[str, int, int, str]) -> None:
    of = times(job)
    before, after = of.at(Scale()), of.at(of.everything(2.0))
    assert np.abs(2 * after / before - 1).max() < 1e-9


@pytest.mark.parametrize("row", [3, 40])
def test_elasticities_of_a_simulated_plan_sum_to_minus_one(row: int) -> None:
    of = times(JOBS[0])
    workload = train(of.model, of.space.plan(of.columns, row), SEQUENCE)

    slow = of.everything(2.0**-10)  # delays are whole ns, so a thousandth of one has to be some

    def simulated(rate: str, factor: float) -> float:
        parts = Machine(of.cluster, of.ranks, slow.times(rate, factor)).parts
        return simulate(Scenario(workload=Templates(workload=workload), **parts)).makespan_ns

    low, high = 0.999, 1.001
    total = sum(
        log(simulated(rate, high) / simulated(rate, low)) / log(high / low)
        for rate in of.base.rates
    )
    assert total == pytest.approx(-1.0, abs=1e-3)


@settings(max_examples=12, deadline=None)
@given(job=st.sampled_from(JOBS[:3]), at=st.integers(0, 4), factor=st.floats(1.0, 8.0, width=16))
def test_more_of_any_rate_never_makes_the_best_plan_slower(
    job: tuple[str, int, int, str], at: int, factor: float
) -> None:
    of = times(job)
    rate = of.base.rates[at % len(of.base.rates)]
    best = of.at(Scale()).min()
    assert of.at(Scale().times(rate, factor)).min() <= best * (1 + 1e-9)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), job=st.sampled_from(JOBS), axes=st.integers(2, 4))
def test_the_front_of_a_random_space_is_that_of_brute_force(
    seed: int, job: tuple[str, int, int, str], axes: int
) -> None:
    of = times(job)
    columns = of.some(seed, 60)
    judged = ClosedForm(of.model, of.base, SEQUENCE, of.works).judge(columns, of.batch)
    figures = [judged.time_ns, judged.memory_bytes, judged.bubble_ns, columns["tp"].astype(float)]
    points = np.stack(figures[:axes], axis=1)
    beaten = [
        any((other <= one).all() and (other < one).any() for other in points) for one in points
    ]
    assert front(points).tolist() == [row for row, is_beaten in enumerate(beaten) if not is_beaten]


@settings(max_examples=4, deadline=None)
@given(factor=st.sampled_from([0.01, 0.5, 3.0, 1000.0]))
def test_prices_that_all_scale_leave_the_optimum(factor: float) -> None:
    def found(times_as_much: float) -> tuple[int, list[int]]:
        space = Space(
            model="llama3-8b",
            global_batch=16,
            sequence=1024,
            clusters=["hgx-h100", "dgx-a100-80gb"],
            ranks=[4, 8],
            prices={
                "hgx-h100": f"{2.5 * times_as_much} USD/h",
                "dgx-a100-80gb": f"{1.5 * times_as_much} USD/h",
            },
            plan={"tp": [1, 2], "vpp": [1]},
        )
        answer = explore(space, ["usd_per_million_tokens", "step_time"])
        return answer.number_of_best, answer.finished.front

    assert found(factor) == found(1.0)
