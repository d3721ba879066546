"""Broadcast and reduce where every two members have a link of their own."""

from __future__ import annotations

import pytest

from yantra.chakra import TraceBuilder
from yantra.fabric import clusters
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces, cluster_parts

SIZE = 1 << 28
LINK, LATENCY_NS = 50.0, 300.0  # bytes/ns


def taken_ns(kind: str, ranks: int, size: int, network: str = "flow", shape: str = "") -> float:
    trace = TraceBuilder()
    trace.collective(kind, size)
    one = Dimension(
        kind=shape or "fully_connected", size=ranks, bytes_per_ns=LINK, latency_ns=LATENCY_NS
    )
    scenario = Scenario(
        workload=Traces(traces=(trace.build(),) * ranks),
        topology=Topology(dimensions=(one,)),
        collectives=Collectives(),
        network=network,
    )
    return simulate(scenario).makespan_ns


@pytest.mark.parametrize("network", ["analytical", "flow"])
@pytest.mark.parametrize("ranks", [3, 4, 6, 8])
def test_a_broadcast_comes_near_what_the_links_of_its_root_carry(ranks: int, network: str) -> None:
    bound = SIZE / (ranks - 1) / LINK
    assert bound <= taken_ns("BROADCAST", ranks, SIZE, network) <= 1.15 * bound


@pytest.mark.parametrize("network", ["analytical", "flow"])
@pytest.mark.parametrize("ranks", [4, 6, 8])
def test_a_reduce_takes_at_most_two_passes_over_the_links_of_its_root(
    ranks: int, network: str
) -> None:
    bound = SIZE / (ranks - 1) / LINK
    assert bound <= taken_ns("REDUCE", ranks, SIZE, network) <= 2.15 * bound


@pytest.mark.parametrize("kind", ["BROADCAST", "REDUCE"])
def test_more_bytes_and_fewer_links_never_take_less(kind: str) -> None:
    times = [taken_ns(kind, 8, 1 << at) for at in range(8, 29, 4)]
    assert times == sorted(times)
    by_ranks = [taken_ns(kind, ranks, SIZE) for ranks in (8, 6, 4, 3)]
    assert by_ranks == sorted(by_ranks)


@pytest.mark.parametrize("kind", ["BROADCAST", "REDUCE"])
def test_behind_a_switch_members_have_one_port_and_parts_gain_nothing(kind: str) -> None:
    assert taken_ns(kind, 8, SIZE, shape="switch") >= SIZE / LINK


@pytest.mark.parametrize("network", ["analytical", "flow"])
def test_a_box_of_links_broadcasts_over_all_of_them(network: str) -> None:
    machine = clusters.load("mi300x")
    rate = machine.network[0].link("achievable").value / 1e9  # one of 7
    for ranks in (4, 8):
        trace = TraceBuilder()
        trace.collective("BROADCAST", SIZE)
        scenario = Scenario(
            workload=Traces(traces=(trace.build(),) * ranks),
            network=network,
            **cluster_parts(machine, ranks, stack="roofline"),
        )
        bound = SIZE / (ranks - 1) / rate
        assert bound <= simulate(scenario).makespan_ns <= 1.15 * bound
