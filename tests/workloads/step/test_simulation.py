"""Generated steps run to their ends, whatever the schedule, the sharding and the simulator."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracles import step_bounds
from tests.oracles.communication_forms import Shape
from tests.workloads.step.models import model_of, plans
from tests.zoo import drawn
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.scenario import Scenario
from yantra.scenario.types import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Device,
    Dimension,
    RemoteMemory,
    Topology,
    Traces,
)
from yantra.workloads import schedules
from yantra.workloads.plan.plan import Plan
from yantra.workloads.schedules.listed import as_text
from yantra.workloads.templates import Workload
from yantra.workloads.training.train import train

SMALL = Shape(h=64, L=8, a=4, g=4, d=16, f=128, V=256, s=32)
ALGORITHMS = Collectives(
    all_reduce=("ring",),
    all_gather=("ring",),
    reduce_scatter=("ring",),
    all_to_all=("direct",),
)
EXPERTS = SMALL._replace(E=4, k=2)


RATES = step_bounds.Rates(
    flops=1e5,
    memory=1e3,
    beyond=50.0,
    beyond_latency=100.0,
    link=50.0,
    link_latency=500.0,
    hand_over=10.0,
)
"""Those of the scenario below, in ns."""


def finish_ns(workload: Workload, semantics: str, **changes: object) -> float:
    upstream = semantics == "astra-sim"
    ordering = "serial" if upstream else "streams"
    traces = tuple(workload.trace(rank, ordering) for rank in range(workload.ranks))
    groups = tuple(workload.communicators().items())
    fields: dict[str, object] = {
        "workload": Traces(traces=traces, groups=groups),
        "topology": Topology(
            dimensions=(
                Dimension(
                    kind="fully_connected", size=workload.ranks, bytes_per_ns=50.0, latency_ns=500
                ),
            )
        ),
        "device": Device(peak_flops=1e14, memory_bytes_per_s=1e12, compute="roofline"),
        "collectives": ALGORITHMS,
        "memory": RemoteMemory(kind="per_npu", latency_ns=100, bytes_per_ns=50.0),
        "semantics": semantics,
    }
    if upstream:
        fields["resources"] = ASTRA_SIM_RESOURCES
    scenario = Scenario(**(fields | changes))  # type: ignore[arg-type]
    model = compile(scenario)
    outcome = run_native(model)
    took = max(outcome.finish) / model.ticks_per_ns
    if not {"topology", "device", "memory"} & set(changes):
        step_bounds.hold(traces, RATES, outcome, took)
    return took


def runs_within_its_bounds(workload: Workload, semantics: str, **changes: object) -> None:
    finish_ns(workload, semantics, **changes)


PIPELINES = {
    "gpipe": 1,
    "1f1b": 1,
    "interleaved": 2,
    "interleaved-rounds": 2,
    "zb-h1": 1,
    "zb-h2": 1,
    "zb-v": 2,
    "dualpipe": 1,
    "dualpipev": 2,
}


@pytest.mark.parametrize(
    ("semantics", "overlap_p2p", "rendezvous"),
    [
        ("astra-sim", True, False),
        ("astra-sim", False, True),
        ("yantra", True, True),
        ("yantra", False, False),
    ],
)
@pytest.mark.parametrize("schedule", PIPELINES)
def test_every_schedule_runs_to_its_end(
    schedule: str, overlap_p2p: bool, semantics: str, rendezvous: bool
) -> None:
    plan = Plan(
        tp=2,
        pp=4,
        vpp=PIPELINES[schedule],
        dp=1,
        global_batch=8,
        schedule=schedule,
        overlap_p2p=overlap_p2p,
    )
    collectives = ALGORITHMS.replace(rendezvous=rendezvous)
    runs_within_its_bounds(train(model_of(SMALL), plan), semantics, collectives=collectives)


PLANS = {
    "ddp": Plan(dp=4, tp=2, global_batch=8),
    "tied": Plan(dp=2, tp=2, pp=2, global_batch=8),
    "zero 1": Plan(dp=4, tp=2, zero=1, global_batch=8, bucket_elements=10_000),
    "zero 1 partly exposed": Plan(dp=4, tp=2, zero=1, global_batch=8, exposed_gradients=0.3),
    "zero 1 exposed": Plan(
        dp=4, tp=2, zero=1, global_batch=8, overlap_gradients=False, overlap_parameters=False
    ),
    "zero 2": Plan(dp=2, tp=2, pp=2, zero=2, global_batch=8),
    "zero 2 exposed": Plan(dp=2, tp=2, pp=2, zero=2, global_batch=8, overlap_gradients=False),
    "zero 3": Plan(dp=4, tp=2, zero=3, global_batch=8, prefetch=2),
    "zero 3 split": Plan(dp=2, tp=2, pp=2, zero=3, global_batch=8, schedule="zb-h1"),
    "zero 3 kept": Plan(dp=2, pp=2, zero=3, reshard_after_forward=False, global_batch=8),
    "hsdp": Plan(dp=8, zero=3, shard=4, global_batch=16),
    "context ring": Plan(cp=4, dp=2, global_batch=4),
    "context gather": Plan(cp=4, tp=2, cp_kind="all_gather", global_batch=2),
    "context exchange": Plan(cp=4, dp=2, cp_kind="a2a", global_batch=4),
    "recompute": Plan(tp=2, pp=2, dp=2, recompute="full", global_batch=8),
    "recompute operators": Plan(tp=2, pp=2, dp=2, recompute="operators", global_batch=8),
    "products in parts": Plan(tp=2, pp=2, dp=2, overlap_products=True, global_batch=8),
    "sums awaited": Plan(tp=2, pp=2, dp=2, overlap_tensor=False, global_batch=8),
    "sliced messages": Plan(
        tp=2, pp=2, dp=2, sequence_parallel=False, messages="sliced", global_batch=8
    ),
    "scattered messages": Plan(
        tp=2, pp=2, vpp=2, sequence_parallel=False, messages="scattered", global_batch=8
    ),
    "gathered kept": Plan(tp=2, pp=2, dp=2, gather_again=False, global_batch=8),
    "offload": Plan(
        pp=2, dp=4, zero=1, offload_optimizer=True, offload_activations=True, global_batch=8
    ),
    "offload modules": Plan(
        pp=2, tp=2, dp=2, offload_modules="attn_norm,core_attn,attn_proj", global_batch=8
    ),
    "offload split": Plan(pp=4, dp=2, offload_activations=True, schedule="zb-h2", global_batch=16),
    "mirrored": Plan(pp=4, dp=2, zero=1, schedule="dualpipe", global_batch=16),
}
EXPERT_PLANS = {
    "experts": Plan(dp=4, tp=2, ep=4, global_batch=8, zero=1),
    "experts over tp": Plan(dp=4, tp=2, ep=4, etp=2, global_batch=8),
    "experts, dualpipe": Plan(pp=2, dp=4, ep=4, schedule="dualpipe", global_batch=16),
    "experts behind passes": Plan(
        pp=2, dp=4, ep=4, overlap_experts="1f1b", exposed_experts=0.25, global_batch=32
    ),
    "experts, zero 3": Plan(dp=8, ep=2, zero=3, global_batch=16),
    "skewed": Plan(pp=2, dp=4, ep=4, routing="zipf:1.2", global_batch=8),
}


@pytest.mark.parametrize("name", [*PLANS, *EXPERT_PLANS])
def test_every_kind_of_plan_runs_to_its_end(name: str) -> None:
    shape = SMALL if name in PLANS else EXPERTS
    plan = {**PLANS, **EXPERT_PLANS}[name]
    workload = train(model_of(shape._replace(tied=name == "tied")), plan)
    for semantics in ("astra-sim", "yantra"):
        runs_within_its_bounds(workload, semantics)


@given(plans(), st.sampled_from(("astra-sim", "yantra")), st.booleans())
@drawn(4)
def test_random_plans_run_to_their_ends(
    drawn: tuple[Shape, Plan], semantics: str, offloads: bool
) -> None:
    shape, plan = drawn
    assume(1 < plan.ranks <= 16)
    plan = plan.replace(offload_activations=offloads, global_batch=plan.global_batch)
    runs_within_its_bounds(train(model_of(shape), plan), semantics)


def test_a_list_of_operations_is_a_schedule_too(tmp_path: Path) -> None:
    zb = schedules.get("zb-h1")
    path = tmp_path / "own.yaml"
    path.write_text(as_text(zb.orders(2, 4), zb.stages(2), 4))
    plans = [Plan(pp=2, tp=2, global_batch=4, schedule=name) for name in (str(path), "zb-h1")]
    listed, named = (train(model_of(SMALL), plan) for plan in plans)
    runs_within_its_bounds(listed, "yantra")
    for template in named.templates:
        assert listed.template_bytes(template) == named.template_bytes(template)
