"""What cannot be known is refused, or has a wider interval and says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from yantra.base.errors import ConfigError
from yantra.base.fields import Plugin
from yantra.cli import main
from yantra.compile import compile
from yantra.compute import model_of
from yantra.compute.model import Device, kernels
from yantra.fabric import clusters, stacks
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, Templates
from yantra.scenario.named import parts_at
from yantra.scenario.on_cluster import on_cluster
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

FP4 = Plan(tp=8, global_batch=4, dtype="fp4")
H100 = Device(peak_flops=989.4e12, memory_bytes_per_s=3.35e12)


def step(cluster: str, plan: Plan, speeds: str, sequence: int = 1024) -> Scenario:
    workload = Templates(workload=train("llama3-8b", plan, sequence))
    return Scenario(workload=workload, **parts_at(cluster, 8, speeds=speeds))  # type: ignore[arg-type]


@pytest.mark.parametrize("speeds", ["achievable", "nominal", "measured"])
@pytest.mark.parametrize("cluster", ["hgx-h100", "dgx-a100-80gb", "mi300x"])
def test_fp4_is_refused_where_the_machine_has_no_rate_of_it(cluster: str, speeds: str) -> None:
    with pytest.raises(ConfigError, match=r"workload: its products are in fp4, .* no rate; it st"):
        compile(step(cluster, FP4, speeds))


def test_every_cluster_runs_plans_in_8_and_4_bits_where_it_states_them() -> None:
    for name in clusters.names():
        known = {one for one, _ in clusters.load(name).peak}
        for dtype in ("fp8", "fp4"):
            plan = Plan(global_batch=8, dp=8, dtype=dtype)
            scenario = step(name, plan, "achievable")
            if dtype in known:
                compile(scenario)
            else:
                with pytest.raises(ConfigError, match=f"are in {dtype}, of which {name} states"):
                    compile(scenario)


def test_a_plan_in_fp4_runs_its_products_faster_and_nothing_else() -> None:
    slow, fast = (
        simulate(
            step("hgx-b200", FP4.replace(dtype=dtype, tp=1, dp=8, global_batch=8), "measured", 8192)
        )
        for dtype in ("bf16", "fp4")
    )
    assert fast.makespan_ns < slow.makespan_ns
    of = [dict(one.model.kernels[0].kernels.__dict__) for one in (slow, fast)]
    assert {"bf16", "fp4"} <= set(of[1]["dtypes"]) and "fp4" not in of[0]["dtypes"]


def test_other_speeds_change_the_dtype_of_the_scenario_and_are_refused_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "step.yw")
    train("llama3-8b", FP4, 1024).save(path)
    assert main(["run", "--workload", path, "--cluster", "hgx-h100"]) == 2
    assert "its products are in fp4, of which hgx-h100 states no rate" in capsys.readouterr().err
    assert main(["run", "--workload", path, "--cluster", "hgx-b200"]) == 0


def test_a_framework_that_nobody_measured_has_a_wider_interval_than_any_known_one() -> None:
    unknown = stacks.load("unknown").terms("hgx-h100")[1].interval.value
    dense = [name for name in stacks.names() if name != "unknown" and not name.endswith("-moe")]
    for name in dense:
        for machine, terms in stacks.load(name).machines:
            if machine != stacks.ANY:
                assert terms.interval.value <= unknown, name


@pytest.mark.parametrize("name", [one for one in stacks.names() if one != "unknown"])
def test_a_stack_on_another_machine_is_wider_and_says_so(name: str) -> None:
    stack = stacks.load(name)
    part = stack.scenario_part("tpu-v4")
    assert part["name"] == f"{name} (of other machines)"
    longer = (1 + 0.22 * 229.1667 / 153.0162) / 1.22  # operations a byte, v4 and A100
    assert part["products"] == pytest.approx(stack.terms()[1].products.value * longer, rel=1e-5)
    assert stack.scenario_part("tpu-v4", "fp8")["products"] == stack.terms()[1].products.value
    known = [terms.interval.value for machine, terms in stack.machines if machine != stacks.ANY]
    assert part["interval"] >= max(known)


def test_a_run_with_the_unknown_stack_says_so(tmp_path: Path) -> None:
    path = str(tmp_path / "step.yw")
    train("llama3-8b", Plan(tp=8, global_batch=4), 1024).save(path)
    found = simulate(on_cluster(path, "hgx-h100", stack="unknown")).interval
    assert found is not None
    stated = stacks.load("unknown").terms("hgx-h100")[1].interval.value
    assert np.log(found.high) > stated > 0.15  # the library of attention is on top
    assert "unknown" in found.rests_on


def test_nobody_knows_the_attention_of_long_sequences_unless_its_library_is_stated() -> None:
    widths = []
    unknown = stacks.load("unknown")
    for stack in (unknown, unknown.replace(attention_library="flash-3")):
        for tokens in (1024, 65536):
            work = train("llama3-8b", Plan(tp=8, global_batch=1), tokens)
            parts = parts_at("hgx-h100", 8, speeds="measured", stack=stack)
            ran = simulate(Scenario(workload=Templates(workload=work), **parts))
            assert ran.interval is not None
            widths.append(np.log(ran.interval.high))
    short, long, *known = widths
    stated = unknown.terms("hgx-h100")[1].interval.value
    assert stated < short < long < np.hypot(stated, 1.645 * 0.455)
    assert known == pytest.approx([stated] * 2)


def test_kernels_beyond_the_tables_are_wider_and_the_run_says_how_many() -> None:
    model = model_of(Plugin(kind="measured", options=(("gpu", "h100_sxm"),)))
    sizes = [4096, 2**18]
    rows = kernels(
        [2 * 4096 * size * 4096 for size in sizes], [10**9] * 2, "gemm", "bf16",
        m=[4096] * 2, n=sizes, k=[4096] * 2, count=[9, 1],
    )  # fmt: skip
    made = model.estimate(rows, H100)
    inside, outside = made.high / made.middle
    assert outside > inside + 0.09
    tables = "measured GEMM tables of H100 SXM"
    away = "0.2 octaves from the nearest (at most 2.4)"
    assert model.basis(rows, H100) == f"{tables}, {away}, 10% of kernels beyond their sizes"
    assert model.basis(rows.take(slice(0, 1)), H100) == tables
    long = kernels(
        [10**15], [10**9], "attention", "bf16", batch=[1], queries=[2**18], keys=[2**18],
        heads=[8], kv_heads=[8], head_dim=[128], value_dim=[128],
    )  # fmt: skip
    assert model.basis(long, H100).endswith("100% of kernels beyond their sizes")
