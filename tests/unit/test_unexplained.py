"""Time that a recording does not explain is a part of its own, which no removal takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import cluster
from tests.recorded_jobs import Plan, job, write
from yantra.chakra import Trace
from yantra.compile import compile, compile_without
from yantra.explain.what_if import what_if
from yantra.result import Result
from yantra.result.parts import NAMES
from yantra.run.removals import REMOVALS
from yantra.run.simulate import run
from yantra.scenario import Collectives, Resources, Scenario, Traces
from yantra.tracing.pytorch.in_memory import converted

SPIN_US = 700.0


def _scenario(traces: list[Trace], *, replay: bool = True) -> Scenario:
    return Scenario(
        semantics="yantra",
        workload=Traces(traces=tuple(traces), groups=((1, (0, 1)), (2, (2, 3)))),
        topology=cluster(("switch", len(traces), 50.0, 500.0)),
        collectives=Collectives(all_reduce=("ring",), all_gather=("ring",)),
        resources=Resources(),
        replay_only=replay,
    )


def _held(tmp_path: Path, plan: Plan) -> list[Trace]:
    """A job whose rank 1 does nothing recorded for a while in each step."""
    traces, _ = converted([write(plan, tmp_path)])
    return [one.trace for one in traces]


@pytest.fixture
def held(tmp_path: Path) -> Result:
    return run(compile(_scenario(_held(tmp_path, Plan(late=("gap", 1, 0, SPIN_US))))))


def test_parts_add_up_to_each_finish(held: Result) -> None:
    ranks = held.ranks
    sums = [sum(row) for row in zip(*(ranks.values(f"{name}_ns") for name in NAMES), strict=True)]
    assert sums == pytest.approx(list(ranks.values("finish_ns")))


def test_kernels_are_those_of_the_file(held: Result, tmp_path: Path) -> None:
    for rank, form in enumerate(job(Plan(late=("gap", 1, 0, SPIN_US)))):
        kernels = sum(
            one["dur"] for one in form["traceEvents"] if one["cat"] == "kernel" and one["tid"] == 7
        )
        assert held.ranks.values("compute_ns")[rank] == pytest.approx(1000 * kernels, rel=0.01)


def test_time_without_a_cause_is_unexplained_on_its_side(held: Result) -> None:
    unexplained = held.ranks.values("unexplained_host_ns")
    assert unexplained[1] == pytest.approx(1000 * 3 * SPIN_US, rel=0.1)
    assert max(unexplained[0], unexplained[2], unexplained[3]) < 100_000


def test_no_removal_takes_unexplained_time(held: Result) -> None:
    model = held.model
    for removal in REMOVALS:
        if removal.applies(model.scenario):
            without = run(compile_without(model, removal.causes))
            for name in ("unexplained_device_ns", "unexplained_host_ns"):
                before, after = held.ranks.values(name), without.ranks.values(name)
                assert all(b <= a + 1 for b, a in zip(before, after, strict=True)), removal.name


def test_the_verdict_names_what_is_not_explained(tmp_path: Path) -> None:
    traces = _held(tmp_path, Plan(ranks=4, late=("gap", 1, 0, 20 * SPIN_US)))
    result = run(compile(_scenario(traces, replay=False)))
    assert result.bound_by.kind == "unexplained"
    found = what_if(result)
    assert found.bound_by.kind == "unexplained"
    assert not [row for row in found.rows if row.kind == "unexplained"]


def test_the_critical_path_names_delays(tmp_path: Path) -> None:
    traces = _held(tmp_path, Plan(late=("gap", 1, 0, 20 * SPIN_US)))
    path = run(compile(_scenario(traces, replay=False)), record=True).critical_path
    kinds = path.by_kind()
    assert kinds["unexplained_host"] > 0.8 * path.length_ns
    assert sum(kinds.values()) == pytest.approx(path.length_ns)
