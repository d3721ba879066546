"""What a run draws: over time, over devices, around them, and by the closed form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.compile.capped import factors
from yantra.compute.power import OPERATION, Power
from yantra.explore.closed_form.closed_form import ClosedForm
from yantra.explore.closed_form.machine import Machine as Searched
from yantra.explore.closed_form.on_stack import parts_for
from yantra.explore.closed_form.space import PlanSpace
from yantra.fabric import clusters
from yantra.fabric.clusters.ownership import rates_of
from yantra.result import Result
from yantra.result.energy import Drawn, Energy, device_joules, timeline
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.scenario.power import law_of
from yantra.scenario.types import Device, Machine
from yantra.serving.iteration import Batch, Predictor
from yantra.workloads.models.catalogue import find
from yantra.workloads.plan.plan import Plan
from yantra.workloads.serving import InferencePlan
from yantra.workloads.training.train import train

CLUSTER, KERNELS = "hgx-h100", 12
LAW = Power(700.0)
SPANS = st.lists(
    st.tuples(st.floats(0, 9), st.floats(1e-3, 3), st.floats(0, 1e15)), max_size=KERNELS
)


def drawn(spans: list[tuple[float, float, float]], law: Power = LAW, devices: int = 1) -> Drawn:
    starts, lengths, rates = np.array(spans or [(0, 0, 0)][:0]).reshape(-1, 3).T
    return Drawn(devices, *timeline(law, 20.0, starts, starts + lengths, rates * lengths))


def step(**changes: Any) -> Result:
    plan = Plan(tp=4, pp=2, dp=2, zero=1, global_batch=16)
    workload = train(find("llama3-8b"), plan, 2048)
    parts = parts_for(CLUSTER, plan.ranks, "bf16", "unknown")
    parts["machine"] = parts["machine"].replace(**changes)
    return simulate(Scenario(workload=Templates(workload=workload), **parts))


def energy_of(result: Result) -> Energy:
    assert result.energy is not None
    return result.energy


@given(SPANS)
def test_power_over_time_is_between_idle_and_the_limit(spans: Any) -> None:
    watts = drawn(spans).watts
    assert watts.min() >= LAW.idle_w * (1 - 1e-9)
    assert watts.max() <= LAW.limit_w * (1 + 1e-9)


@given(SPANS, st.integers(1, 50))
def test_the_integral_of_a_profile_is_the_energy_and_parts_add_up(spans: Any, parts: int) -> None:
    one, edges = drawn(spans, devices=3), np.linspace(0, 20.0, parts + 1)
    whole = float((one.watts[:-1] * np.diff(one.times_s)).sum()) * 3
    assert np.diff(one.joules_to(edges)).sum() == pytest.approx(whole)
    assert one.joules_to(edges[-1:])[0] == pytest.approx(3 * drawn(spans).joules_to(edges[-1:])[0])


def test_a_kernel_alone_is_the_law_and_two_at_once_share_the_limit() -> None:
    alone = drawn([(5.0, 2.0, 1e14)]).joules_to(np.array([20.0]))[0]
    assert alone == pytest.approx(18 * LAW.idle_w + 2 * (LAW.working_w + OPERATION * 1e14))
    both = drawn([(5.0, 2.0, 1e14), (6.0, 2.0, 4e14)])
    assert both.joules_to(np.array([20.0]))[0] == pytest.approx(
        17 * LAW.idle_w + LAW.working_w + 82 + 2 * LAW.limit_w
    )


def test_what_the_building_draws_adds_up_over_parts_and_time() -> None:
    result = step(host_power_w=300.0, switch_power_w=20.0, pue=1.25, grid_g_per_kwh=400.0)
    of, figures = energy_of(result), result.figures
    around = 16 * 300 * of.seconds, 16 * 20 * of.seconds
    assert (of.host_j, of.switch_j) == pytest.approx(around)
    assert of.facility_j == pytest.approx((of.device_j + sum(around)) * 1.25)
    assert np.mean(of.profile_w) * of.seconds == pytest.approx(of.facility_j)
    assert of.carbon_g == pytest.approx(of.facility_j / 3.6e6 * 400)
    assert of.idle_w == pytest.approx(16 * (LAW.idle_w + 320) * 1.25)
    rising = [of.idle_w, of.least_w, min(of.profile_w), max(of.profile_w), of.peak_w]
    assert np.diff(rising).min() >= -1e-6
    assert of.peak_w <= 16 * (700 + 320) * 1.25 * (1 + 1e-9)
    assert not of.unknown
    assert figures.energy_kwh == pytest.approx(of.device_j * 1.25 / 3.6e6)


def test_phases_of_training_draw_the_mean_of_a_step_and_what_waits() -> None:
    of = energy_of(step(pue=1.25))
    one, checkpoint, restart = of.phases
    assert one.kwh == pytest.approx(of.facility_j / 3.6e6)
    assert checkpoint.watts == restart.watts == of.idle_w < one.watts <= of.peak_w
    assert (checkpoint.seconds, restart.seconds) == pytest.approx((0.59, 900 / np.log(4)))
    assert restart.kwh == pytest.approx(restart.seconds * of.idle_w / 3.6e6)
    assert of.as_dict()["phases"][2]["kwh"] == restart.kwh
    assert of._replace(step_s=None).phases == ()


def test_what_nobody_states_is_unknown_and_counts_nothing() -> None:
    of = energy_of(step(host_power_w=None, pue=None))
    missing = "host_power", "switch_power", "pue"
    assert of.unknown == tuple(f"cluster.machine.{name}" for name in missing)
    assert of.carbon_g is None and of.host_j is None
    assert of.facility_j == pytest.approx(of.device_j)
    assert step(power_w=None).energy is None


def test_folded_or_not_the_energy_is_the_same() -> None:
    plan = Plan(tp=2, pp=2, dp=2, zero=1, global_batch=8)
    workload = Templates(workload=train(find("llama3-8b"), plan, 1024))
    parts = parts_for(CLUSTER, plan.ranks, "bf16", "unknown")
    folds: tuple[Any, ...] = "off", "require"
    found = [simulate(Scenario(workload=workload, fold=fold, **parts)) for fold in folds]
    one, other = (device_joules(of.model, of.outcome) for of in found)
    assert one == pytest.approx(other)


def capped(watts: float | None) -> Result:
    plan = Plan(tp=4, pp=2, dp=2, zero=1, global_batch=16)
    parts = parts_for(CLUSTER, plan.ranks, "bf16", "unknown")
    parts["device"] = parts["device"].replace(power_cap_w=watts)
    workload = train(find("llama3-8b"), plan, 2048)
    return simulate(Scenario(workload=Templates(workload=workload), **parts))


def test_a_cap_never_speeds_up_and_no_device_exceeds_it() -> None:
    free, *others = [capped(watts) for watts in (None, 700.0, 550.0, 400.0, 250.0)]
    assert others[0].makespan_ns == pytest.approx(free.makespan_ns)
    times = [one.makespan_ns for one in others]
    assert np.diff(times).min() > 0
    for one, watts in zip(others, (700.0, 550.0, 400.0, 250.0), strict=True):
        assert one.energy is not None
        hosts = 16 * 350
        assert one.energy.peak_w <= (16 * watts + hosts) * (1 + 1e-9)
        assert one.figures.mean_power_w is not None
        assert LAW.idle_w <= one.figures.mean_power_w <= watts


def test_a_cap_of_a_cluster_file_slows_searches_and_serving_alike(tmp_path: Path) -> None:
    text = Path(clusters.path_of(CLUSTER)).read_text(encoding="utf-8")
    stated = "  power_cap: {value: 400 W, basis: yours}\n  memory_bandwidth:"
    (tmp_path / "own.yaml").write_text(text.replace("  memory_bandwidth:", stated, 1))
    own = clusters.load(str(tmp_path / "own.yaml"))
    space = PlanSpace(ranks=16, global_batch=32, most_tp=8, sequence=2048, tp=(4,), pp=(2,))
    model, columns = find("llama3-8b"), space.columns(find("llama3-8b"))
    free, slow = (
        ClosedForm(model, Searched(of, 16, stack="unknown"), 2048).judge(columns, 32)
        for of in (clusters.load(CLUSTER), own)
    )
    assert (slow.time_ns > 1.3 * free.time_ns).all()
    parts = parts_for(own, 16, "bf16", "unknown")
    workload = Templates(workload=train(model, space.plan(columns, 0), 2048))
    ran = simulate(Scenario(workload=workload, **parts))
    assert slow.time_ns[0] == pytest.approx(ran.makespan_ns, rel=0.03)
    formed = rates_of(own).energy_j(slow.time_ns[0] / 1e9, 16, float(slow.kernel_j[0]))
    assert formed == pytest.approx(device_joules(ran.model, ran.outcome), rel=0.03)
    batch = Batch(64, 64_000, (), 64)
    first, second = (
        Predictor(model, of, InferencePlan(tp=1), engine="vllm").iteration(batch)
        for of in (CLUSTER, own)
    )
    assert second.seconds > first.seconds
    assert second.joules is not None and second.joules <= 400 * second.seconds * (1 + 1e-9)


def test_a_cap_widens_the_interval_towards_the_time_without_it() -> None:
    free, low = capped(None).figures, capped(400.0).figures
    assert low.time_low_ns is not None and free.time_low_ns is not None
    assert low.step_time_ns is not None and free.step_time_ns is not None
    assert low.time_low_ns / low.step_time_ns < 0.8 * free.time_low_ns / free.step_time_ns
    assert low.time_low_ns > free.time_low_ns
    assert "capped at 400 W" in (low.rests_on or "")


@given(st.floats(160.0, 900.0), st.floats(0.0, 1e15), st.floats(1.0, 1e6))
def test_a_kernel_under_a_cap_draws_at_most_it(cap: float, rate: float, ns: float) -> None:
    law = LAW._replace(cap_w=cap)
    (factor,) = factors(law, np.array([rate * ns / 1e9]), np.array([ns]))
    assert factor >= 1
    assert law.joules(1.0, 1.0, rate) <= min(cap, 700.0) * (1 + 1e-9)
    if law._replace(cap_w=None).joules(1.0, 1.0, rate) <= cap:
        assert factor == pytest.approx(1)


def test_a_cap_needs_a_power_and_a_device_that_can_run_at_it() -> None:
    with pytest.raises(ConfigError, match=r"must be above 154 W.*; got 100 W"):
        capped(100.0)
    machine, device = Machine(), Device(power_cap_w=300.0)
    with pytest.raises(ConfigError, match=r"needs cluster\.machine\.power"):
        law_of(machine, device)


def test_the_closed_form_is_near_the_run_whose_energy_it_stands_for() -> None:
    """Median 2 %, at most 10 % off."""
    model, ranks, batch = find("llama3-8b"), 32, 64
    space = PlanSpace(ranks=ranks, global_batch=batch, most_tp=8, sequence=2048)
    columns = space.columns(model)
    judged = ClosedForm(model, Searched(CLUSTER, ranks, stack="unknown"), 2048).judge(
        columns, batch
    )
    parts, rates = parts_for(CLUSTER, ranks, "bf16", "unknown"), rates_of(clusters.load(CLUSTER))
    rng = np.random.default_rng(3)
    errors = []
    for row in rng.choice(len(columns["tp"]), 6, replace=False):
        workload = train(model, space.plan(columns, int(row)), 2048)
        ran = simulate(Scenario(workload=Templates(workload=workload), **parts))
        joules = device_joules(ran.model, ran.outcome)
        seconds = float(judged.time_ns[row]) / 1e9
        formed = rates.energy_j(seconds, ranks, float(judged.kernel_j[row]))
        assert joules is not None and formed is not None
        errors.append(abs(formed / joules - 1))
    assert np.median(errors) < 0.03, errors
    assert max(errors) < 0.1, errors


def test_the_option_refuses_what_has_no_power_and_lists_of_jobs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "model: llama3-8b\nsequence: 1024\nplan: {tp: 8, global_batch: 8}\n"
    (tmp_path / "job.yaml").write_text(text)
    job = str(tmp_path / "job.yaml")
    assert main(["run", job, "--cluster", "tpu-v5p", "--energy"]) == 2
    assert "cluster.machine.power: missing; --energy needs" in capsys.readouterr().err
    assert main(["run", job, "--cluster", "hgx-h100", "--energy"]) == 0
    shown = capsys.readouterr().out
    assert "energy of the run\ndevices " in shown
    assert "switches         UNKNOWN: set cluster.machine.switch_power" in shown
    assert main(["run", job, "--cluster", "hgx-h100", "--energy", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["energy"]
    assert told["facility_j"] == pytest.approx(told["device_j"] + told["host_j"])
