"""The first line of a summary agrees with the what-if bounds."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

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
from yantra.scenario import Device

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
