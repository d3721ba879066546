"""What-ifs on measured times: bytes over k times the bandwidth take 1 / k; launch and
steps stay.
"""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.collectives.selection import FIELD, selection_of
from yantra.collectives.selection.measured import fits
from yantra.collectives.selection.selection import Group, Link, Timed
from yantra.collectives.terms import Faster, features, points, taken
from yantra.explain import what_if
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.scenario.named import parts_at
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.serving.infer import infer
from yantra.workloads.serving.plan import InferencePlan
from yantra.workloads.training.train import train

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
SIZES = [1 << at for at in range(8, 34)]
NODE = (("switch", 8), ("switch", 4))
SHAPES = {8: Group(8, NODE, (0,), 0, 8), 32: Group(32, NODE, (0, 1), 0, 8)}
OPTIONS = {
    "system": "h100", "adapter": "48.5 GB/s", "bandwidths": ["370.8 GB/s", "48.5 GB/s"],
    "latencies": ["300 ns", "1350 ns"],
}  # fmt: skip


def links(
    bandwidth: float = 1.0, latency: float = 1.0, *, bytes_: bool = False, hops: bool = False
) -> tuple[Link, ...]:
    return tuple(
        Link(rate * bandwidth, ns * latency, bytes_, hops)
        for rate, ns in ((370.8, 300.0), (48.5, 1350.0))
    )


def times(kind: str, ranks: int, over: tuple[Link, ...], **options: Any) -> dict[int, float]:
    selection = selection_of(FIELD.read({"kind": "measured", "options": OPTIONS | options}, "", ""))
    choice, *_ = selection.choices(kind, SHAPES[ranks]._replace(links=over))
    assert isinstance(choice.algorithms, Timed)
    return dict(choice.algorithms.points)


CASES = list(product(KINDS, SHAPES))


@pytest.mark.parametrize(("kind", "ranks"), CASES)
def test_links_as_they_were_measured_change_nothing(kind: str, ranks: int) -> None:
    assert times(kind, ranks, links()) == times(kind, ranks, ())


@pytest.mark.parametrize(("kind", "ranks"), CASES)
def test_times_never_grow_with_bandwidth_nor_fall_with_latency(kind: str, ranks: int) -> None:
    changed = [links(k) for k in (0.25, 0.5, 0.9, 1, 1.1, 2, 4, 64)] + [links(bytes_=True)]
    by_bandwidth = [list(times(kind, ranks, over).values()) for over in changed]
    by_latency = [list(times(kind, ranks, links(latency=k)).values()) for k in (0.0, 0.5, 1, 2, 16)]
    ideal = list(times(kind, ranks, links(bytes_=True, hops=True)).values())
    for less, more in [
        *zip(by_bandwidth[1:], by_bandwidth, strict=False),
        *pairwise(by_latency),
        (ideal, by_bandwidth[-1]),
        (ideal, by_latency[0]),
    ]:
        assert all(a <= b * (1 + 1e-12) for a, b in zip(less, more, strict=True))
    assert all(ns > 0 for ns in ideal)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [0.25, 4.0, float("inf")])
def test_bytes_are_divided_and_launch_and_steps_stay(kind: str, k: float) -> None:
    for term in fits()["h100", kind, "node"].terms:
        at = points(kind, 8, 1, SIZES)
        launch, steps, wire = features([term], at)[0].T
        parts = term.latency_us * launch, term.step_us * steps, wire / term.bytes_per_us
        made, _ = taken([term], at, Faster(bandwidth=k))
        assert made == pytest.approx(parts[0] + parts[1] + parts[2] / k)
        made, _ = taken([term], at, Faster(bandwidth=k, latency=3.0))
        assert made == pytest.approx(parts[0] + 3 * parts[1] + parts[2] / k)


@pytest.mark.parametrize("kind", KINDS)
def test_no_bandwidth_goes_below_launch_and_steps_of_what_ran(kind: str) -> None:
    terms = fits()["h100", kind, "node"].terms
    at = points(kind, 8, 1, SIZES)
    _, ran = taken(terms, at)
    parts = features(terms, at)
    for k in (4.0, float("inf")):
        made, _ = taken(terms, at, Faster(bandwidth=k))
        for row, term in enumerate(ran):
            one = terms[term]
            kept = one.latency_us + one.step_us * parts[term, row, 1]
            assert made[row] >= kept * (1 - 1e-12)


def test_between_nodes_the_slower_of_adapters_and_links_in_the_node_bounds() -> None:
    usual = times("all_gather", 32, links())
    inside, outside = links(8)
    faster_inside = times("all_gather", 32, (inside, links()[1]))
    faster_outside = times("all_gather", 32, (links()[0], outside))
    both = times("all_gather", 32, links(8))
    size = 1 << 28
    assert faster_inside[size] <= usual[size]
    assert both[size] < faster_outside[size] < usual[size]
    assert both[size] == pytest.approx(usual[size] / 8, rel=0.05)  # launch and steps stay


def test_what_is_scaled_says_so_and_is_less_certain() -> None:
    selection = selection_of(FIELD.read({"kind": "measured", "options": OPTIONS}, "", ""))
    group = SHAPES[8]
    usual, scaled = (
        selection.choices("all_reduce", group._replace(links=over))[0].algorithms
        for over in (links(), links(4))
    )
    assert isinstance(usual, Timed) and isinstance(scaled, Timed)
    assert "scaled to other links" in scaled.basis and "scaled" not in usual.basis
    assert scaled.interval >= usual.interval


def test_lists_that_do_not_fit_and_latencies_of_nothing_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"bandwidths: expected one for each of 2 dimensions"):
        times("all_reduce", 8, links(), bandwidths=["370.8 GB/s"])
    with pytest.raises(ConfigError, match=r"dimension 0: steps that were measured at 0 ns"):
        times("all_reduce", 8, links(), latencies=["0 ns", "0 ns"])


NOMINAL = {"a100": 300.0, "h100": 450.0, "b200": 900.0}
"""GB/s of NVLink in one direction, by the data sheets."""


@pytest.mark.parametrize(
    ("known", "asked"), [("a100", "h100"), ("h100", "a100"), ("h100", "b200"), ("b200", "h100")]
)
def test_rings_of_another_gpu_follow_from_the_bandwidth(known: str, asked: str) -> None:
    off: dict[int, list[float]] = {}
    for kind in KINDS[:3]:
        at = points(kind, 8, 1, [1 << e for e in range(24, 33)])
        rings = [
            [one for one in fits()[system, kind, "node"].terms if one.algorithm == "Ring"]
            for system in (known, asked)
        ]
        faster = Faster(bandwidth=NOMINAL[asked] / NOMINAL[known])
        made, wanted = taken(rings[0], at, faster)[0], taken(rings[1], at)[0]
        for e, (a, b) in enumerate(zip(made, wanted, strict=True), start=24):
            off.setdefault(e, []).append(abs(a / b - 1))
    assert median(one for some in off.values() for one in some) <= 0.15
    assert all(median(some) <= 0.16 for e, some in off.items() if e >= 26)
    assert all(median(some) <= 0.1 for e, some in off.items() if e >= 28)


def job(ranks: int = 16, **changes: Any) -> Scenario:
    parts = parts_at("hgx-h100", ranks, speeds="measured")
    plan = Plan(dp=ranks, zero=1, global_batch=ranks)
    scenario = Scenario(workload=Templates(workload=train("llama3-8b", plan)), **parts)
    if not changes:
        return scenario
    dimensions = tuple(
        one.replace(
            bytes_per_ns=one.bytes_per_ns * changes.get("bandwidth", 1.0),
            latency_ns=one.latency_ns * changes.get("latency", 1.0),
        )
        for one in scenario.topology.dimensions
    )
    return scenario.replace(topology=scenario.topology.replace(dimensions=dimensions))


def left_without(result: Result) -> dict[str, float]:
    return {row.name: row.makespan_ns or 0.0 for row in what_if(result).rows}


def test_a_step_follows_the_network_of_its_cluster() -> None:
    steps = [simulate(job(bandwidth=k)).makespan_ns for k in (0.25, 1.0, 4.0)]
    assert steps[0] > steps[1] > steps[2]
    assert simulate(job(latency=4.0)).makespan_ns >= steps[1]


def test_an_ideal_network_takes_away_hops_and_a_faster_one_bytes() -> None:
    usual, ideal = simulate(job()), simulate(job().replace(network="ideal"))
    assert ideal.makespan_ns == left_without(usual)["latency"] < usual.makespan_ns
    fast = simulate(job().replace(network=Plugin(kind="ideal", options=(("speedup", 4),))))
    assert fast.makespan_ns < min(ideal.makespan_ns, simulate(job(bandwidth=4.0)).makespan_ns)


def test_bounds_follow_the_parts_and_fill_their_dimensions() -> None:
    result = simulate(job())
    left = left_without(result)
    assert left["bandwidth"] <= min(left["bandwidth_0"], left["bandwidth_1"])
    assert left["network"] <= left["bandwidth"] < result.makespan_ns
    assert left["bandwidth"] <= simulate(job(bandwidth=64.0)).makespan_ns
    assert left["communication"] > 0
    assert all(use.busy > 0 for use in result.dimension_uses)


@pytest.mark.parametrize(("phase", "size"), [("decode", 64), ("prefill", 8)])
def test_kernels_from_tables_keep_their_roof(phase: Any, size: int) -> None:
    workload = infer(
        "llama3-8b", InferencePlan(), phase=phase, batch=size, prompt=4096, context=4096
    )
    parts = parts_at("hgx-h100", 1, speeds="measured")
    result = simulate(Scenario(workload=Templates(workload=workload), **parts))
    expected = "memory_bandwidth" if phase == "decode" else "compute"
    assert result.bound_by.kind == expected
    assert result.estimated_bound.kind == expected
    left = left_without(result)
    assert left["compute"] < min(left["peak"], left["memory_bandwidth"])  # launches stay
    assert max(left["peak"], left["memory_bandwidth"]) <= result.makespan_ns


@pytest.mark.parametrize("cluster", ["hgx-h100", "gb300-nvl72", "hgx-h20"])
@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_kernels_follow_the_rates_of_their_device(cluster: str, phase: Any) -> None:
    workload = infer("llama3-8b", InferencePlan(), phase=phase, batch=16, prompt=2048, context=2048)
    parts = parts_at(cluster, 1, speeds="measured")
    scenario = Scenario(workload=Templates(workload=workload), **parts)
    usual = parts["device"]

    def taken_at(peak: float = 1.0, memory: float = 1.0) -> float:
        device = usual.replace(
            peak_flops=usual.peak_flops * peak,
            memory_bytes_per_s=usual.memory_bytes_per_s * memory,
        )
        return simulate(scenario.replace(device=device)).makespan_ns

    factors = (0.25, 0.5, 0.95, 1.0, 1.05, 2.0, 16.0)
    bounds = left_without(simulate(scenario))
    for name, found in (
        ("peak", [taken_at(peak=k) for k in factors]),
        ("memory_bandwidth", [taken_at(memory=k) for k in factors]),
    ):
        assert all(a >= b for a, b in pairwise([*found, bounds[name]]))
        assert found[2] / found[4] <= 1.05 / 0.95 * 1.001  # no jump beside the machine itself
    slower = taken_at(peak=0.5) if phase == "prefill" else taken_at(memory=0.5)
    assert 1.15 < slower / taken_at() <= 2.0


PLANS = st.builds(
    lambda tp, pp, dp, batches: Plan(tp=tp, pp=pp, dp=dp, global_batch=dp * pp * batches),
    st.sampled_from([1, 2, 8]), st.sampled_from([1, 2]), st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2]),
)  # fmt: skip


@settings(max_examples=6, deadline=None, derandomize=True)
@given(PLANS, st.sampled_from(["hgx-h100", "hgx-b200", "dgx-a100-80gb"]))
def test_the_verdict_is_the_row_that_gains_most_and_no_link_is_above_its_rate(
    plan: Plan, cluster: str
) -> None:
    parts = parts_at(cluster, plan.tp * plan.pp * plan.dp, speeds="measured")
    workload = Templates(workload=train("llama3-8b", plan, 1024))
    result = simulate(Scenario(workload=workload, **parts))
    bounds = what_if(result)
    best = max((row for row in bounds.rows if row.kind), key=lambda row: row.gain_ns or 0)
    assert not result.bound_by.estimate
    assert result.bound_by == bounds.bound_by
    assert best.text in result.bound_by.text.partition(";")[0]
    assert result.bound_by.gain == pytest.approx(best.gain, abs=1e-9)
    assert all(use.busy <= 1 for use in result.dimension_uses)


def test_a_file_with_other_links_in_a_node_scales_what_was_measured(tmp_path: Path) -> None:
    from yantra.fabric.clusters import path_of

    text = Path(path_of("hgx-h100")).read_text()
    same, half = tmp_path / "same.yaml", tmp_path / "half.yaml"
    same.write_text(text)
    assert text.count("value: 20.6 GB/s") == 1
    half.write_text(text.replace("value: 20.6 GB/s", "value: 10.3 GB/s"))
    from yantra.scenario import cluster_parts

    measured = {
        name: cluster_parts(name, 8, stack="unknown")["collectives"].selection.options
        for name in ("hgx-h100", str(same), str(half))
    }
    rates = {name: dict(options)["bandwidths"] for name, options in measured.items()}
    assert rates[str(same)] == rates[str(half)] == rates["hgx-h100"]
    plan = Plan(tp=8, global_batch=1)
    step = Templates(workload=train(find("llama3-8b"), plan, 4096))
    times = [
        simulate(Scenario(workload=step, **cluster_parts(name, 8, stack="unknown"))).makespan_ns
        for name in ("hgx-h100", str(same), str(half))
    ]
    assert times[0] == times[1] < times[2]
