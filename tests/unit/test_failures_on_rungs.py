"""Failures on store_and_forward and packet, by hand. Links of 10 GB/s and 1 us: 1 MB over spine 0
takes 4 x 101 us stored whole; as 1000 packets of 1036 B, 1003 x 103.6 ns + 4 us.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import identities
from tests.unit.test_failures import MB, SPINES, _end, _write
from yantra.chakra import TraceBuilder
from yantra.result import Result
from yantra.run.simulate import run, simulate
from yantra.scenario import load

STORED_NS = 404_000.0
PACKETS_NS = 1003 * 103.6 + 4000
LAST_ACK_NS = 4 * 4.8 + 4000
PACKET = "{kind: packet, options: {window: unlimited, preset: none}}"
PACKETS = [
    *("dcqcn", "hpcc95", "timely", "dctcp", "static_window", "uec", "newreno", "cubic", "swift"),
    *("hpcc_pint",),
]


def _run(folder: Path, failures: str, network: str) -> Result:
    return simulate(load(_write(folder, failures, network=network)))


@pytest.mark.parametrize(
    ("failures", "end_ns", "rerouted", "waiting_ns", "crossed"),
    [
        # half over the link up: after 10 us whole over the other spine, from the leaf that has it
        ("[{switch: spine 0, at: 150 us}]", 463_000, 1, 10_000, 4 * MB + 490_000),
        # back before anyone knows: it goes on
        ("[{switch: spine 0, at: 150 us, for: 4 us}]", 408_000, 0, 4_000, 4 * MB),
        # the spine that is not on the way
        ("[{switch: spine 1, at: 150 us}]", 404_000, 0, 0, 4 * MB),
        # both, so it waits until they are back
        ("[{switch: spine, at: 150 us, for: 30 us}]", 434_000, 0, 30_000, 4 * MB),
        ("[{switch: spine 0, at: 50 us, for: 300 us}]", 404_000, 1, 0, 4 * MB),
        # it waits in the leaf for the first microseconds of the failure
        ("[{switch: spine 0, at: 95 us, for: 300 us}]", 408_000, 1, 4_000, 4 * MB),
        # a network card that it has not come to, and one that it crosses
        ("[{nic: 2, at: 150 us, for: 20 us}]", 404_000, 0, 0, 4 * MB),
        ("[{nic: 2, at: 350 us, for: 20 us}]", 424_000, 0, 20_000, 4 * MB),
        # all that is left is on its way when the link goes down
        ("[{nic: 2, at: 403.5 us, for: 20 us}]", 404_000, 0, 0, 4 * MB),
        # it flaps: three times down for 2 us
        (
            "[{nic: 0, at: 50 us, for: 2 us, every: 10 us, times: 3}]",
            410_000,
            0,
            6_000,
            4 * MB,
        ),
        # at half its rate, 51 us of bytes take 102
        ("[{link: [leaf 0, spine 0], at: 150 us, keeps: 0.5}]", 455_000, 0, 0, 4 * MB),
    ],
)
def test_a_stored_message_beside_a_failure_takes_what_it_takes_by_hand(
    tmp_path: Path, failures: str, end_ns: float, rerouted: int, waiting_ns: float, crossed: int
) -> None:
    result = _run(tmp_path, failures, "store_and_forward")
    told = result.disturbed
    assert told is not None
    assert _end(result) == end_ns
    assert (told.rerouted, told.waiting_ns) == (rerouted, waiting_ns)
    assert (told.lost_packets, told.without_failures_ns) == (0, STORED_NS)
    assert sum(use.bytes for use in result.dimension_uses) == crossed
    identities.hold(run(result.model, record=True))


@pytest.mark.parametrize(
    ("failures", "end_ns", "rerouted", "waiting_ns", "lost"),
    [
        # down from the first packet on: it stops after 10 us, when 97 packets are lost, and
        # begins again when the card is back
        ("[{nic: 2, at: 0 us, for: 50 us}]", 50_000 + PACKETS_NS, 0, 50_000, 97),
        # a NIC sends nothing over a port of its own that is down, after the packet on its way
        ("[{nic: 0, at: 0 us, for: 50 us}]", 50_000 + PACKETS_NS, 0, 50_000, 1),
        # at half its rate all the time
        (
            "[{link: [leaf 0, spine 0], at: 0 us, keeps: 0.5}]",
            1000 * 207.2 + 3 * 103.6 + 4000,
            0,
            0,
            0,
        ),
        # the spine that is not on the way
        ("[{switch: spine 1, at: 0 us}]", PACKETS_NS, 0, 0, 0),
        # 97 packets are lost before the others take the other spine. The NACK for the first of
        # those leaves at 97 x 103.6 + 4414.4 ns and takes 4 x 4.8 ns and 4 us, so all is sent
        # again from packet 179 on
        ("[{switch: spine 0, at: 0 us}]", 179 * 103.6 + PACKETS_NS, 1, 10_000, 97),
        # all is through before it fails
        ("[{switch: spine 0, at: 113 us}]", PACKETS_NS, 0, 0, 0),
    ],
)
def test_packets_beside_a_failure_take_what_they_take_by_hand(
    tmp_path: Path, failures: str, end_ns: float, rerouted: int, waiting_ns: float, lost: int
) -> None:
    result = _run(tmp_path, failures, PACKET)
    told = result.disturbed
    assert told is not None
    assert _end(result) == pytest.approx(end_ns, abs=0.01)
    assert (told.rerouted, told.waiting_ns) == (rerouted, waiting_ns)
    assert (told.lost_packets, told.lost_bytes) == (lost, lost * 1000)
    assert told.without_failures_ns == pytest.approx(PACKETS_NS + LAST_ACK_NS, abs=0.01)
    assert any(" lost (" in one for one in told.sentences()) == bool(lost)
    identities.hold(run(result.model, record=True))


FAILURES = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("switch: spine 0", "switch: spine", "switch: leaf 1", "nic: 0", "nic: 2"),
                *("link: [leaf 0, spine 1]", "link: [leaf 1, spine 0], keeps: 0.3"),
            ]
        ),
        st.integers(0, 200),
        st.integers(1, 80),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.parametrize("network", ["store_and_forward", *PACKETS])
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(failures=FAILURES, sizes=st.lists(st.integers(1, 600_000), min_size=4, max_size=4))
def test_whatever_fails_and_returns_every_message_arrives(
    tmp_path: Path, network: str, failures: list[tuple[str, int, int]], sizes: list[int]
) -> None:
    traces = [TraceBuilder(rank=rank) for rank in range(4)]
    for tag, size in enumerate(sizes):
        source, destination = tag, (tag + 2) % 4
        traces[source].send(destination, size, tag=tag, name=f"send {tag}")
        traces[destination].recv(source, size, tag=tag, name=f"receive {tag}")
    kind = network if network == "store_and_forward" else f"{{kind: packet, {_preset(network)}}}"
    all_of_it = ", ".join(
        f"{{{what}, at: {at} us, for: {lasts} us}}" for what, at, lasts in failures
    )
    file = _write(tmp_path, f"[{all_of_it}]", network=kind)
    for rank, trace in enumerate(traces):
        trace.build().write(str(tmp_path / f"job.{rank}.et"))
    result = simulate(load(file))
    told = result.disturbed
    assert told is not None
    carried = sum(use.bytes for use in result.dimension_uses)
    assert carried >= 4 * sum(sizes)
    if not told.rerouted and not told.lost_packets:
        assert network in PACKETS or carried == 4 * sum(sizes)
    again = run(result.model, record=True)
    assert again.makespan_ns == result.makespan_ns
    identities.hold(again)


def _preset(name: str) -> str:
    return f"options: {{preset: {name}}}"


def test_a_message_that_begins_when_all_its_ways_are_known_to_be_down_waits_for_one(
    tmp_path: Path,
) -> None:
    for network, alone in (("store_and_forward", STORED_NS), (PACKET, PACKETS_NS)):
        file = _write(tmp_path, "[{switch: spine, at: 1 us, for: 199 us}]", network=network)
        trace = TraceBuilder(rank=0)
        trace.send(2, MB, tag=0, after=[trace.compute(duration_micros=50)])
        trace.build().write(str(tmp_path / "job.0.et"))
        result = simulate(load(file))
        told = result.disturbed
        assert told is not None
        if network == PACKET:
            assert (told.lost_packets, told.waiting_ns) == (0, 150_000)
            assert _end(result) == pytest.approx(200_000 + alone, abs=0.01)
        else:  # the first link carries it meanwhile
            assert told.waiting_ns == 49_000
            assert _end(result) == 200_000 + alone - 101_000


def test_a_plane_that_fails_moves_flows_to_another_port(tmp_path: Path) -> None:
    """Planes of one leaf each: two links of 10 GB/s and 1 us."""
    planes = "{kind: multi_plane, planes: 2, ranks_per_leaf: 4, bandwidth: 10 GB/s, latency: 1 us}"
    ends = []
    for plane in (0, 1):
        failures = f"[{{switch: plane {plane} leaf 0, at: 50 us}}]"
        file = _write(tmp_path, failures, network=PACKET)
        file.write_text(file.read_text().replace(SPINES, planes))
        result = simulate(load(file))
        told = result.disturbed
        assert told is not None
        ends.append(_end(result))
        assert told.rerouted == (ends[-1] > 110_000)
        identities.hold(run(result.model, record=True))
    assert min(ends) == pytest.approx(1001 * 103.6 + 2000, abs=0.01)
    assert max(ends) > 110_000
