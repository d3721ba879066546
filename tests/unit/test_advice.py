"""What to change, ranked by what a run says it gains."""

from __future__ import annotations

import pytest

from tests.clusters import dimension, scenario
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.explain.advice import advice
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
