"""The examples of `yantra demo`: two of ASTRA-sim's tutorial, two of our own."""

from __future__ import annotations

from yantra.base.records import Record
from yantra.chakra import CollectiveType, Trace, TraceBuilder
from yantra.scenario import (
    ASTRA_SIM_RESOURCES,
    Collectives,
    Device,
    Dimension,
    Scenario,
    Templates,
    Topology,
    Traces,
    cluster_parts,
)
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.layered import Layer, step
from yantra.workloads.training.train import train

_MIB = 1 << 20
_RANKS = 8


class Example(Record):
    title: str
    about: str
    scenario: Scenario
    astra_sim_ns: int | None = None


def examples() -> list[Example]:
    return [all_reduce(), three_nodes(), training_step(), known_model()]


def all_reduce() -> Example:
    trace = TraceBuilder(first_id=1)
    trace.collective(CollectiveType.ALL_REDUCE, _MIB)
    return Example(
        title="All-reduce of 1 MiB over a ring of 8",
        about="50 GB/s and 500 ns per link, 4 chunks, 10 ns per hand-over; ASTRA-sim's tutorial",
        scenario=_tutorial(trace.build()),
        astra_sim_ns=117780,
    )


def three_nodes() -> Example:
    trace = TraceBuilder(first_id=1)
    first = trace.collective(CollectiveType.ALL_REDUCE, _MIB)
    trace.collective(CollectiveType.ALL_GATHER, 2 * _MIB, after=first)
    trace.compute("compute", duration_micros=50, after=first)
    return Example(
        title="A graph of three nodes on the same ring",
        about="all-reduce of 1 MiB, then all-gather of 2 MiB beside 50 us of compute",
        scenario=_tutorial(trace.build()),
        astra_sim_ns=405520,
    )


def training_step() -> Example:
    """A transformer step, split by tensors within a node and by data over nodes."""
    micros = 2 * 12 * 4096**2 * 2048 // 4 // 250_000_000
    layer = Layer(
        forward_micros=micros,
        input_gradient_micros=micros,
        weight_gradient_micros=micros,
        activation_bytes=2 * 2048 * 4096 * 2,
        weight_bytes=12 * 4096**2 // 4 * 2,
    )
    topology = Topology(
        dimensions=(
            Dimension(kind="ring", size=4, bytes_per_ns=200.0, latency_ns=250.0),
            Dimension(kind="fully_connected", size=4, bytes_per_ns=50.0, latency_ns=500.0),
            Dimension(kind="switch", size=4, bytes_per_ns=25.0, latency_ns=1000.0),
        )
    )
    made = step([layer] * 24, [dimension.size for dimension in topology.dimensions])
    return Example(
        title="A training step of 24 layers on 64 ranks in 3 dimensions",
        about="split by tensors over dimension 0, by data over 1 and 2, backward pass overlapped",
        scenario=Scenario(
            workload=Traces(traces=made.traces, groups=made.groups),
            topology=topology,
            device=Device(memory_bytes_per_s=2e12),
            collectives=Collectives(
                all_reduce=("ring", "direct", "halving_doubling"), chunks=8, active_chunks=1
            ),
        ),
    )


def known_model() -> Example:
    plan = Plan(tp=8, pp=4, dp=2, global_batch=32, zero=1, recompute="selective")
    return Example(
        title="A training step of Llama 3 70B on 64 H100 GPUs",
        about="by name: --model llama3-70b --tp 8 --pp 4 --dp 2 --global-batch 32 --zero 1 "
        "--recompute selective --cluster hgx-h100",
        scenario=Scenario(
            workload=Templates(workload=train("llama3-70b", plan)),
            **cluster_parts("hgx-h100", plan.ranks),
        ),
    )


def _tutorial(trace: Trace) -> Scenario:
    """Put a trace on the tutorial's cluster, with ASTRA-sim's semantics."""
    ring = Dimension(kind="ring", size=_RANKS, bytes_per_ns=50 * 1073741824 / 1e9, latency_ns=500.0)
    return Scenario(
        workload=Traces(traces=(trace,) * _RANKS),
        topology=Topology(dimensions=(ring,)),
        device=Device(memory_bytes_per_s=50e9),
        collectives=Collectives(
            all_reduce=("ring",), all_gather=("ring",), chunks=4, endpoint_delay_ns=10
        ),
        resources=ASTRA_SIM_RESOURCES,
        semantics="astra-sim",
    )
