"""Reductions that overlap the arrival of their data take no time of their own."""

from __future__ import annotations

import pytest

from tests.clusters import GB_PER_S, LATENCY_NS, dimension, scenario
from yantra import scenario as scenarios
from yantra import simulate
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.scenario import Collectives, Device, SharedBus
from yantra.scenario.types import Reductions

SIZE = 1_000_000
ALGORITHMS = ("ring", "direct", "halving_doubling")


def finish_ns(algorithm: str, reductions: Reductions, memory_bytes_per_s: float) -> float:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, SIZE)
    asked = scenario(
        [trace] * 4,
        dimension("fully_connected", size=4),
        device=Device(memory_bytes_per_s=memory_bytes_per_s),
        collectives=Collectives(
            all_reduce=(algorithm,), endpoint_delay_ns=0, reductions=reductions
        ),
    )
    return float(simulate(asked).finish_ns[0])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_overlapped_reductions_take_no_time(algorithm: str) -> None:
    free = finish_ns(algorithm, "serial", 0.0)
    assert finish_ns(algorithm, "overlapped", 1e11) == free
    assert finish_ns(algorithm, "serial", 1e11) > free


def test_a_ring_is_then_its_messages_alone() -> None:
    assert finish_ns("ring", "overlapped", 1e11) == 6 * (LATENCY_NS + SIZE / 4 / GB_PER_S)
    charged = 3 * 3 * SIZE / 4 / 100  # three reductions, of one write and two reads at 100 B/ns
    assert finish_ns("ring", "serial", 1e11) == 6 * (LATENCY_NS + SIZE / 4 / GB_PER_S) + charged


def test_the_file_says_so_too() -> None:
    text = """workload: {traces: "step.{rank}.et"}
cluster: {topology: [{kind: ring, size: 8, bandwidth: 50 GB/s, latency: 500 ns}]}
collectives: {reductions: overlapped}
"""
    read = scenarios.loads(text)
    assert read.collectives.reductions == "overlapped"
    assert scenarios.loads(scenarios.to_yaml(read)) == read
    with pytest.raises(ConfigError, match=r"^collectives\.reductions: expected one of serial, ov"):
        scenarios.loads(text.replace("overlapped", "overlap"))


def test_a_shared_bus_charges_reductions_itself() -> None:
    with pytest.raises(ConfigError) as raised:
        scenario(
            [TraceBuilder()] * 4,
            dimension(),
            collectives=Collectives(
                reductions="overlapped",
                shared_bus=SharedBus(l_ns=1, o_ns=1, g_ns=1, big_g_ns_per_byte=0.1),
            ),
        )
    assert str(raised.value) == (
        "collectives.reductions: only serial with shared_bus, which charges them itself; got "
        "overlapped"
    )
