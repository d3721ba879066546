"""Under the rendezvous protocol equal messages match their receives in the order of these."""

from __future__ import annotations

import pytest

from yantra.chakra import CollectiveType, TraceBuilder
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces


@pytest.mark.parametrize("network", ["analytical", "flow", "packet"])
def test_messages_of_one_size_between_two_ranks_do_not_change_places(network: str) -> None:
    traces = []
    for rank in range(6):
        trace = TraceBuilder(rank=rank)
        if rank in (0, 5):
            trace.send(1 if rank == 0 else 4, 1, tag=1 + rank)
        elif rank in (1, 4):
            came = trace.recv(0 if rank == 1 else 5, 1, tag=1 if rank == 1 else 6)
            trace.collective(CollectiveType.ALL_REDUCE, 1, group="1", after=came)
        else:
            trace.compute("idle", duration_micros=1)
        traces.append(trace.build())
    inner = Dimension(kind="switch", size=2, bytes_per_ns=3.0, latency_ns=333.0)
    outer = Dimension(kind="switch", size=3, bytes_per_ns=8.0, latency_ns=12.25)
    result = simulate(
        Scenario(
            workload=Traces(traces=tuple(traces), groups=((1, (1, 4)),)),
            topology=Topology(dimensions=(inner, outer)),
            network=network,
            collectives=Collectives(
                all_reduce=("ring", "ring"), rendezvous=True, endpoint_delay_ns=0
            ),
        )
    )
    assert result.finish_ns[1] == result.finish_ns[4] > 0
