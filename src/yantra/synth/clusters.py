"""The clusters on which drawn jobs are run beside real ones: two switches, and nodes of four."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from yantra.scenario import Collectives, Device, Dimension, Resources, Scenario, Topology
from yantra.scenario.types import Templates
from yantra.synth.passes import BYTES_PER_S, FLOPS
from yantra.workloads.templates import Workload

NODE = 4


class Cluster(NamedTuple):
    """Bytes per ns and ns of latency of a link; `inside`: those in a node of `NODE`, if any."""

    name: str
    bytes_per_ns: float
    latency_ns: float
    inside: float = 0.0


CLUSTERS = (
    Cluster("switch of 25 GB/s", 25.0, 1000.0),
    Cluster("nodes of 4 at 300 GB/s, 50 GB/s between", 50.0, 1000.0, 300.0),
    Cluster("switch of 200 GB/s", 200.0, 500.0),
)


class Ran(NamedTuple):
    """A job on a cluster: exposed communication is the mean of ranks, bytes are by group."""

    makespan_ns: float
    exposed_ns: float
    group_bytes: dict[str, int]


def scenario(cluster: Cluster, workload: Workload) -> Scenario:
    """A job on a cluster of as many ranks, of a roofline."""
    outer = cluster.bytes_per_ns, cluster.latency_ns
    shape = [(workload.ranks, *outer)]
    if cluster.inside and workload.ranks > NODE and workload.ranks % NODE == 0:
        shape = [(NODE, cluster.inside, cluster.latency_ns), (workload.ranks // NODE, *outer)]
    ring = ("ring",)
    return Scenario(
        workload=Templates(workload=workload),
        semantics="yantra",
        topology=Topology(
            dimensions=tuple(
                Dimension(kind="switch", size=size, bytes_per_ns=rate, latency_ns=latency)
                for size, rate, latency in shape
            )
        ),
        device=Device(peak_flops=FLOPS, memory_bytes_per_s=BYTES_PER_S, compute=_compute(workload)),
        collectives=Collectives(
            all_reduce=ring * len(shape),
            reduce_scatter=ring * len(shape),
            all_gather=ring * len(shape),
            all_to_all=ring * len(shape),
        ),
        resources=Resources(),
    )


def _compute(workload: Workload) -> str:
    traces = (workload.template(name) for name in workload.templates)
    return "recorded" if any(any(one.native.duration_micros) for one in traces) else "roofline"


def run_on(cluster: Cluster, workload: Workload) -> Ran:
    """Run a job to its end."""
    from yantra.run.simulate import simulate

    result = simulate(scenario(cluster, workload))
    exposed = result.ranks.values("exposed_communication_ns")
    sums: Counter[str] = Counter()
    table = result.collectives
    for group, size in zip(table.values("group"), table.values("size_bytes"), strict=True):
        sums[group or "0"] += size
    return Ran(result.makespan_ns, sum(exposed) / max(len(exposed), 1), dict(sums))
