"""The stated type of a workload is what its kernels run in and what MFU divides by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.compute.model import Device, kernels
from yantra.compute.products import retyped
from yantra.compute.roofline import Options, Roofline
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates, cluster_parts, load
from yantra.workloads.plan.plan import Plan
from yantra.workloads.serving import InferencePlan, infer
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

GPT = "gpt3-1.3b"
STACKS = {"achievable": "roofline", "nominal": "nominal", "measured": "unknown"}
PEAKS = {"bf16": 989.4e12, "fp8": 1978.9e12}
Captured = pytest.CaptureFixture[str]


def step(dtype: Any, **plan: Any) -> Workload:
    return train(GPT, Plan(tp=2, dp=2, global_batch=8, dtype=dtype, **plan), 2048)


def saved(work: Workload, folder: Path, name: str = "step") -> str:
    work.save(folder / f"{name}.yw")
    return str(folder / f"{name}.yw")


def ran(path: str, **settings: Any) -> Result:
    keys = {key.replace("__", "."): value for key, value in settings.items()}
    return simulate(load(path, cluster="hgx-h100", settings=keys))


def mfu(result: Result, peak: float) -> float:
    flops = result.figures.model_flops or 0
    return flops / (peak * result.model.ranks * result.makespan_ns / 1e9)


@pytest.mark.parametrize("dtype", PEAKS)
@pytest.mark.parametrize("speeds", ["achievable", "nominal", "measured"])
def test_mfu_is_of_the_peak_of_the_type_that_the_workload_states(
    dtype: str, speeds: str, tmp_path: Path
) -> None:
    result = ran(saved(step(dtype), tmp_path), stack=STACKS[speeds])
    assert (result.figures.peak_dtype, result.figures.peak_flops) == (dtype, PEAKS[dtype])
    assert result.figures.mfu == pytest.approx(mfu(result, PEAKS[dtype]))
    assert result.what_ran.dtype == dtype and not result.warnings


@pytest.mark.parametrize("speeds", ["achievable", "nominal"])
def test_products_in_eight_bits_run_at_their_rate_and_all_else_at_its_own(
    speeds: str, tmp_path: Path
) -> None:
    wide, narrow = (
        ran(saved(step(dtype), tmp_path, dtype), stack=STACKS[speeds]) for dtype in PEAKS
    )
    assert 0.5 * wide.makespan_ns < narrow.makespan_ns < 0.9 * wide.makespan_ns
    (timed,) = narrow.model.kernels
    rates = {"nominal": PEAKS, "achievable": {"bf16": 794.5e12, "fp8": 1402.6e12}}[speeds]
    names = np.array(timed.kernels.dtypes)[timed.kernels.dtype]
    assert {"bf16", "fp8"} <= set(names.tolist())
    for dtype, rate in rates.items():
        rows = np.flatnonzero((names == dtype) & (timed.kernels.flops > 0))
        compute = timed.kernels.flops[rows] / rate * 1e9
        memory = timed.kernels.bytes[rows] / 3.35e12 * 1e9
        np.testing.assert_allclose(
            timed.estimates.middle[rows], np.maximum(compute, memory), rtol=1e-3
        )


def test_decoding_in_eight_bits_is_bound_by_memory_and_says_so(tmp_path: Path) -> None:
    work = infer("llama3-8b", InferencePlan(tp=2, dtype="fp8"), phase="decode", batch=8)
    result = ran(saved(work, tmp_path))
    assert result.figures.peak_dtype == "fp8" and result.figures.peak_flops == PEAKS["fp8"]
    assert result.bound_by.kind == "memory_bandwidth"


@pytest.mark.parametrize(
    ("speeds", "semantics"),
    [("achievable", "yantra"), ("achievable", "astra-sim"), ("measured", "yantra")],
)
def test_the_parts_of_a_cluster_in_python_take_the_workloads_type(
    speeds: Any, semantics: Any, tmp_path: Path
) -> None:
    work = step("fp8")
    stack = STACKS[speeds]
    parts = cluster_parts("hgx-h100", 4, stack=stack, semantics=semantics)
    scenario = Scenario(workload=Templates(workload=work), semantics=semantics, **parts)
    made = simulate(scenario)
    read = load(
        saved(work, tmp_path),
        cluster="hgx-h100",
        settings={"stack": STACKS[speeds], "semantics": semantics},
    )
    assert made.makespan_ns == simulate(read.replace(resources=scenario.resources)).makespan_ns
    assert made.figures.peak_dtype == "fp8" and made.figures.peak_flops == PEAKS["fp8"]
    chosen = cluster_parts("hgx-h100", 4, "bf16", stack=stack, semantics=semantics)
    slow = simulate(scenario.replace(**chosen))
    assert slow.makespan_ns != made.makespan_ns and "run at the rates of bf16" in slow.warnings[-1]


@pytest.mark.parametrize("speeds", ["achievable", "measured"])
@pytest.mark.parametrize(("stated", "chosen"), [("bf16", "fp8"), ("fp8", "bf16")])
def test_a_type_that_is_chosen_comes_before_the_workloads_and_is_told(
    stated: str, chosen: str, speeds: str, tmp_path: Path, capsys: Captured
) -> None:
    path = saved(step(stated), tmp_path)
    words = ["run", path, "--cluster", "hgx-h100", "--set", f"cluster.dtype={chosen}"]
    words += ["--stack", STACKS[speeds], "--json"]
    assert main(words) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["figures"]["peak_dtype"] == chosen
    (told,) = form["warnings"]
    assert f"its products are in {stated}, but run at the rates of {chosen}" in told
    other = ran(saved(step(chosen), tmp_path, "other"), stack=STACKS[speeds])
    assert form["makespan_ns"] == pytest.approx(other.makespan_ns, rel=0.05)  # but for messages
    now = kernel_ns(ran(path, stack=STACKS[speeds], cluster__dtype=chosen))
    own = kernel_ns(ran(path, stack=STACKS[speeds]))
    assert abs(now - kernel_ns(other)) < 0.5 * abs(own - kernel_ns(other))


def kernel_ns(result: Result) -> float:
    """Of all kernels."""
    found = (timed.estimates.middle @ timed.kernels.count for timed in result.model.kernels)
    return float(sum(found))


def test_every_command_says_the_same(tmp_path: Path, capsys: Captured) -> None:
    path = saved(step("fp8"), tmp_path)
    on = [path, "--cluster", "hgx-h100"]
    time = ran(path).makespan_ns
    assert main(["explain", *on, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["makespan_ns"] == time
    assert main(["sweep", *on, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["makespan_ns"], row["figures"]["peak_dtype"]) == (time, "fp8")
    assert main(["network", "compare", *on, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["networks"]
    assert next(one for one in rows if one["network"] == "analytical")["makespan_ns"] == time
    job = "model: gpt3-1.3b\nsequence: 2048\nplan: {tp: 2, dp: 2, global_batch: 8, dtype: fp8}\n"
    (tmp_path / "job.yaml").write_text(job)
    assert simulate(load(tmp_path / "job.yaml", cluster="hgx-h100")).makespan_ns == time
    (tmp_path / "s.yaml").write_text("workload: {templates: step.yw}\ncluster: {name: hgx-h100}\n")
    scenario = simulate(tmp_path / "s.yaml")
    assert scenario.makespan_ns == time
    scenario.to_json(tmp_path / "r.json")
    assert simulate(load(tmp_path / "r.json")).makespan_ns == time


def test_traces_that_state_no_type_run_at_the_usual_one(tmp_path: Path) -> None:
    trace = TraceBuilder()
    trace.compute(num_ops=10**12, tensor_size=1)
    for rank in range(8):
        trace.build().write(tmp_path / f"t.{rank}.et")
    result = ran(str(tmp_path / "t.{rank}.et"))
    assert result.model.scenario.machine.dtype == "bf16" and not result.warnings
    assert result.makespan_ns == pytest.approx(1.238 * 10**12 / 794.5e12 * 1e9, rel=0.02)


@pytest.mark.parametrize("cluster", ["gaudi3", "tpu-v5p"])
def test_a_type_without_a_rate_is_refused_with_those_that_have_one(
    cluster: str, tmp_path: Path, capsys: Captured
) -> None:
    path = saved(train(GPT, Plan(dp=8, global_batch=8, dtype="fp16"), 1024), tmp_path)
    assert main(["run", path, "--cluster", cluster]) == 2
    said = capsys.readouterr().err
    assert f"its products are in fp16, of which {cluster} states no rate" in said
    assert "--set cluster.dtype=bf16" in said
    assert main(["run", path, "--cluster", cluster, "--set", "cluster.dtype=bf16"]) == 0


def test_jobs_beside_each_other_run_in_their_own_types(tmp_path: Path, capsys: Captured) -> None:
    for dtype in ("fp8", "bf16", "fp32"):
        saved(step(dtype), tmp_path, dtype)

    def alone(*dtypes: str) -> list[float]:
        first, second = dtypes
        (tmp_path / "two.yaml").write_text(
            f"jobs: [{{scenario: {first}.yw, ranks: 0-3}}, {{scenario: {second}.yw, ranks: 4-7}}]\n"
            "cluster: {name: hgx-h100, ranks: 8}\nstack: roofline\n"
        )
        assert main(["run", str(tmp_path / "two.yaml"), "--json"]) == 0
        return [one["alone_ns"] for one in json.loads(capsys.readouterr().out)["jobs"]]

    fast, slow = alone("fp8", "bf16")
    assert alone("fp8", "fp8") == [fast, fast] and alone("bf16", "bf16") == [slow, slow]
    assert fast < 0.9 * slow
    (tmp_path / "two.yaml").write_text(
        "jobs: [{scenario: fp8.yw, ranks: 0-3}, {scenario: fp32.yw, ranks: 4-7}]\n"
        "cluster: {name: hgx-h100, ranks: 8}\n"
    )
    assert main(["run", str(tmp_path / "two.yaml")]) == 2
    assert "the products of the jobs are in fp8 and fp32" in capsys.readouterr().err


def test_a_roofline_by_type_scales_with_the_peak_and_without_types_is_one() -> None:
    rows = kernels([10**12] * 4, [1] * 4, ["gemm"] * 4, ["fp8", "bf16", "", "tf32"])
    device = Device(2e15, 1e15)
    given = Options(dtype="fp8", fp8=2e15, bf16=1e15)
    for factor in (1.0, 3.0):
        faster = device._replace(peak_flops=factor * 2e15)
        found = Roofline(given).estimate(rows, faster).middle
        np.testing.assert_allclose(found * factor, [5e5, 1e6, 5e5, 1e6])
        np.testing.assert_allclose(Roofline(Options()).estimate(rows, faster).middle * factor, 5e5)
    with np.errstate(invalid="ignore"):
        free = Roofline(given).estimate(rows, Device(float("inf"), 1e15)).middle
    np.testing.assert_allclose(free, 1e-6)


def test_products_change_their_type_only_where_the_trace_chose_none() -> None:
    plain = kernels([1] * 3, [1] * 3, ["gemm", "norm", "gemm"], ["bf16", "bf16", "fp16"])
    names = retyped(plain, "fp8")
    assert [names.dtypes[code] for code in names.dtype] == ["fp8", "bf16", "fp8"]
    mixed = kernels([1] * 2, [1] * 2, ["gemm", "gemm"], ["fp8", "bf16"])
    assert retyped(mixed, "fp8") is mixed and retyped(mixed, None) is mixed
    wide = retyped(mixed, "bf16")
    assert [wide.dtypes[code] for code in wide.dtype] == ["bf16", "bf16"]


def test_what_a_machine_has_no_rate_of_is_refused_in_python_too() -> None:
    work = train(GPT, Plan(dp=2, dtype="fp4"), 1024)
    scenario = Scenario(workload=Templates(workload=work), **cluster_parts("hgx-h100", 2))
    with pytest.raises(ConfigError, match="products are in fp4, of which hgx-h100 states no rate"):
        simulate(scenario)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (Options(fp8=2e14), "its options need dtype"),
        (Options(products="fp8"), "its options need dtype"),
        (Options(dtype="bf16", fp8=2e14), "needs the rate of that type, bf16"),
    ],
)
def test_rates_that_nothing_relates_to_the_peak_are_refused(options: Options, problem: str) -> None:
    some = kernels(flops=[10**12], bytes=[10**6], dtype="fp8")
    with pytest.raises(ConfigError, match=problem):
        Roofline(options).estimate(some, Device(1e14, 1e12))
