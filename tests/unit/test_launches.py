"""The host of a rank launches what its device does: nothing starts earlier than its launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cluster, run, scenario
from yantra import scenario as scenarios
from yantra.base.errors import ConfigError, TraceError
from yantra.chakra import TraceBuilder
from yantra.compile import compile, compile_without
from yantra.run.simulate import run as simulated
from yantra.run.simulate import run_native, simulate
from yantra.scenario import Host, Scenario, Stack, Templates
from yantra.scenario.named import parts_at
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

TWO = cluster(("ring", 2, 50.0, 100.0))
PLAN = Plan(tp=2, pp=2, dp=2, global_batch=8)


def host(launch_ns: int, graphs: str = "none") -> dict[str, Any]:
    return {"host": Host(launch_ns=launch_ns, graphs=graphs)}  # type: ignore[arg-type]


def chain(durations_us: list[int]) -> Any:
    def write(trace: TraceBuilder, _: int) -> None:
        last = None
        for micros in durations_us:
            last = trace.compute(duration_micros=micros, after=last or ())

    return write


def step(plan: Plan = PLAN, **parts: Any) -> Scenario:
    workload = Templates(workload=train("llama3-8b", plan))
    parts = {"speeds": "achievable"} | parts
    ranks = workload.workload.ranks
    machine = parts_at("hgx-h100", ranks, speeds=parts.pop("speeds"))
    return Scenario(workload=workload, **machine, **parts)


def launches_of(made: Scenario, rank: int = 0) -> list[str]:
    graph = compile(made).graphs.of(rank)
    names = [graph.name(node) for node in range(len(graph))]
    return [name for name in names if name.startswith("launch ")]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.integers(0, 40_000))
def test_a_kernel_starts_when_it_is_launched_and_the_one_before_has_ended(
    micros: list[int], launch_ns: int
) -> None:
    end = 0
    for at, one in enumerate(micros, 1):
        end = max(end, at * launch_ns) + one * 1000
    assert run(TWO, chain(micros), **host(launch_ns)).finish == [end, end]


def test_a_launch_of_no_time_adds_nothing() -> None:
    plain, free = compile(step()), compile(step(**host(0)))
    assert len(plain.graphs.of(0)) == len(free.graphs.of(0))
    assert list(run_native(plain).finish) == list(run_native(free).finish)


def test_without_the_time_of_the_host_each_node_ends_as_if_nothing_were_launched() -> None:
    plain = compile(step())
    free = compile_without(compile(step(**host(20_000))), ["host"])
    assert list(run_native(plain).finish) == list(run_native(free).finish)


@pytest.mark.parametrize("launch_ns", [2_000, 100_000, 1_000_000])
def test_the_sum_of_the_launches_is_a_lower_bound_of_a_step(launch_ns: int) -> None:
    made = step(**host(launch_ns))
    launches = launches_of(made)
    nodes = len(compile(step()).graphs.of(0))
    assert len(launches) == nodes  # a generated step has device work alone
    taken = simulate(made).makespan_ns
    assert taken > nodes * launch_ns
    assert taken >= simulate(step()).makespan_ns


def test_steps_grow_with_the_time_of_a_launch_until_they_are_all_launches() -> None:
    times = [simulate(step(**host(ns))).makespan_ns for ns in (1_000, 50_000, 400_000, 4_000_000)]
    assert times == sorted(times)
    longest = len(launches_of(step(**host(1_000)))) * 4_000_000
    assert times[-1] == pytest.approx(longest, rel=0.05)


def test_one_graph_of_all_a_rank_does_is_one_launch_before_it() -> None:
    made = step(**host(7_000, "job"))
    assert launches_of(made) == ["launch graph"]
    plain = simulate(step()).makespan_ns
    assert simulate(made).makespan_ns == plain + 7_000


def test_a_graph_of_each_pass_is_a_launch_for_each_direction_and_micro_batch() -> None:
    micro_batches = PLAN.global_batch // PLAN.dp
    made = step(**host(7_000, "pass"))
    for rank in (0, 7):
        assert len(launches_of(made, rank)) == 2 * micro_batches + 1  # and the optimizer


@pytest.mark.parametrize("launch_ns", [9_000, 300_000])
def test_one_rank_that_stands_for_others_launches_as_they_do(launch_ns: int) -> None:
    model = compile(step(Plan(tp=8, dp=2, global_batch=8), **host(launch_ns)))
    folded, whole = simulated(model, fold="require"), simulated(model, fold="off")
    assert list(folded.outcome.finish) == list(whole.outcome.finish)
    assert folded.outcome.events < whole.outcome.events


def test_messages_collectives_and_copies_are_launched_too() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective("all_reduce", 1 << 20)
        if rank == 0:
            trace.send(1, 1024)
        else:
            trace.recv(0, 1024)

    made = scenario(TWO, write, **host(1_000))
    assert len(launches_of(made, 0)) == len(launches_of(made, 1)) == 2


def test_the_launch_of_a_stack_is_of_the_host_and_no_longer_the_least_time_of_a_kernel() -> None:
    slow = Stack(launch_ns=65_000.0)
    of_stack = simulate(step(speeds="measured", stack=slow, host=Host()))
    said = simulate(step(speeds="measured", stack=Stack(), **host(65_000)))
    assert of_stack.makespan_ns == said.makespan_ns
    assert simulate(step(speeds="measured", stack=slow)).makespan_ns != said.makespan_ns


def test_traces_with_host_operations_are_refused_as_they_have_launches() -> None:
    def write(trace: TraceBuilder, _: int) -> None:
        trace.compute(duration_micros=3, name="aten::mm", cpu=True)

    with pytest.raises(TraceError, match=r"trace of rank 0: node 0 'aten::mm' is an operation of"):
        compile(scenario(TWO, write, **host(1_000)))


def test_jobs_that_arrive_are_launched_too() -> None:
    idle = scenario(TWO, lambda trace, rank: None, **host(1_000))
    builder = TraceBuilder()
    chain([3, 4])(builder, 0)
    made = compile(idle, {"late": {0: builder.build()}})
    ((_, graph),) = made.graphs.arriving["late"]
    assert len(graph) == 4
    assert (
        len(
            compile(idle.replace(host=None), {"late": {0: builder.build()}}).graphs.arriving[
                "late"
            ][0][1]
        )
        == 2
    )


def test_nodes_of_no_pass_are_refused_where_passes_are_graphs() -> None:
    with pytest.raises(TraceError, match=r"node 0 .* says no phase.*host\.graphs: job"):
        compile(scenario(TWO, chain([3]), **host(1_000, "pass")))


def test_files_are_launched_as_traces_in_memory(tmp_path: Path) -> None:
    expected = run(TWO, chain([3, 1, 4]), **host(2_500)).finish[0]
    builder = TraceBuilder()
    chain([3, 1, 4])(builder, 0)
    builder.build().write(tmp_path / "a.0.et")
    text = """
workload: {{traces: "a.{{rank}}.et"}}
cluster: {{topology: [{{kind: switch, size: 1, bandwidth: 1 GB/s, latency: 1 ns}}]}}
host: {{launch: {0}}}
"""
    for launch in ("2500 ns", "2.5 us"):
        (tmp_path / "s.yaml").write_text(text.format(launch))
        made = scenarios.load(tmp_path / "s.yaml")
        assert simulate(made).makespan_ns == expected
        assert scenarios.loads(scenarios.to_yaml(made), folder=str(tmp_path)) == made


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"host": Host()}, r"host\.launch: expected how long a launch takes"),
        (host(9_000) | {"semantics": "astra-sim"}, "host: only with semantics yantra"),
        (host(9_000) | {"replay_only": True}, "host: not with replay_only"),
    ],
)
def test_a_host_that_means_nothing_is_refused(parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        compile(scenario(TWO, chain([1]), **parts))
