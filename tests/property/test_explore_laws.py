"""Laws of a search: rates are rates of one time, more is never worse, prices only scale.

Tests are named by the number of their law:

1. A larger space has no worse optimum.
2. More of a resource never makes the optimised time longer.
3. The front has every point that nothing dominates, and no other, in any order.
4. A plan is infeasible because of memory where its planned peak exceeds the capacity, only there.
5. Elasticities of a plan are within -1 and 0, and sum to -1.
6. Twice all rates is half of the time.
7. Prices that all scale leave the optimum.
8. Same seed, space and version: the same front, whoever judges it (also `tests/unit/test_study.py`
   and `tests/unit/test_explore_python.py`).
9. Goodput is at most 1, falls with devices and rises with their MTBF
   (`tests/golden/test_goodput.py`).
10. The best by closed form contain the exact best where the band says so.
"""

from __future__ import annotations

from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.zoo import drawn
from yantra.explore import Space, explore
from yantra.explore.answers.best import best_plans
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine
from yantra.explore.closed_form.passes import Works
from yantra.explore.closed_form.scale import Scale
from yantra.explore.closed_form.space import Columns, PlanSpace
from yantra.explore.study.pareto import front
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
DEEP = ("deepseek-v2-lite", 24, 48, "hgx-h100")  # its first layer is of another kind
PLANS = 10
ROUNDING = 1e-6  # shards are padded to whole elements
STEP = 1e-4


class Times:
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
        machine = Machine(self.cluster, self.ranks, scale, like=self.base, tuned=self.base)
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
EITHER: dict[str, Any] = {"sequence_parallel": (True, False), "overlap": (True, False)}
every_job = pytest.mark.parametrize("job", JOBS, ids=lambda job: job[0])


@settings(max_examples=20, deadline=None)
@given(data=st.data(), job=st.sampled_from(JOBS))
def test_law_1_a_larger_space_has_no_worse_optimum(
    data: st.DataObject, job: tuple[str, int, int, str]
) -> None:
    of = times(job)
    rows = len(of.columns["tp"])
    some = data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=40, unique=True))
    more = data.draw(st.lists(st.integers(0, rows - 1), max_size=40))
    best = [
        of.at(Scale(), {name: column[chosen] for name, column in of.columns.items()}).min()
        for chosen in (some, [*some, *more])
    ]
    assert best[1] <= best[0]


def test_law_1_switches_that_may_vary_find_no_worse_optimum() -> None:
    of = times(JOBS[0])
    wide = of.space.replace(**EITHER).columns(of.model)
    assert len(wide["tp"]) > len(of.columns["tp"])
    assert of.at(Scale(), wide).min() <= of.at(Scale()).min()


@drawn(10)
@given(job=st.sampled_from(JOBS), sizes=st.lists(st.integers(4, 400), min_size=2, max_size=6))
def test_law_2_more_memory_never_makes_the_best_plan_slower(
    job: tuple[str, int, int, str], sizes: list[int]
) -> None:
    of = times(job)
    judged = ClosedForm(of.model, of.base, SEQUENCE, of.works).judge(of.columns, of.batch)
    best = []
    for capacity in sorted(sizes):
        fits = judged.memory_bytes <= capacity << 30
        best.append(judged.time_ns[fits].min() if fits.any() else np.inf)
    assert best == sorted(best, reverse=True)


@pytest.mark.parametrize("job", [*JOBS, DEEP], ids=lambda job: job[0])
def test_law_4_a_plan_is_infeasible_where_its_planned_peak_exceeds_the_capacity(
    job: tuple[str, int, int, str],
) -> None:
    of = times(job)
    space = of.space if job in JOBS[3:] else of.space.replace(**EITHER)
    if job is DEEP:  # shards of its experts are padded
        space = space.replace(zero=(0, 1))
    columns = space.columns(of.model)
    memory = ClosedForm(of.model, of.base, SEQUENCE, of.works).memory(columns, of.batch)
    for row in np.random.default_rng(5).permutation(len(memory))[:4]:
        peak = max(train(of.model, space.plan(columns, int(row)), SEQUENCE).peaks().values())
        assert peak * (1 - ROUNDING) <= memory[row] <= peak * (1 + ROUNDING)
        capacities = np.array([peak * (1 - 2 * ROUNDING), peak * (1 + 2 * ROUNDING)])
        assert (memory[row] <= capacities).tolist() == (peak <= capacities).tolist()


@every_job
def test_law_5_elasticities_of_any_plan_are_shares_of_its_time(
    job: tuple[str, int, int, str],
) -> None:
    of = times(job)
    columns = of.some(7, PLANS)
    total = np.zeros(PLANS)
    for rate in of.base.rates:
        up, down = (of.at(Scale().times(rate, 1 + side), columns) for side in (STEP, -STEP))
        share = np.log(up / down) / log((1 + STEP) / (1 - STEP))
        assert (share <= 1e-6).all() and (share >= -1 - 1e-6).all()
        total += share
    assert np.abs(total + 1).max() < 1e-5  # steps may cross a bend, where another queue is busiest


@every_job
def test_law_6_twice_every_rate_is_half_of_every_time(job: tuple[str, int, int, str]) -> None:
    of = times(job)
    before, after = of.at(Scale()), of.at(of.everything(2.0))
    assert np.abs(2 * after / before - 1).max() < 1e-9


@pytest.mark.parametrize("row", [3, 40])
def test_law_5_elasticities_of_a_simulated_plan_sum_to_minus_one(row: int) -> None:
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


@drawn(5)
@given(job=st.sampled_from(JOBS[:3]), at=st.integers(0, 4), factor=st.floats(1.0, 8.0, width=16))
def test_law_2_more_of_any_rate_never_makes_the_best_plan_slower(
    job: tuple[str, int, int, str], at: int, factor: float
) -> None:
    of = times(job)
    rate = of.base.rates[at % len(of.base.rates)]
    best = of.at(Scale()).min()
    assert of.at(Scale().times(rate, factor)).min() <= best * (1 + 1e-9)


@drawn(20)
@given(seed=st.integers(0, 10_000), job=st.sampled_from(JOBS), axes=st.integers(2, 4))
def test_law_3_the_front_of_a_random_space_is_that_of_brute_force(
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
def test_law_7_prices_that_all_scale_leave_the_optimum(factor: float) -> None:
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


def test_law_8_a_study_has_the_same_bits_in_any_number_of_processes(tmp_path: Path) -> None:
    given: dict[str, Any] = {"global_batch": 16, "sequence": 1024, "ranks": [4, 8]}
    space = Space(model="llama3-8b", clusters=["hgx-h100"], **given, plan={"vpp": [1]})
    alone = explore(space, folder=tmp_path / "one").finished
    assert explore(space, folder=tmp_path / "two", workers=2).finished == alone
    assert explore(space, folder=tmp_path / "two", resume=True).finished == alone


@settings(max_examples=3, deadline=None)
@given(
    pp=st.sampled_from([(1,), (2,), (1, 2)]),
    tp=st.sampled_from([(1, 2), (2, 4)]),
    recompute=st.sampled_from([("none",), ("selective",)]),
)
def test_law_10_the_best_by_closed_form_contain_the_exact_best_within_the_band(
    pp: tuple[int, ...], tp: tuple[int, ...], recompute: tuple[str, ...]
) -> None:
    model, cluster, ranks, batch = find("llama3-8b"), "hgx-h100", 8, 16
    space = PlanSpace(
        ranks=ranks, global_batch=batch, sequence=1024, pp=pp, tp=tp, vpp=(1,), recompute=recompute
    )
    columns, parts = space.columns(model), Machine(cluster, ranks).parts
    judged = ClosedForm(model, Machine(cluster, ranks), 1024).judge(columns, batch)
    exact = np.array(
        [
            simulate(
                Scenario(
                    workload=Templates(workload=train(model, space.plan(columns, row), 1024)),
                    **parts,
                )
            ).makespan_ns
            for row in range(len(columns["tp"]))
        ]
    )
    band = np.abs(judged.time_ns / exact - 1).max()
    near = judged.time_ns * (1 - band) <= (1 + band) * judged.time_ns.min()
    assert exact[near].min() == exact.min()
    answer = best_plans(model, cluster, space, stack="roofline", refined=False)
    assert answer.ranked[0].time_ns == exact[judged.memory_bytes <= answer.capacity_bytes].min()
