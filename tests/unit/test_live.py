"""Jobs that arrive begin no earlier than they were to, and end as they would alone."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.cases import ALL_REDUCE, cluster, scenario
from tests.oracles.small_workloads import standard
from yantra.base.errors import ConfigError, TraceError, UnsupportedError
from yantra.chakra import Trace, TraceBuilder
from yantra.run import live
from yantra.scenario import Scenario, Templates

RANKS = 4
MICROSECOND = 1000.0


def ps(ns: float) -> int:
    return round(ns * 1000)


def idle(micros: int = 0) -> Scenario:
    return scenario(
        cluster(("ring", RANKS, 50.0, 500.0)),
        lambda trace, rank: trace.compute(duration_micros=micros or 1),
    )


def all_reduce() -> dict[int, Trace]:
    def trace(rank: int) -> Trace:
        builder = TraceBuilder(rank=rank)
        work = builder.compute(duration_micros=3)
        builder.collective(ALL_REDUCE, 1 << 16, after=work)
        return builder.build()

    return {rank: trace(rank) for rank in range(RANKS)}


@pytest.mark.parametrize("at_us", [1, 2, 100, 12345])
def test_a_job_on_idle_ranks_takes_what_it_takes_at_the_start(at_us: int) -> None:
    spans = []
    for at in (1, at_us):
        run = live.start(idle(), {"step": all_reduce()})
        job = run.submit("step", at_ns=at * MICROSECOND)
        run.finish()
        assert job.begun_ns == at * MICROSECOND
        assert job.ended_ns is not None
        spans.append(ps(job.ended_ns - at * MICROSECOND))
    assert spans[0] == spans[1]


def test_whoever_hears_of_the_end_may_submit_more() -> None:
    run = live.start(idle(), {"step": all_reduce()})
    ended: list[float] = []

    def again(job: live.SubmittedJob) -> None:
        assert job.ended_ns == run.now_ns
        ended.append(run.now_ns)
        if len(ended) < 5:
            run.submit("step", on_end=again)

    run.submit("step", at_ns=10 * MICROSECOND, on_end=again)
    run.finish()
    steps = [ps(after - before) for before, after in pairwise(ended)]
    assert len(ended) == 5
    assert steps == [ps(ended[0] - 10 * MICROSECOND)] * 4


def test_jobs_share_the_slot_of_a_rank() -> None:
    def work() -> dict[int, Trace]:
        builder = TraceBuilder(rank=0)
        builder.compute(duration_micros=10)
        return {0: builder.build()}

    run = live.start(idle(micros=100), {"a": work(), "b": work()})
    first, second = run.submit("a", at_ns=0), run.submit("b", at_ns=5 * MICROSECOND)
    run.finish()
    assert first.ended_ns == 110 * MICROSECOND
    assert second.ended_ns == 120 * MICROSECOND


def test_the_result_has_the_nodes_of_the_scenario_and_the_messages_of_all() -> None:
    alone = live.start(idle(), {}).finish()
    run = live.start(idle(), {"step": all_reduce()})
    run.submit("step", at_ns=50 * MICROSECOND)
    result = run.finish()
    assert result.nodes.as_dict() == alone.nodes.as_dict()
    assert result.messages > alone.messages


def test_a_job_that_is_withdrawn_never_begins() -> None:
    run = live.start(idle(), {"step": all_reduce()})
    job = run.submit("step", at_ns=50 * MICROSECOND, on_end=lambda _: pytest.fail("it ended"))
    assert job.withdraw()
    assert not job.withdraw()
    run.finish()
    assert job.begun_ns is None
    assert job.ended_ns is None


def test_a_job_that_has_begun_is_not_withdrawn() -> None:
    run = live.start(idle(), {"step": all_reduce()})
    job = run.submit("step")
    run.finish()
    assert not job.withdraw()


def test_mistakes_are_found_before_the_run() -> None:
    def sends_to(rank: int) -> Trace:
        builder = TraceBuilder(rank=0)
        builder.send(rank, 100, tag=1)
        return builder.build()

    with pytest.raises(ConfigError, match=r"jobs\['x'\]: rank 4 is not one of the 4 ranks"):
        live.start(idle(), {"x": {4: sends_to(0)}})
    with pytest.raises(TraceError, match="job 'x', trace of rank 0: node"):
        live.start(idle(), {"x": {0: sends_to(9)}})


def test_mistakes_of_the_moment_are_told() -> None:
    run = live.start(idle(), {"step": all_reduce()})
    with pytest.raises(
        ConfigError, match="stop: not one of the jobs of this run; expected one of: step"
    ):
        run.submit("stop")
    with pytest.raises(ConfigError, match="has passed"):
        run.submit("step", at_ns=-5.0)


def test_templates_are_refused_by_name() -> None:
    topology = cluster(("ring", 8, 50.0, 500.0))
    workload = Templates(workload=standard())
    with pytest.raises(UnsupportedError, match="jobs can arrive only where"):
        live.start(Scenario(workload=workload, topology=topology), {})
