"""Running an imported workload on a ring, in either semantics."""

from __future__ import annotations

from math import inf
from typing import Literal

from tests.oracles import step_bounds
from yantra.compile import compile
from yantra.run.simulate import run_native
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces
from yantra.workloads.templates import Ordering, Workload

Semantics = Literal["astra-sim", "yantra"]
ORDERINGS: dict[Semantics, Ordering] = {"astra-sim": "serial", "yantra": "streams"}


def finish(workload: Workload, semantics: Semantics) -> list[float]:
    """Return when each rank finished, in ns; a deadlock is an error."""
    ordering = ORDERINGS[semantics]
    ring = Dimension(kind="ring", size=max(workload.ranks, 2), bytes_per_ns=50.0, latency_ns=500.0)
    traces = [workload.trace(rank, ordering) for rank in range(workload.ranks)]
    if workload.ranks == 1:
        traces *= 2
    algorithm = ("ring",)
    scenario = Scenario(
        workload=Traces(traces=tuple(traces), groups=tuple(workload.communicators().items())),
        topology=Topology(dimensions=(ring,)),
        collectives=Collectives(
            all_reduce=algorithm,
            all_gather=algorithm,
            all_to_all=algorithm,
            reduce_scatter=algorithm,
        ),
        semantics=semantics,
    )
    model = compile(scenario)
    outcome = run_native(model)
    times = [int(ticks) / model.ticks_per_ns for ticks in outcome.finish]
    step_bounds.hold(traces, _rates(ring, semantics), outcome, max(times))
    return times


def _rates(ring: Dimension, semantics: Semantics) -> step_bounds.Rates:
    far = ring.latency_ns * ring.size
    exact = semantics == "yantra"
    return step_bounds.Rates(0.0, inf, inf, 0.0, ring.bytes_per_ns, far, 10.0, reads_ns=exact)
