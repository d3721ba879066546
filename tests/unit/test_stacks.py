"""Stacks: their files, what their terms do, and the interval of a run."""

from __future__ import annotations

from math import hypot
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.compile import compile, compile_like
from yantra.compile.slowdown import least_times
from yantra.fabric import stacks
from yantra.fabric.stacks.describe import report
from yantra.result import Result
from yantra.run.interval import interval, responses, stated_by_stack
from yantra.run.simulate import run, simulate
from yantra.scenario import Scenario, Stack, Templates, cluster_parts
from yantra.scenario.layout import STACK
from yantra.scenario.named import parts_at
from yantra.scenario.on_cluster import on_cluster
from yantra.scenario.types import PlanInterval
from yantra.workloads.plan.plan import Plan
from yantra.workloads.serving import InferencePlan, infer
from yantra.workloads.training.train import train

PLAN = Plan(tp=8, pp=2, dp=2, global_batch=16)
FILE = """
title: Mine
sources: {mine: "a test"}
machines:
  any:
    rows: 3
    models: 2
    products: {value: 1.1, source: "[mine]"}
    attention: {value: 1.2, source: "[mine]"}
    rest: {value: 1.3, source: "[mine]"}
"""


def scenario(stack: Stack | None = None, speeds: str = "measured") -> Scenario:
    workload = Templates(workload=train("llama3-8b", PLAN))
    parts = parts_at("hgx-h100", 32, speeds=speeds)  # type: ignore[arg-type]
    return Scenario(workload=workload, stack=stack, **parts)


def time(stack: Stack | None, speeds: str = "measured") -> float:
    return float(simulate(scenario(stack, speeds)).makespan_ns)


@pytest.mark.parametrize("name", stacks.names())
def test_every_term_has_a_source_and_factors_are_sane(name: str) -> None:
    stack = stacks.load(name)
    for _, terms in stack.machines:
        for key, number in terms.numbers():
            assert number.source
            if key in ("products", "attention", "rest"):
                assert 0.3 < number.value < 4
        assert terms.rows >= 1
    assert stack.terms("no such cluster")[0] == "any"


@pytest.mark.parametrize("speeds", ["measured", "achievable"])
def test_factors_of_one_change_nothing_and_equal_ones_multiply_the_time(speeds: str) -> None:
    plain = time(None, speeds)
    assert time(Stack(), speeds) == pytest.approx(plain, rel=1e-9)
    for launch_ns in (0.0, 50_000.0):
        once = plain if not launch_ns else time(Stack(launch_ns=launch_ns), speeds)
        twice = time(Stack(products=2, attention=2, rest=2, launch_ns=launch_ns), speeds)
        assert twice == pytest.approx(2 * once, rel=1e-3)  # but for hand-overs of 10 ns


def test_each_factor_makes_its_own_part_longer() -> None:
    plain = time(Stack())
    for name in ("products", "attention", "rest", "communication"):
        assert plain < time(Stack(**{name: 1.5})) < 1.5 * plain


@pytest.mark.parametrize("speeds", ["measured", "achievable"])
def test_communication_is_the_part_of_the_rest_that_is_no_kernel(speeds: str) -> None:
    kernels_alone = Stack(rest=1.5, communication=1 / 1.5)
    both, sent = Stack(rest=1.5), Stack(communication=1.5)
    plain = time(Stack(), speeds)
    longer = (time(sent, speeds) - plain) + (time(kernels_alone, speeds) - plain)
    assert longer == pytest.approx(time(both, speeds) - plain, rel=0.02)


@pytest.mark.parametrize("speeds", ["measured", "achievable"])
def test_no_framework_makes_a_link_faster(speeds: str) -> None:
    fast = Stack(products=1e-6, attention=1e-6, rest=1e-6)
    free = simulate(scenario(fast, speeds))  # a link above its rate would be refused
    sent = simulate(scenario(fast.replace(communication=1e6), speeds))
    assert free.makespan_ns == sent.makespan_ns > 0.05 * time(None, speeds)


KERNELS = st.lists(st.tuples(st.floats(1.0, 1e6), st.integers(1, 50)), min_size=1, max_size=20)


@given(KERNELS, st.floats(1.0, 1e6))
def test_all_kernels_take_what_kernels_and_launches_do_together(
    kernels: list[tuple[float, int]], launch: float
) -> None:
    ns, count = (np.array(column) for column in zip(*kernels, strict=True))
    (least,) = least_times(ns[:, None], count, launch)
    device, host = float(ns @ count), launch * float(count.sum())
    each = float(np.maximum(ns, launch) @ count)
    taken = float(np.maximum(ns, least) @ count)
    assert taken == pytest.approx(min((device**4 + host**4) ** 0.25, each), rel=1e-9)
    assert max(device, host) * (1 - 1e-9) <= taken <= each * (1 + 1e-9)
    assert (np.maximum(ns, least) <= np.maximum(ns, launch) * (1 + 1e-9)).all()


@given(KERNELS, st.floats(1.0, 1e6), st.floats(0.1, 10.0))
def test_least_times_grow_with_kernels_and_launches(
    kernels: list[tuple[float, int]], launch: float, factor: float
) -> None:
    ns, count = (np.array(column) for column in zip(*kernels, strict=True))
    both = np.stack([ns, ns * factor, ns * 0], axis=1)
    one, _, none = least_times(both, count, launch)
    scaled = least_times(ns[:, None] * factor, count, launch * factor)
    assert np.maximum(ns * factor, scaled) == pytest.approx(np.maximum(ns, one) * factor)
    assert not np.isfinite(none) or none == 0.0  # kernels of no time are not launched


def test_launches_hide_behind_long_kernels_and_short_ones_wait_for_them() -> None:
    count = np.array([1, 1])
    assert least_times(np.array([[1000.0], [1000.0]]), count, 10.0) <= 1000.0
    assert least_times(np.array([[10.0], [10.0]]), count, 100.0) == pytest.approx(100.0)
    mixed = np.array([[10.0], [1000.0]])  # 1010 of the device, 200 of the host
    assert least_times(mixed, count, 100.0)[0] < 11.0


def test_the_defaults_host_waits_for_experts_alone_and_others_always() -> None:
    ahead = Stack(name="unknown (here)", launch_ns=400e3)
    waits = ahead.replace(host_waits=True)
    assert time(waits) == time(ahead) < time(waits.replace(name="mine"))
    plan = Plan(dp=8, ep=8, micro_batch=8, global_batch=64)
    parts = parts_at("hgx-h100", 8, speeds="measured")
    experts = Scenario(workload=Templates(workload=train("qwen3-30b-a3b", plan)), **parts)
    hidden, waiting = (
        simulate(experts.replace(stack=stack)).makespan_ns for stack in (ahead, waits)
    )
    assert waiting > 1.02 * hidden


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_engines_replay_graphs_of_the_kernels_of_the_tables(phase: Any) -> None:
    work = infer("llama3-8b", InferencePlan(tp=2), phase=phase, batch=8, context=512)
    parts = parts_at("hgx-h100", 2, speeds="measured")
    whole = Scenario(workload=Templates(workload=work), **parts)

    def seconds(stack: Stack) -> float:
        return float(simulate(whole.replace(stack=stack)).makespan_ns)

    eager = Stack(launch_ns=400e3, attention=2.0)
    graphs = eager.replace(graphs="inference", older_attention=2.0)
    assert seconds(graphs) == seconds(Stack()) < seconds(eager)
    assert time(graphs) == time(eager) > time(Stack())  # jobs that train have both


@pytest.mark.parametrize("launch_us", [10.0, 65.0, 400.0])
def test_a_step_takes_at_least_what_the_host_launches_one_after_the_other(launch_us: float) -> None:
    result = simulate(scenario(Stack(launch_ns=launch_us * 1e3)))
    nodes = result.nodes
    kernels = np.array([kind.startswith("COMP") for kind in nodes.values("type")])
    took = (nodes["end_ns"] - nodes["start_ns"]) > 0
    for rank in np.unique(nodes["rank"]):
        launches = int(np.sum(kernels & took & (nodes["rank"] == rank)))
        assert launches > 1000
        assert result.makespan_ns >= launches * launch_us * 1e3


def test_a_graph_that_is_launched_at_once_leaves_kernels_as_measured() -> None:
    captured = time(Stack(launch_ns=0.0))
    assert captured == time(None)
    times = [time(Stack(launch_ns=us * 1e3)) for us in (0.0, 5.0, 50.0, 500.0)]
    assert times == sorted(times) and times[0] < times[-1]


def test_stragglers_count_from_64_nodes_on() -> None:
    plan = Plan(tp=8, dp=256, global_batch=256)
    parts = parts_at("hgx-h100", plan.ranks, speeds="measured")
    whole = Scenario(workload=Templates(workload=train("llama3-8b", plan)), **parts)
    plain, slow = (
        simulate(whole.replace(stack=Stack(straggling=share))).makespan_ns for share in (0.0, 0.1)
    )
    assert slow == pytest.approx(plain * 1.2, rel=1e-3)
    assert time(Stack(straggling=0.1)) == time(Stack())


def test_a_stack_is_refused_where_it_would_count_twice_or_change_upstream_numbers() -> None:
    with pytest.raises(ConfigError, match=r"^stack: only with semantics yantra"):
        scenario(Stack(), "achievable").replace(semantics="astra-sim")
    recorded = scenario().device.replace(compute="recorded")
    with pytest.raises(ConfigError, match=r"^stack: not with recorded durations"):
        scenario(Stack()).replace(device=recorded)


def test_a_wrong_file_is_named_with_its_key(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    assert stacks.load(path).scenario_part()["rest"] == 1.3
    path.write_text(FILE.replace("value: 1.3", "value: fast"))
    with pytest.raises(ConfigError, match=r"mine.yaml: machines.any.rest.value: expected a number"):
        stacks.load(path)
    with pytest.raises(ConfigError, match=r"no stack is named 'megatron-2020'; .*did you mean"):
        stacks.load("megatron-2020")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("older_attention: {value: 0, source: mine}", "older_attention.value: expected a number a"),
        ("older_attention: {value: 1.8}", "older_attention.source: missing"),
        ("older_attention: {value: 1.8, source: '[dao]'}", r"\[dao\] is not in sources"),
        ("old_attention: {value: 1.8, source: mine}", "did you mean 'older_attention'"),
        ("launch: {value: -1 us, source: mine}", "launch.value: must be at least 0 ns; got -1 us"),
        ("launch: {value: 65, source: mine}", "launch.value"),
        ("taken: {value: 24, source: mine}", r"any.taken.value: expected a share .*, got 24"),
        ("taken: {value: 0.2}", "taken.source: missing"),
    ],
)
def test_what_is_known_of_a_framework_is_read_or_refused(
    line: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"{FILE}    {line}\n")
    with pytest.raises(ConfigError, match=problem):
        stacks.load(path)


def test_jobs_of_graphs_have_an_interval_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    own = "interval: {value: 0.5, source: mine}"
    path.write_text(f"{FILE}graphs: {{jobs: inference, source: mine, {own}}}\n")
    stack = stacks.load(str(path)).scenario_part()
    assert stack["graphs_interval"] == 0.5 != stack["interval"]
    step = train("llama3-8b", Plan(tp=2), 64)
    decode = infer("llama3-8b", InferencePlan(tp=2), phase="decode", batch=1, context=64)
    for workload, width in ((step, stack["interval"]), (decode, 0.5)):
        parts = cluster_parts("hgx-h100", 2, stack=str(path))
        model = compile(Scenario(workload=Templates(workload=workload), **parts))
        assert stated_by_stack(model) == width


@pytest.mark.parametrize(
    ("graphs", "problem"),
    [
        ("{jobs: decode, source: mine}", "graphs.jobs: expected one of inference"),
        ("{jobs: inference}", "graphs.source: missing"),
        ("{jobs: inference, source: '[vllm]'}", r"\[vllm\] is not in sources"),
    ],
)
def test_graphs_are_of_known_jobs_and_have_a_source(
    graphs: str, problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"{FILE}graphs: {graphs}\n")
    with pytest.raises(ConfigError, match=problem):
        stacks.load(path)


def test_a_launch_of_nothing_is_stated_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(FILE)
    plain = stacks.load(path)
    given = "launch: {value: 0 us, source: graphs}", "older_attention: {value: 1.8, source: old}"
    path.write_text(FILE + "".join(f"    {line}\n" for line in given))
    stated = stacks.load(path)
    assert stated.scenario_part() == plain.scenario_part()  # `attention` has that of older kernels
    assert "any: launch" not in report(plain)
    assert "any: launch" in report(stated) and "any: older_attention" in report(stated)


def test_sms_that_a_file_states_make_a_step_longer_by_no_more_than_their_share(
    tmp_path: Path,
) -> None:
    workload = train("llama3-8b", Plan(dp=8, zero=3, global_batch=8))
    path, parts, times = tmp_path / "mine.yaml", [], []
    for line in ("", "    taken: {value: 0.2, source: mine}\n"):
        path.write_text(FILE + line)
        stack = stacks.load(path)
        assert ("any: taken" in report(stack)) == bool(line)
        parts.append(stack.scenario_part())
        on = cluster_parts("hgx-h100", 8, stack=str(path))
        times.append(simulate(Scenario(workload=Templates(workload=workload), **on)).makespan_ns)
    assert parts[1] == parts[0] | {"taken": 0.2}
    assert times[0] < times[1] < times[0] / 0.8


def test_the_command_line_names_a_stack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = tmp_path / "step.yw"
    plan = ["--tp", "8", "--dp", "2", "--global-batch", "16"]
    assert main(["workload", "train", "--model", "llama3-8b", *plan, "-o", str(workload)]) == 0
    on_h100 = ["run", "--workload", str(workload), "--cluster", "hgx-h100"]
    capsys.readouterr()
    assert main([*on_h100, "--stack", "megatron-bridge"]) == 0
    said = capsys.readouterr().out
    assert "90 %)" in said and "rests on" in said and "H100 SXM" in said
    assert main([*on_h100, "--stack", "roofline"]) == 0
    assert "90 %" not in capsys.readouterr().out
    made = on_cluster(str(workload), "hgx-h100", stack="megatron-bridge-moe")
    assert ("copies", 0) in made.collectives.selection.options  # type: ignore[union-attr]
    assert main(["stack", "list"]) == 0
    assert "megatron-2022" in capsys.readouterr().out
    assert main(["stack", "show", "megatron-2022"]) == 0
    assert "fitted to 8 steps of 4 models" in capsys.readouterr().out


def sampled(result: Result, factors: np.ndarray) -> list[float]:
    model, made = result.model, []
    for products, attention, rest in factors:
        stack = Stack(products=products, attention=attention, rest=rest, interval=0.2)
        other = compile_like(model, model.scenario.replace(stack=stack))
        made.append(run(other).makespan_ns / result.makespan_ns)
    return made


def test_the_linear_response_is_near_full_runs_and_never_above() -> None:
    result = simulate(scenario(Stack(interval=0.2)))
    rng = np.random.default_rng(1)
    factors = np.exp(rng.normal(0.0, 0.1, (12, 3)))
    linear = factors @ responses(result)
    full = np.array(sampled(result, factors))
    assert np.all(linear <= full * 1.002)
    assert np.max(full / linear - 1) < 0.03


def test_the_interval_is_that_of_the_stack() -> None:
    found = interval(simulate(scenario(Stack(interval=0.2))))
    assert found is not None
    assert (-np.log(found.low), np.log(found.high)) == pytest.approx((0.2, 0.2), rel=1e-12)
    assert "collectives of NCCL" in found.rests_on


def test_the_interval_is_that_of_the_plans_that_say_most_of_the_jobs() -> None:
    plans = (
        PlanInterval(tp=8, interval=0.1),
        PlanInterval(tp=8, interval=0.4, micro_batch=1),
        PlanInterval(tp=2, interval=0.3),
    )
    stack = Stack(interval=0.2, plans=plans)
    assert stack.interval_of(8, 1) == 0.4
    assert stack.interval_of(8, 4) == stack.interval_of(8, None) == 0.1
    assert stack.interval_of(2, 8) == 0.3
    assert stack.interval_of(4, 1) == stack.interval_of(None, None) == 0.2


def test_a_plan_further_from_those_measured_has_the_wider_interval() -> None:
    stack = Stack(interval=0.1, apart=0.06, measured_tp=(2, 4))
    assert stack.distance(2) == stack.distance(4) == stack.distance(None) == 0.06
    assert stack.distance(8) == stack.distance(1) == pytest.approx(hypot(0.06, 0.04))
    assert stack.distance(16) > stack.distance(8)
    assert stack.interval_of(4, None) == 0.1
    assert stack.interval_of(8, None) == pytest.approx(0.1 * stack.distance(8) / 0.06)
    assert Stack(interval=0.1).distance(8) == 0.0


def test_a_run_says_how_far_the_nearest_measured_step_is() -> None:
    found = simulate(scenario(Stack(interval=0.2, apart=0.07)))
    held = interval(found)
    assert held is not None and held.away == found.figures.away == 0.07
    assert "the nearest measured step is 7% away" in held.rests_on
    plain = interval(simulate(scenario(Stack(interval=0.2))))
    assert plain is not None and plain.away is None


def test_a_name_without_its_release_or_year_is_the_newest() -> None:
    for name, kind in (("megatron-bridge", "dense"), ("megatron-bridge-moe", "moe")):
        releases = [one for one in map(stacks.load, stacks.names()) if one.generation == name]
        found = stacks.load(name)
        assert found.kind == kind
        assert found.release == max(one.release for one in releases)
        assert {one.name for one in releases} == {f"{name}-{one.release}" for one in releases}
    assert stacks.load("megatron").name == "megatron-2022"
    with pytest.raises(ConfigError, match="no stack is named 'megatron-bridg'"):
        stacks.load("megatron-bridg")


def test_a_run_has_the_interval_of_its_plan() -> None:
    plain, own = (
        interval(simulate(scenario(Stack(interval=0.5, plans=plans))))
        for plans in ((), (PlanInterval(tp=PLAN.tp, interval=0.9),))
    )
    assert plain is not None and own is not None
    assert own.low < plain.low and plain.high < own.high


def test_a_stack_of_a_file_has_the_intervals_of_its_plans() -> None:
    part = stacks.load("megatron-deepspeed-2023").scenario_part("dgx-a100-80gb")
    read = STACK.read(part, "stack", "")
    assert read.interval_of(2, 1) < read.interval < read.interval_of(8, 1)
    assert STACK.read(STACK.write(read, ""), "stack", "") == read


def test_there_is_none_without_a_stack() -> None:
    model = compile(scenario())
    assert run(model).interval is None
    assert "time_low_ns" not in run(model).figures.as_dict()
