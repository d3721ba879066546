"""The first line of a summary agrees with the what-if bounds."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import dimension, scenario
from tests.verdicts.law import holds, result_of
from tests.workloads.every_model.plans import trials
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.demo import Example, examples
from yantra.explain import what_if
from yantra.result import Result
from yantra.run import verdict
from yantra.run.simulate import simulate
from yantra.scenario import Device, Scenario, load
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

STEPS = list(islice((trial for trial in trials(3) if trial.work <= 300), 25))


@pytest.mark.parametrize("number", range(len(STEPS)))
def test_the_cause_that_is_named_gains_most(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict, "MOST_EVENTS", 10**9)
    trial = STEPS[number]
    assert holds(result_of(trial, tmp_path, number), str(trial)) != "estimate"


def test_the_rows_of_what_if_say_the_same(tmp_path: Path) -> None:
    result = result_of(STEPS[0], tmp_path, 0)
    assert what_if(result).bound_by == result.bound_by


def _random_job(seed: int) -> Scenario:
    draw = random.Random(seed)
    sizes = draw.choice([(8,), (2, 4), (4, 2)])
    group = (7, tuple(range(0, 8, draw.choice([1, 2]))))
    ranks = [TraceBuilder(rank=rank) for rank in range(8)]
    last: list[Any] = [()] * 8
    for tag in range(draw.randint(2, 6)):
        what = draw.choice(["compute", "collective", "group", "message"])
        work = 10 ** draw.randint(5, 10), 10 ** draw.randint(3, 8)
        size = 10 ** draw.randint(3, 8)
        one, other = draw.sample(range(8), 2)
        for rank, trace in enumerate(ranks):
            if what == "compute":
                last[rank] = trace.compute(num_ops=work[0], tensor_size=work[1], after=last[rank])
            elif what == "collective":
                last[rank] = trace.collective("all_reduce", size, after=last[rank])
            elif what == "group" and rank in group[1]:
                last[rank] = trace.collective("all_gather", size, group="7", after=last[rank])
            elif what == "message" and rank == one:
                last[rank] = trace.send(other, size, tag=tag, after=last[rank])
            elif what == "message" and rank == other:
                last[rank] = trace.recv(one, size, tag=tag, after=last[rank])
    device = Device(compute="roofline", peak_flops=1e12, memory_bytes_per_s=1e11)
    links = [dimension(size=size, bytes_per_ns=draw.choice([5.0, 50.0])) for size in sizes]
    return scenario(ranks, *links, groups=(group,), device=device)


def _names_the_row_that_gains_most(result: Result) -> None:
    bounds = what_if(result)
    rows = {row.text: row for row in bounds.rows}
    causes = [row for row in bounds.rows if row.kind]
    best = max(row.gain_ns or 0 for row in causes)
    named = [row for row in causes if f": with {row.text} it would be" in result.bound_by.text]
    if best <= 0:
        assert result.bound_by.kind == "none"
    else:
        assert [row.gain_ns for row in named] == [best]
        assert result.bound_by.kind == named[0].kind
    assert bounds.bound_by == result.bound_by
    per_ns = result.model.ticks_per_ns
    for gain in result.gains or ():
        assert rows[gain.text].gain_ns == pytest.approx(gain.ticks / per_ns, abs=1e-3)
        assert rows[gain.text].kind == gain.kind
    told = {gain.text for gain in result.gains or ()}
    assert {row.text for row in causes} <= told
    if len(result.collectives) or result.messages:
        assert {"infinite bandwidth of all links", "communication that takes no time"} <= told


@pytest.mark.parametrize("seed", range(60))
def test_of_any_small_job_the_row_of_explain_that_gains_most_is_named(seed: int) -> None:
    _names_the_row_that_gains_most(simulate(_random_job(seed)))


@pytest.mark.parametrize("speeds", ["roofline", "unknown"])
def test_measured_collectives_take_their_time_of_the_network_too(
    speeds: str, tmp_path: Path
) -> None:
    train("llama3-8b", Plan(tp=8, dp=2, global_batch=4), 2048).save(tmp_path / "s.yw")
    result = simulate(load(tmp_path / "s.yw", cluster="hgx-h100", settings={"stack": speeds}))
    _names_the_row_that_gains_most(result)
    gains = {gain.text: gain.ticks for gain in result.gains or ()}
    assert gains["infinite bandwidth of all links"] > 0.05 * max(result.outcome.finish)
    assert gains["communication that takes no time"] >= gains["infinite bandwidth of all links"]
    result.to_report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "communication that takes no time" in page


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.title)
def test_of_every_demo_the_named_cause_gains_most(example: Example) -> None:
    result = simulate(example.scenario)
    bounds = what_if(result)
    rows = [row for row in bounds.rows if row.kind]
    best = max(rows, key=lambda row: row.gain_ns or 0)
    assert result.bound_by.kind == (best.kind if best.gain_ns else "none")
    assert bounds.bound_by == result.bound_by


def _of_kernels(operations: int, size: int) -> Result:
    trace = TraceBuilder()
    kernel = trace.compute(num_ops=operations, tensor_size=size)
    trace.collective(CollectiveType.ALL_REDUCE, 4096, after=kernel)
    device = Device(compute="roofline", peak_flops=1e12, memory_bytes_per_s=1e12)
    return simulate(scenario([trace] * 4, dimension(), device=device))


def test_kernels_that_wait_for_memory_are_bound_by_its_bandwidth() -> None:
    assert _of_kernels(10**6, 10**9).bound_by.kind == "memory_bandwidth"


def test_kernels_that_wait_for_arithmetic_are_bound_by_its_rate() -> None:
    assert _of_kernels(10**9, 10**6).bound_by.kind == "compute"


def test_what_would_cost_too_many_runs_is_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "MOST_EVENTS", 0)
    bound = _of_kernels(10**6, 10**9).bound_by
    assert bound.estimate
    assert bound.kind == "memory_bandwidth"
    assert bound.text.endswith("(estimate)")


def test_a_report_runs_what_a_summary_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = _of_kernels(10**6, 10**9).bound_by
    monkeypatch.setattr(verdict, "MOST_EVENTS", 0)
    result = _of_kernels(10**6, 10**9)
    assert result.bound_by.estimate
    result.weigh()
    assert result.bound_by == exact
    assert result.gains is not None


def test_a_report_estimates_what_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "MOST_EVENTS", 0)
    monkeypatch.setattr(verdict, "MOST_EVENTS_OF_A_REPORT", 0)
    result = _of_kernels(10**6, 10**9)
    result.weigh()
    assert result.gains is None
    assert result.bound_by.estimate
