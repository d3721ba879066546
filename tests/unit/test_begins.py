"""Ranks of a recorded job begin when they began, whatever their clocks say."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.cases import cluster
from tests.planted import MINUTE_NS, trace_of
from tests.recorded_jobs import Plan, job
from yantra.chakra import Trace
from yantra.compile import Model, compile
from yantra.run.simulate import run
from yantra.scenario import Collectives, Resources, Scenario, Traces

PLAN = Plan(seed=3, late=("gap", 2, 0, 3000.0))


def _model(
    traces: tuple[Trace, ...], semantics: Literal["yantra", "astra-sim"] = "yantra"
) -> Model:
    scenario = Scenario(
        semantics=semantics,
        workload=Traces(traces=traces, groups=((1, (0, 1)), (2, (2, 3)))),
        topology=cluster(("switch", len(traces), 50.0, 500.0)),
        collectives=Collectives(all_reduce=("ring",), all_gather=("ring",)),
        resources=Resources(),
        replay_only=True,
    )
    return compile(scenario)


def _traces(plan: Plan) -> tuple[Trace, ...]:
    return tuple(one.trace for one in trace_of(plan))


def _window_us(plan: Plan) -> float:
    events = [one for form in job(plan) for one in form["traceEvents"]]
    window: float = max(one["ts"] + one["dur"] for one in events) - min(one["ts"] for one in events)
    return window


@pytest.mark.parametrize("apart_ns", [0, MINUTE_NS])
def test_a_replay_takes_the_recorded_window_whatever_the_clocks(apart_ns: int) -> None:
    model = _model(_traces(PLAN._replace(apart_ns=apart_ns)))
    replayed = run(model).makespan_ns / 1000
    assert replayed == pytest.approx(_window_us(PLAN), rel=0.005)


def test_a_late_rank_is_idle_until_it_begins_and_the_others_keep_their_times() -> None:
    traces = _traces(PLAN)
    model = _model(traces)
    begins = model.graphs.begins_ns
    assert min(begins) == 0 and len(set(begins)) == len(begins)
    finishes = run(model).ranks.values("finish_ns")
    for rank, trace in enumerate(traces):
        alone = run(_model((trace,) * 4)).ranks.values("finish_ns")[0]
        assert finishes[rank] == pytest.approx(alone + begins[rank], rel=1e-6)


def test_what_is_said_names_the_last_rank_and_how_clocks_compare() -> None:
    model = _model(_traces(PLAN))
    begins = model.graphs.begins_ns
    (said,) = [one for one in model.warnings if "begin up to" in one]
    assert f"rank {begins.index(max(begins))} last" in said
    assert "clocks agree: ranks leave each of" in said


def test_equal_traces_and_other_semantics_begin_at_once() -> None:
    traces = _traces(PLAN)
    assert _model((traces[0],) * 4).graphs.begins_ns == []
    assert _model(traces, semantics="astra-sim").graphs.begins_ns == []
