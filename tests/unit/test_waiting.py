"""Waiting is not communication, against numbers worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clusters import GB_PER_S, LATENCY_NS, dimension, scenario
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.result import Result
from yantra.run.simulate import simulate
from yantra.scenario import Collectives

SIZE = 100_000
ARRIVES_NS = LATENCY_NS + SIZE / GB_PER_S
MICROS = 7


def _parts(result: Result, rank: int) -> dict[str, float]:
    table = result.ranks
    parts = ("compute", "exposed_communication", "waiting", "idle", "communication", "overlap")
    return {part: table.values(f"{part}_ns")[rank] for part in parts}


def _run(sender: TraceBuilder, receiver: TraceBuilder, **options: Any) -> Result:
    other = TraceBuilder()
    other.compute(duration_micros=1)
    return simulate(scenario([sender, receiver, other, other], dimension(), **options))


@pytest.mark.parametrize("network", ["congestion_unaware", "congestion_aware"])
def test_a_receive_waits_until_its_message_is_sent(network: str) -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    kernel = sender.compute(duration_micros=MICROS)
    sender.send(1, SIZE, after=kernel)
    receiver.recv(0, SIZE)
    result = _run(sender, receiver, network=network)
    parts = _parts(result, 1)
    assert parts["waiting"] == 1000 * MICROS
    assert parts["exposed_communication"] == pytest.approx(ARRIVES_NS, abs=0.001)
    assert parts["communication"] == parts["exposed_communication"]
    assert result.finish_ns[1] == pytest.approx(1000 * MICROS + ARRIVES_NS)


def test_a_receive_that_is_posted_after_its_message_was_sent_never_waits() -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    sender.send(1, SIZE)
    kernel = receiver.compute(duration_micros=1)
    receiver.recv(0, SIZE, after=kernel)
    parts = _parts(_run(sender, receiver), 1)
    assert parts["waiting"] == 0
    assert parts["exposed_communication"] == pytest.approx(ARRIVES_NS - 1000, abs=0.001)


def test_with_rendezvous_a_send_waits_for_its_receiver() -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    sender.send(1, SIZE)
    kernel = receiver.compute(duration_micros=MICROS)
    receiver.recv(0, SIZE, after=kernel)
    result = _run(sender, receiver, collectives=Collectives(rendezvous=True))
    control_ns = LATENCY_NS + 8192 / GB_PER_S
    assert _parts(result, 0)["waiting"] == pytest.approx(1000 * MICROS + control_ns, abs=0.001)
    assert _parts(result, 1)["waiting"] == pytest.approx(control_ns, abs=0.001)


def test_what_a_kernel_hides_is_no_waiting() -> None:
    sender, receiver = TraceBuilder(), TraceBuilder()
    kernel = sender.compute(duration_micros=MICROS)
    sender.send(1, SIZE, after=kernel)
    receiver.recv(0, SIZE)
    receiver.compute(duration_micros=MICROS - 2)
    parts = _parts(_run(sender, receiver), 1)
    assert (parts["compute"], parts["waiting"]) == (1000 * (MICROS - 2), 2000)
    assert parts["overlap"] == 0


def test_a_collective_waits_for_its_last_member() -> None:
    traces = []
    for rank in range(4):
        trace = TraceBuilder(rank=rank)
        kernel = trace.compute(duration_micros=1 + 2 * rank)
        trace.collective(CollectiveType.ALL_REDUCE, SIZE, after=kernel)
        traces.append(trace)
    result = simulate(scenario(traces, dimension()))
    assert [_parts(result, rank)["waiting"] for rank in range(4)] == [6000, 4000, 2000, 0]


def test_the_second_collective_of_a_group_waits_for_the_second_of_the_late_member() -> None:
    traces = []
    for rank in range(4):
        trace = TraceBuilder(rank=rank)
        first = trace.collective(CollectiveType.ALL_GATHER, SIZE)
        kernel = trace.compute(duration_micros=5 if rank == 2 else 1, after=first)
        trace.collective(CollectiveType.ALL_REDUCE, SIZE, after=kernel)
        traces.append(trace)
    result = simulate(scenario(traces, dimension()))
    assert [_parts(result, rank)["waiting"] for rank in range(4)] == [4000, 4000, 0, 4000]
