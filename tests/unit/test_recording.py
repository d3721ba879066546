"""What a recorded run holds, worked by hand."""

from __future__ import annotations

import pytest

from tests.cases import ALL_REDUCE, cluster, collectives, scenario
from yantra.base.errors import ConfigError, UnsupportedError
from yantra.chakra import TraceBuilder
from yantra.compile import compile
from yantra.result import Result, Step
from yantra.run.simulate import run, simulate
from yantra.scenario import Scenario


def recorded(made: Scenario) -> Result:
    return simulate(made, record=True)


def pair(trace: TraceBuilder, rank: int) -> None:
    """Rank 0 computes for 3 us and sends 1000 bytes, which rank 1 has waited for since 1 us."""
    work = trace.compute("work", duration_micros=3 if rank == 0 else 1)
    if rank == 0:
        trace.send(1, 1000, name="out", after=work)
    else:
        trace.recv(0, 1000, name="in", after=work)


ALONE = scenario(cluster(("ring", 2, 10.0, 50.0)), pair)


def test_the_path_goes_from_the_kernel_over_the_message_to_the_receive() -> None:
    path = recorded(ALONE).critical_path
    assert path.steps == (
        Step("compute", 0, 0, "work", 0, 3000, None, None),
        Step("latency", 0, 1, "out", 3000, 3050, 1, 0),
        Step("wire", 0, 1, "out", 3050, 3150, 1, 0),
    )
    assert path.length_ns == 3150
    assert {kind: ns for kind, ns in path.by_kind().items() if ns} == {
        "compute": 3000,
        "latency": 50,
        "wire": 100,
    }


def test_the_other_kernel_has_until_the_message_comes() -> None:
    nodes = recorded(ALONE).nodes
    slack = dict(
        zip(
            zip(nodes.values("rank"), nodes.values("id"), strict=True),
            nodes.values("slack_ns"),
            strict=True,
        )
    )
    assert slack == {(0, 0): 0, (0, 1): 50, (1, 0): 2150, (1, 1): 0}


def test_a_message_says_who_sent_it_when_and_to_which_node() -> None:
    messages = recorded(ALONE).recording.messages
    assert list(messages.rows()) == [(0, 1, 0, 1000, 0, 3000, 3150, 0, 1, 1, 1)]
    assert messages.columns[3:7] == ("bytes", "dimension", "sent_ns", "arrived_ns")


def test_a_receive_waited_for_what_its_sender_did() -> None:
    steps = recorded(ALONE).recording.waited_for(1, 1)
    assert [(step.kind, step.start_ns, step.end_ns) for step in steps] == [
        ("compute", 1000, 3000),
        ("latency", 3000, 3050),
        ("wire", 3050, 3150),
    ]


def test_use_over_time_counts_bytes_while_they_cross() -> None:
    table = recorded(ALONE).recording.utilisation(63)
    used = [row for row in table.rows() if row[3]]
    assert used == [(0, 3050, 3100, 500, 0.5), (0, 3100, 3150, 500, 0.5)]


def two_into_one(trace: TraceBuilder, rank: int) -> None:
    if rank == 2:
        trace.recv(0, 1000, name="from 0")
        trace.recv(1, 1000, name="from 1")
    else:
        trace.send(2, 1000, name="out")


def test_the_second_message_over_a_link_queues_for_the_first() -> None:
    made = scenario(cluster(("switch", 3, 10.0, 50.0)), two_into_one, network="store_and_forward")
    result = recorded(made)
    messages = result.recording.messages
    assert messages.values("queued_ns") == [0, 100]
    assert messages.values("arrived_ns") == [300, 400]
    assert [(step.kind, step.rank, step.end_ns) for step in result.critical_path.steps] == [
        ("latency", 0, 50),
        ("wire", 0, 150),
        ("queued", 0, 250),
        ("latency", 1, 300),
        ("wire", 1, 400),
    ]
    down = [row for row in result.recording.link_utilisation(4).rows() if row[1] is None]
    assert [row[5] for row in down] == [0, 500, 1000, 500]


def test_a_straggler_makes_the_others_wait_for_peers() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        work = trace.compute(duration_micros=105 if rank == 3 else 5)
        trace.collective(ALL_REDUCE, 1 << 20, after=work)

    made = scenario(
        cluster(("ring", 4, 50.0, 500.0)), write, collectives=collectives(endpoint_delay_ns=10)
    )
    result, block = recorded(made), (1 << 20) / 4 / 50
    assert result.makespan_ns == 105_000 + 6 * (500 + block) + 7 * 10
    table = result.collectives
    assert table.values("waiting_peers_ns") == [100_000, 100_000, 100_000, 0]
    names = ("queued", "latency", "wire", "hand_over", "reducing")
    parts = [table.values(f"{name}_ns") for name in names]
    # What the others sent is there. Its own six blocks leave by one link, each behind the last,
    # from its first hand-over on; two more hand-overs of its end come after what it waits for.
    assert [column[3] for column in parts] == [0, 2000, 6 * block - 2 * 10, 70, 0]


def test_a_run_that_was_not_recorded_says_how_to() -> None:
    result = simulate(ALONE)
    assert not result.recorded
    assert "slack_ns" not in result.nodes.columns
    with pytest.raises(UnsupportedError, match="record=True"):
        _ = result.critical_path


def test_a_recording_that_takes_too_much_memory_is_refused() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.collective(ALL_REDUCE, 1 << 20)

    model = compile(scenario(cluster(("ring", 64, 50.0, 500.0)), write))
    chunky = compile(
        scenario(cluster(("ring", 64, 50.0, 500.0)), write, collectives=collectives(chunks=64))
    )
    assert run(model, fold="off", record=1 << 20).recorded
    with pytest.raises(UnsupportedError, match="record fewer ranks"):
        run(chunky, fold="off", record=1 << 20)


@pytest.mark.parametrize(("rank", "node", "said"), [(7, 0, "no rank 7"), (0, 9, "no node 9")])
def test_what_does_not_exist_waited_for_nothing(rank: int, node: int, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        recorded(ALONE).recording.waited_for(rank, node)


def test_no_bins_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        recorded(ALONE).recording.utilisation(0)


def test_overlap_is_communication_under_a_kernel() -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        trace.compute(duration_micros=1)
        pair(trace, rank)

    ranks = simulate(scenario(cluster(("ring", 2, 10.0, 50.0)), write)).ranks
    total, exposed = ranks.values("communication_ns"), ranks.values("exposed_communication_ns")
    overlap = ranks.values("overlap_ns")
    assert [a - b for a, b in zip(total, exposed, strict=True)] == overlap


@pytest.mark.parametrize("late", [0, 3])
def test_every_message_names_its_receiver_even_if_that_came_late(late: int) -> None:
    def write(trace: TraceBuilder, rank: int) -> None:
        work = trace.compute(duration_micros=900 if rank == late else 1)
        trace.collective(ALL_REDUCE, 4000, after=work)

    messages = recorded(scenario(cluster(("ring", 4, 10.0, 50.0)), write)).recording.messages
    assert len(messages)
    assert set(messages.values("peer_node")) == {1}
