"""What to change, ranked by what a run says it gains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clusters import dimension, scenario
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main
from yantra.explain import explain, what_if
from yantra.explain.advice import Change, advice
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Device, Scenario, Templates, Topology
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

DEVICE = Device(compute="roofline", peak_flops=1e14, memory_bytes_per_s=1e12)


def _of_kernels() -> Result:
    trace = TraceBuilder()
    kernel = trace.compute(num_ops=10**11, tensor_size=10**6)
    trace.collective(CollectiveType.ALL_REDUCE, 4096, after=kernel)
    return simulate(scenario([trace] * 4, dimension(), device=DEVICE))


def test_a_rate_gains_what_its_kernels_take_less() -> None:
    result = _of_kernels()
    first = advice(result).rates[0]
    share = result.ranks.values("compute_ns")[0] / result.makespan_ns
    assert first.text == "peak performance"
    assert first.gains[:3] == pytest.approx((share * (1 - 1 / 0.9), share / 11, share / 2))
    assert first.gains[3] == pytest.approx(share, rel=0.01)


def test_a_workload_without_a_plan_gets_no_other_plans() -> None:
    assert advice(_of_kernels()).changes == ()


def test_more_micro_batches_shorten_the_bubble() -> None:
    step = train("llama3-8b", Plan(pp=4, dp=2, global_batch=4), 128)
    question = Scenario(
        workload=Templates(workload=step),
        topology=Topology(dimensions=(dimension(size=8),)),
        device=DEVICE,
        collectives=scenario([TraceBuilder()] * 4, dimension()).collectives,
    )
    changes = {row.text: row for row in advice(simulate(question)).changes}
    four = changes["4 micro-batches (global batch 8)"]
    eight = changes["8 micro-batches (global batch 16)"]
    assert 0 < four.gain < eight.gain < 1
    assert four.memory_bytes > 0


PIPELINE = """
workload: {model: llama3-8b, plan: {tp: 4, pp: 8, zero: 1, global_batch: 4}, sequence: 512}
cluster: {name: hgx-h100}
"""


def test_the_command_ranks_rates_and_plans_by_what_they_gain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(PIPELINE)
    assert main(["explain", str(path), "--advice", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["advice"]
    twice = told["factors"].index("x2")
    assert [row["gains"][twice] for row in told["rates"]] == sorted(
        (row["gains"][twice] for row in told["rates"]), reverse=True
    )
    assert told["plans"][0]["text"] == "16 micro-batches (global batch 16)"
    assert all(row["fits"] for row in told["plans"])
    assert main(["explain", str(path), "--advice"]) == 0
    assert "16 micro-batches (global batch 16)" in capsys.readouterr().out


def test_a_run_bound_by_the_bubble_says_what_makes_it_smaller(tmp_path: Path) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(PIPELINE)
    bound = simulate(path).bound_by
    assert bound.kind == "bubble"
    assert bound.sentence().startswith(f"{bound.text}; ")
    assert "more micro-batches or virtual stages" in bound.sentence()


def test_a_plan_that_the_devices_cannot_hold_is_marked() -> None:
    assert Change("no recomputing", 0.2, 1 << 30, False).memory() == "1 GiB, does not fit"
    assert Change("no recomputing", 0.2, 1 << 30).memory() == "1 GiB"


def test_a_table_of_links_that_no_network_keeps_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "step.yaml"
    path.write_text(PIPELINE)
    table = ["--csv", str(tmp_path / "links.csv"), "--table", "links"]
    assert main(["run", str(path), *table, "--set", "network=ideal"]) == 0
    assert "--table links: empty" in capsys.readouterr().err
    for kept in ("analytical", "store_and_forward"):
        assert main(["run", str(path), *table, "--set", f"network={kept}"]) == 0
        assert "--table links" not in capsys.readouterr().err


def test_what_ifs_and_explanations_show_what_bounds_the_run() -> None:
    result = _of_kernels()
    bounds, explanation = what_if(result), explain(result)
    for shown in (repr(bounds), repr(explanation), bounds._repr_html_()):
        assert bounds.bound_by.text in shown
    assert explanation._repr_html_().startswith("<pre>")
