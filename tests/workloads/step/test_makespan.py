"""A generated step on a network that costs nothing lasts as long as its schedule says."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workloads.step.models import build
from tests.workloads.step.test_simulation import PIPELINES, finish_ns
from yantra.scenario.types import Collectives, Device, Dimension, Topology
from yantra.workloads import schedules
from yantra.workloads.operators.operations import Operation, Pass, Phase, StageWork
from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.execution import Costs, execute
from yantra.workloads.templates import RankClass, Workload

OPERATIONS_PER_NS = 1000
FREE = {
    "device": Device(peak_flops=1e12, memory_bytes_per_s=1e15, compute="roofline"),
    "collectives": Collectives(
        all_reduce=("direct",),
        all_gather=("direct",),
        reduce_scatter=("direct",),
        all_to_all=("direct",),
        endpoint_delay_ns=0,
        local_reduction_delay_ns=0,
    ),
}


@dataclass
class Times:
    """Nanoseconds of the passes of one chunk."""

    forward: int
    input_gradient: int
    weight_gradient: int


def works(times: Times, stages: int) -> list[StageWork]:
    """One kernel per pass, and messages of a byte."""

    def kernel(phase: Phase, nanoseconds: int, *after: int) -> Operation:
        flops = OPERATIONS_PER_NS * nanoseconds
        return Operation(phase, "gemm", phase, "layers.0", after, tensor_flops=flops)

    made = []
    for stage in range(stages):
        first, last = stage == 0, stage == stages - 1
        forward = (kernel("forward", times.forward),)
        backward = (
            kernel("dgrad", times.input_gradient),
            kernel("wgrad", times.weight_gradient),
        )
        made.append(
            StageWork(
                Pass(forward, () if first else (0,), None if last else 0),
                Pass(backward, () if last else (0,), None if first else 0),
                (),
                int(not first),
                int(not last),
            )
        )
    return made


def makespan_ns(schedule: str, p: int, m: int, times: Times) -> tuple[float, float]:
    plan = Plan(pp=p, vpp=PIPELINES[schedule], global_batch=m, schedule=schedule)
    chosen = schedules.get(schedule)
    stages = chosen.stages(p, plan.vpp)
    step = build(plan, works=works(times, stages.count))
    names = {f"stage{device}": device for device in range(p)}
    workload = Workload(
        grids=[plan.grid()],
        groups=step.job.groups,
        classes=[RankClass("train", {"pp": device}, name) for name, device in names.items()],
        templates={
            name: step.job.template(device, step.passes[device], step.ends[device]).to_bytes()
            for name, device in names.items()
        },
    )
    network = Dimension(kind="fully_connected", size=p, bytes_per_ns=1e9, latency_ns=0)
    ours = finish_ns(workload, "yantra", topology=Topology(dimensions=(network,)), **FREE)
    costs = Costs(
        forward=times.forward,
        input_gradient=times.input_gradient,
        weight_gradient=times.weight_gradient,
    )
    orders = chosen.orders(p, m, plan.vpp)
    return ours, execute(orders, stages, costs).makespan


@pytest.mark.parametrize("schedule", PIPELINES)
@given(
    st.sampled_from((2, 4)),
    st.sampled_from((2, 3)),
    st.builds(Times, *[st.integers(1, 9).map(lambda count: 1000 * count)] * 3),
)
@settings(max_examples=8)
def test_a_step_that_only_computes_lasts_as_long_as_its_schedule(
    schedule: str, p: int, rounds: int, times: Times
) -> None:
    ours, expected = makespan_ns(schedule, p, 2 * rounds * p // 2 * 2, times)
    assert ours == pytest.approx(expected, abs=1)
