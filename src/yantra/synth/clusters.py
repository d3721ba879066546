"""The clusters on which drawn jobs are run beside real ones: two switches, and nodes of four."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from yantra.scenario import Collectives, Device, Dimension, Resources, Scenario, Topology
from yantra.synth.observe import Observed
from yantra.synth.passes import BACKWARD, BYTES_PER_S, FLOPS, FORWARD

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
    Cluster("switch of 100 GB/s", 100.0, 500.0),
)


class Ran(NamedTuple):
    """A job on a cluster; exposed communication is the mean of ranks."""

    makespan_ns: float
    exposed_ns: float


def scenario(cluster: Cluster, job: Observed) -> Scenario:
    """A job on a cluster of as many ranks, of a roofline or, if it has times, as recorded."""
    ranks = job.settings.plan.ranks
    outer = cluster.bytes_per_ns, cluster.latency_ns
    shape = [(ranks, *outer)]
    if cluster.inside and ranks > NODE and ranks % NODE == 0:
        shape = [(NODE, cluster.inside, cluster.latency_ns), (ranks // NODE, *outer)]
    rings = ("ring",) * len(shape)
    timed = any(any(trace.native.duration_micros) for trace in job.traces)
    return Scenario(
        workload=job.played,
        semantics="yantra",
        topology=Topology(
            dimensions=tuple(
                Dimension(kind="switch", size=size, bytes_per_ns=rate, latency_ns=latency)
                for size, rate, latency in shape
            )
        ),
        device=Device(
            peak_flops=FLOPS,
            memory_bytes_per_s=BYTES_PER_S,
            compute="recorded" if timed else "roofline",
        ),
        collectives=Collectives(
            all_reduce=rings, reduce_scatter=rings, all_gather=rings, all_to_all=rings
        ),
        resources=Resources(),
    )


def run_on(cluster: Cluster, job: Observed) -> Ran:
    """Run a job to its end."""
    from yantra.run.simulate import simulate

    result = simulate(scenario(cluster, job))
    exposed = result.ranks.values("exposed_communication_ns")
    return Ran(result.makespan_ns, sum(exposed) / max(len(exposed), 1))


def group_bytes(job: Observed) -> dict[str, float]:
    """Bytes of a rank's collectives in a step, by stage and the axes of the group."""
    sums: dict[str, float] = defaultdict(float)
    for stage, passes in enumerate(job.stages):
        for call, used in passes.calls.items():
            times = job.settings.micro_batches if call.when in (FORWARD, BACKWARD) else 1
            sums[f"stage {stage} {call.axes}"] += used.size * times
    return dict(sums)
