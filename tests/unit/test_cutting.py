"""The closed form that cuts collectives is what a run takes where nothing waits in other ways."""

from __future__ import annotations

import pytest

from yantra.chakra import CollectiveType, TraceBuilder
from yantra.collectives import find
from yantra.collectives.in_nodes import stages
from yantra.collectives.lower import lower
from yantra.collectives.schedule import Kind
from yantra.compile.cutting import cost_of, crossed, phase, time_ns
from yantra.run.simulate import simulate
from yantra.scenario import Collectives, Dimension, Scenario, Topology, Traces

RANKS = 8


@pytest.mark.parametrize("size", [1 << 13, 1 << 20, 1 << 27])
@pytest.mark.parametrize(
    ("fabric", "algorithm"),
    [
        ("ring", "ring"),
        ("switch", "ring"),
        ("switch", "halving_doubling"),
        ("fully_connected", "direct"),
    ],
)
def test_one_chunk_on_one_level_takes_the_closed_form(
    fabric: str, algorithm: str, size: int
) -> None:
    level = Dimension(kind=fabric, size=RANKS, bytes_per_ns=50.0, latency_ns=700.0)
    chosen = Collectives(all_reduce=(algorithm,), reductions="overlapped", chunks=1)
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, size)
    result = simulate(
        Scenario(
            workload=Traces(traces=(trace.build(),) * RANKS),
            topology=Topology(dimensions=(level,)),
            collectives=chosen,
        )
    )
    program = lower(find(algorithm).schedule(Kind.ALL_REDUCE, RANKS))
    way = crossed(level, chosen.endpoint_delay_ns)
    expected = time_ns([[phase(cost_of(program), way, 0, 1.0, alike=True)]], size, 1)
    assert float(result.finish_ns[0]) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("kind", "messages"),
    [(Kind.BROADCAST, 0), (Kind.GATHER, 0), (Kind.REDUCE, 1), (Kind.ALL_REDUCE, 1)],
)
def test_a_member_waits_for_messages_that_go_round_alone(kind: Kind, messages: int) -> None:
    """In the first stage over nodes of four, chains and stars are ahead by chunks."""
    made = stages(kind, ((0, 1, 2, 3), (4, 5, 6, 7)))
    assert made is not None
    assert cost_of(lower(made.part(0))).wait == messages


def test_what_goes_round_a_node_is_waited_for_message_by_message() -> None:
    made = stages(Kind.ALL_GATHER, ((0, 1, 2, 3), (4, 5, 6, 7)))
    assert made is not None
    assert cost_of(lower(made.part(2))).wait == 3
