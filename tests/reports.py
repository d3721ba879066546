"""Runs whose reports are tested."""

from __future__ import annotations

from functools import cache

from tests.cases import ALL_GATHER, ALL_REDUCE, cluster, collectives
from yantra.base.fields import Plugin
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Device, Scenario, Templates, Topology, Traces, cluster_parts
from yantra.scenario.fabric_fields import FabricField
from yantra.workloads.plan.plan import Plan
from yantra.workloads.training.train import train

EVIL = "</script><img src=x onerror=\"document.title='broken'\">"


@cache
def uneven(network: str = "analytical") -> Result:
    traces = []
    for rank in range(8):
        trace = TraceBuilder(rank=rank)
        work = trace.compute(EVIL, duration_micros=9 if rank == 5 else 5)
        work["num_ops"], work["tensor_size"] = 10**9, 10**7
        all_ranks = trace.collective(ALL_REDUCE, 10**6, after=work)
        group = str(1 + rank // 4)
        gather = trace.collective(ALL_GATHER, 10**5, group=group, after=all_ranks)
        trace.compute("tail", duration_micros=3, after=[gather, work])
        if rank == 0:
            trace.send(7, 4096, tag=3, after=gather)
        if rank == 7:
            trace.recv(0, 4096, tag=3, after=gather)
        traces.append(trace.build())
    return simulate(
        Scenario(
            workload=Traces(traces=tuple(traces), groups=((1, (0, 1, 2, 3)), (2, (4, 5, 6, 7)))),
            topology=cluster(("ring", 4, 50.0, 500.0), ("switch", 2, 25.0, 900.0)),
            device=Device(peak_flops=1e15, memory_bytes_per_s=2e12),
            collectives=collectives("ring", 2, chunks=2),
            network=network,  # type: ignore[arg-type]
        ),
        record=True,
    )


@cache
def step(ranks: int = 16) -> Result:
    plan = Plan(tp=2, pp=2, dp=ranks // 4, micro_batch=1, global_batch=ranks)
    workload = train("llama2-7b", plan, sequence=512)
    parts = cluster_parts("hgx-h100", ranks, stack="roofline")
    return simulate(Scenario(workload=Templates(workload=workload), **parts), record=True)


@cache
def many(ranks: int = 131_072) -> Result:
    trace = TraceBuilder()
    work = trace.compute("work", duration_micros=5)
    trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, after=work)
    topology: Topology = cluster(("ring", 16, 50.0, 500.0), ("switch", ranks // 16, 25.0, 900.0))
    built = trace.build()
    return simulate(
        Scenario(
            workload=Traces(traces=(built,) * ranks),
            topology=topology,
            collectives=collectives("halving_doubling", 2),
        ),
        record=True,
    )


@cache
def packets() -> Result:
    traces = []
    for rank in range(4):
        trace = TraceBuilder(rank=rank)
        if rank:
            trace.send(0, 400_000)
        else:
            for source in (1, 2, 3):
                trace.recv(source, 400_000)
        traces.append(trace.build())
    return simulate(
        Scenario(
            workload=Traces(traces=tuple(traces)),
            topology=cluster(("switch", 4, 50.0, 500.0)),
            network=Plugin(kind="packet", options=(("preset", "hpcc95"),)),
        ),
        record=True,
    )


@cache
def shared() -> Result:
    traces = []
    for rank in range(8):
        trace = TraceBuilder(rank=rank)
        work = trace.compute("work", duration_micros=5 + rank)
        trace.collective(ALL_REDUCE, 10**6, after=work)
        traces.append(trace.build())
    tree = {"kind": "leaf_spine", "leaves": 2, "ranks_per_leaf": 4, "spines": 2}
    speeds = {"bandwidth": "50 GB/s", "latency": "500 ns", "uplink_bandwidth": "25 GB/s"}
    return simulate(
        Scenario(
            workload=Traces(traces=tuple(traces)),
            topology=cluster(("switch", 8, 50.0, 500.0)),
            fabric=FabricField().read(tree | speeds, "fabric", ""),
            collectives=collectives("ring"),
            network="flow",
        ),
        record=True,
    )


def forget() -> None:
    for made in (uneven, step, many, shared, packets):
        made.cache_clear()
