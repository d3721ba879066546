"""Packets alone take the closed form, bytes are kept, stuck runs say why, quirks act."""

from __future__ import annotations

import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.packet_cases import ALL_QUIRKS, cases, run
from tests.packet_star import sent
from yantra import _core
from yantra.cli import main
from yantra.run import packets

CASES = cases()
BIT = {quirk.name: quirk.bit for quirk in _core.packet_quirks()}
STAR = ["--topology", "switch", "--set", "ranks=8", "--set", "bandwidth=100Gb/s"]
NEAR = [*STAR, "--set", "latency=1us", "--network", "packet"]


def _line(
    sizes: list[int], switches: int, bytes_per_ns: float, delay_ns: float, **changed: Any
) -> _core.PacketRun:
    links = switches + 1
    devices = [0, *range(2, 2 + switches), 1]
    ends = [*pairwise(devices)]
    start = [a for a, _ in ends] + [b for _, b in ends]
    end = [b for _, b in ends] + [a for a, _ in ends]
    count = 2 * links
    graph = _core.FabricGraph(
        2,
        np.array([0, 0] + [1] * switches, np.uint8),
        np.array(start, np.int32),
        np.array(end, np.int32),
        np.full(count, bytes_per_ns),
        np.full(count, delay_ns),
        np.zeros(count, np.int64),
        np.zeros(count, np.int32),
        ["link"],
        np.ones(count),
    )
    setup = _core.PacketSettings()
    setup.has_window = False
    for name, value in changed.items():
        setattr(setup, name, value)
    flows = len(sizes)
    made = _core.send_packets(
        first_hop=np.arange(flows + 1, dtype=np.uint64) * links,
        hops=np.array(list(range(links)) * flows, np.uint32),
        first_ack_hop=np.arange(flows + 1, dtype=np.uint64) * links,
        ack_hops=np.array(list(range(count - 1, links - 1, -1)) * flows, np.uint32),
        bytes=np.array(sizes, float),
        start_ns=np.zeros(flows),
        after=[2**32 - 1, *range(flows - 1)],
        delay_ns=[0.0] * flows,
        graph=graph,
        settings=setup,
    )
    assert made.run_for(2**62)
    return made


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 40_000),
    switches=st.integers(0, 7),
    gbps=st.sampled_from([10, 40, 100, 400, 800]),
    delay_ns=st.integers(20, 5_000),
    scheme=st.sampled_from(["none", "dcqcn", "dctcp"]),
)
def test_a_flow_alone_takes_the_closed_form(
    size: int, switches: int, gbps: int, delay_ns: int, scheme: str
) -> None:
    done = _line([size], switches, gbps / 8, float(delay_ns), congestion_control=scheme)
    full, last = divmod(size, 1000)
    links = switches + 1

    def sending(count: int) -> float:
        return round(8000 * count / gbps) / 1000

    t, short, ack = sending(1036), sending(last + 36) if last else 0.0, sending(48)
    waits = max(0.0, ack - short) if full and last else 0.0
    there = full * t + short + (links - 1) * (t if full else short) + links * delay_ns
    assert done.end_ns[0] == pytest.approx(there, abs=1e-6)
    back = waits + links * ack + links * delay_ns
    assert done.completed_ns[0] == pytest.approx(there + back, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(
    flows=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 60_000)).filter(
            lambda flow: flow[0] != flow[1]
        ),
        min_size=1,
        max_size=12,
    ),
    preset=st.sampled_from(sorted(packets.presets())),
    buffer=st.sampled_from([300_000, 4_000_000]),
)
def test_every_byte_arrives_under_every_preset(
    flows: list[tuple[int, int, int]], preset: str, buffer: int
) -> None:
    setup = _core.packet_settings(preset, 100.0, options={"buffer": float(buffer)})
    made = sent(8, flows, setup)
    assert made.run_for(2**62)
    assert made.stuck is None
    assert np.isfinite(np.asarray(made.completed_ns)).all()
    assert made.totals.drops == 0
    data = sum(-(-size // 1000) for *_, size in flows)
    assert made.totals.data_packets == 2 * data
    if preset.startswith("uec"):  # an ACK for several
        assert len(flows) <= made.totals.acks <= data
    else:
        assert made.totals.acks == data
        assert made.totals.packets >= 4 * data


def test_a_circle_of_full_buffers_is_named() -> None:
    stuck = run(CASES["pfc_deadlock_ring5"], "12").packets.stuck
    assert stuck is not None
    links = CASES["pfc_deadlock_ring5"]["links"]
    ends = [(a, b) for of in links for a, b in ((of["a"], of["b"]), (of["b"], of["a"]))]
    circle = [ends[link] for link in stuck.cycle]
    assert len(circle) == 5
    assert all(a[1] == b[0] for a, b in zip(circle, [*circle[1:], circle[0]], strict=True))
    assert run(CASES["pfc_deadlock_ring5"], "12", quirks=0).packets.stuck.cycle


def test_packets_lost_again_and_again_are_a_livelock() -> None:
    stuck = run(CASES["drop_headroom"], "12").packets.stuck
    assert stuck is not None
    assert (stuck.cycle, stuck.flows) == ([], 3)
    assert stuck.drops > 0
    assert stuck.dropped_on < 6


def test_a_lost_last_packet_is_found_by_a_timer_or_named() -> None:
    stuck = run(CASES["drop_tail_lost"], "12").packets.stuck
    assert stuck is not None
    assert (stuck.drops, stuck.flow, stuck.flows) == (0, 2, 1)
    assert 0 < stuck.acknowledged < stuck.bytes == CASES["drop_tail_lost"]["flows"][2]["bytes"]
    rest = ALL_QUIRKS & ~BIT["no_retransmission_timer"]
    done = run(CASES["drop_tail_lost"], "12", quirks=rest)
    assert done.packets.stuck is None
    assert None not in done.completed_ns
    assert done.packets.totals.timeouts == 1


def test_enough_head_room_drops_nothing() -> None:
    rest = ALL_QUIRKS & ~BIT["thin_headroom"]
    for quirks in (rest, 0):
        done = run(CASES["drop_headroom"], "12", quirks=quirks).packets
        assert (done.totals.drops, done.stuck) == (0, None)
        assert sum(done.ports().pauses) > 0


def test_head_rooms_above_the_buffer_are_refused_with_the_bytes_needed() -> None:
    case = CASES["pfc_incast16_100g_1mb"]
    small = {"buffer_bytes": 50_000}
    assert sum(run(case, "12", quirks=ALL_QUIRKS, **small).packets.ports().pauses) == 0
    rest = ALL_QUIRKS & ~BIT["headroom_wraps"]
    with pytest.raises(ValueError, match=r"need (\d+) for head room") as refused:
        run(case, "12", quirks=rest, **small)
    needed = int(str(refused.value).split("more than ")[1].split()[0])
    assert None not in run(case, "12", quirks=rest, buffer_bytes=needed + 8192).completed_ns


def test_the_receiver_is_late_by_the_way_of_an_ack_with_the_quirk() -> None:
    late = _line([5_000], 1, 12.5, 1_000.0, quirks=BIT["late_receiver"])
    soon = _line([5_000], 1, 12.5, 1_000.0)
    assert late.end_ns[0] == late.completed_ns[0] == soon.completed_ns[0]
    assert soon.completed_ns[0] - soon.end_ns[0] == pytest.approx(2_000 + 2 * 48 / 12.5)


def test_a_packet_takes_whole_ns_with_the_quirk() -> None:
    rounded = _line([3_000], 0, 50.0, 0.0, quirks=BIT["nanosecond_rounding"])
    exact = _line([3_000], 0, 50.0, 0.0)
    assert rounded.end_ns[0] == 3 * 21
    assert exact.end_ns[0] == pytest.approx(3 * 1036 / 50)


def test_acks_overtake_data_at_switches_too_without_the_quirk() -> None:
    incast = CASES["pfc_incast16_100g_1mb"]
    other = {"id": 16, "src": 0, "dst": 1, "path": [17], "ack_path": [17]}
    case = incast | {"flows": [*incast["flows"], incast["flows"][0] | other]}
    first = {"acks_first": True}
    rest = ALL_QUIRKS & ~BIT["acks_among_data"]
    both = [run(case, "12", quirks=quirks, **first) for quirks in (ALL_QUIRKS, rest)]
    assert both[0].completed_ns != both[1].completed_ns


def test_every_quirk_says_what_it_is() -> None:
    assert all(quirk.help for quirk in _core.packet_quirks())
    assert len(BIT) == len(set(BIT.values())) == 9
    page = (Path(__file__).resolve().parents[2] / "docs/concepts/packet-network.md").read_text()
    assert all(f"| `{q.name}` | {q.help} |" in page for q in _core.packet_quirks())
    assert all(f"`{name}`" in page for name in packets.presets())


def test_marks_and_seeds_decide_what_is_random_and_nothing_else() -> None:
    case = CASES["pfc_incast16_100g_1mb"]
    same = [run(case, "1", seed=7).completed_ns for _ in range(2)]
    assert same[0] == same[1]
    assert same[0] != run(case, "1", seed=8).completed_ns


def test_hpcc_looks_at_any_number_of_hops_without_the_quirk() -> None:
    narrow = BIT["narrow_telemetry"]
    of = {"congestion_control": "hpcc", "has_window": True, "variable_window": True}
    ends = [_line([2_000_000], 8, 12.5, 1_000.0, quirks=quirks, **of) for quirks in (0, narrow)]
    # What is not looked at is never slowed down; the longer header makes up for 8 - 5 hops of it.
    assert ends[0].end_ns[0] > ends[1].end_ns[0]


def _incast(folder: Path) -> str:
    rows = ["src,dst,bytes,start_ns", *(f"{src},0,300000,0" for src in range(1, 8))]
    (folder / "flows.csv").write_text("\n".join(rows) + "\n")
    return str(folder / "flows.csv")


def test_the_command_writes_ports_and_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ports = tmp_path / "ports.csv"
    line = ["network", "flows", _incast(tmp_path), *NEAR, "--preset", "hpcc95"]
    assert main([*line, "--ports", str(ports), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["packets"]["data_packets"] == 2 * 7 * 300
    with ports.open() as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["packets"]) for row in rows) == found["packets"]["packets"]
    assert max(int(row["queue_max_bytes"]) for row in rows) == found["packets"]["queue_max_bytes"]
    assert main(line) == 0
    assert "the longest queue had" in capsys.readouterr().out


def test_a_flow_alone_on_the_command_line_is_not_slowed_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flows.csv").write_text("src,dst,bytes\n0,1,20500\n")
    out = tmp_path / "fct.csv"
    assert main(["network", "flows", str(tmp_path / "flows.csv"), *NEAR, "-o", str(out)]) == 0
    with out.open() as file:
        assert float(next(csv.DictReader(file))["slowdown"]) == pytest.approx(1.0, rel=1e-6)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--preset", "hpcc"], "did you mean"),
        (["--packet", "bufer=1MiB"], "did you mean"),
        (["--packet", "buffer=1"], "unit"),
        (["--packet", "buffer=10kB"], "head room"),
        (["--packet", "window=zero"], "a number"),
        (["--preset", "hpcc95", "--packet", "window=0"], "needs a window"),
    ],
)
def test_settings_that_cannot_be_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    assert main(["network", "flows", _incast(tmp_path), *NEAR, *more]) == 2
    assert said in capsys.readouterr().err


def test_options_of_packets_go_with_packets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["network", "flows", _incast(tmp_path), *STAR, "--preset", "hpcc95"]
    assert main(line) == 2
    assert "goes with the network packet" in capsys.readouterr().err


def test_a_deadlock_ends_the_command_with_the_circle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fabric = tmp_path / "ring.csv"
    rows = ["from,to,bandwidth,latency"]
    for at in range(5):
        rows += [f"{at},switch{at},100Gb/s,1us", f"switch{at},switch{(at + 1) % 5},100Gb/s,1us"]
    fabric.write_text("\n".join(rows) + "\n")
    flows = [f"{at},{(at + 2) % 5},3000000" for at in range(5)]
    (tmp_path / "flows.csv").write_text("\n".join(["src,dst,bytes", *flows]) + "\n")
    line = ["network", "flows", str(tmp_path / "flows.csv"), "--topology", str(fabric)]
    packet = ["--network", "packet", "--preset", "none", "--packet", "buffer=300kB"]
    assert main([*line, *packet]) == 3
    said = capsys.readouterr().err
    assert "PFC deadlock" in said
    assert "switch0 to switch1" in said


def test_queues_and_rates_of_a_list_over_time_are_files(tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("src,dst,bytes,start_ns\n" + "".join(f"{s},0,500000,0\n" for s in (1, 2, 3)))
    queues, rates = tmp_path / "queues.csv", tmp_path / "rates.csv"
    more = ["--preset", "hpcc95", "--queues", str(queues), "--rates", str(rates)]
    assert main(["network", "flows", str(flows), *NEAR, *more, "--look-every", "1us"]) == 0
    with queues.open(newline="") as file:
        rows = list(csv.DictReader(file))
    waiting = {row["destination"] for row in rows if int(row["queue_bytes"]) > 2000}
    assert waiting == {"rank 0"}
    with rates.open(newline="") as file:
        assert {row["message"] for row in csv.DictReader(file)} == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--network", "flow", "--queues", "q.csv"], "--queues: goes with the network packet"),
        (
            ["--network", "packet", "--look-every", "1us"],
            "--look-every: goes with --queues or --rates",
        ),
        (["--network", "packet", "--queues", "q.csv", "--look-every", "5"], "needs its unit"),
    ],
)
def test_series_that_cannot_be_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str], said: str
) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("src,dst,bytes,start_ns\n1,0,500,0\n")
    assert main(["network", "flows", str(flows), *STAR, *given]) == 2
    assert said in capsys.readouterr().err


def _to_one(
    senders: int,
    scheme: str,
    size: int | list[int],
    start_ns: float | list[float] = 0.0,
    **options: float,
) -> _core.PacketRun:
    setup = _core.packet_settings(scheme, 100.0, options=options)
    setup.look = _core.PacketLook.SAMPLES
    setup.look_every_ns = 1000.0
    sizes = np.broadcast_to(size, senders).tolist()
    flows = [(source, senders, one) for source, one in enumerate(sizes)]
    made = sent(senders + 1, flows, setup, delay_ns=1000.0, start_ns=start_ns)
    assert made.run_for(2**62)
    return made


def _queue(run: _core.PacketRun, link: int, from_ns: float, to_ns: float) -> float:
    ports = run.seen().ports()
    at_ns = np.asarray(ports.at_ns)
    own = (np.asarray(ports.link) == link) & (at_ns >= from_ns) & (at_ns < to_ns)
    return float(np.asarray(ports.queue_bytes)[own].mean())


@pytest.mark.parametrize("senders", [4, 16])
def test_swift_keeps_the_delay_near_its_target_and_shares_fairly(senders: int) -> None:
    size, target_ns = 4_000_000, 10_000.0
    run = _to_one(senders, "swift", size, base_target=target_ns, flow_range=0.0)
    ends = np.asarray(run.end_ns)
    line_ns = senders * size * 1.044 / 12.5
    assert line_ns < ends.max() < 1.02 * line_ns  # throughput
    assert ends.min() > 0.85 * ends.max()  # fairness
    # 4.3 us of the target are flight; what is above waits at the one port.
    queue = _queue(run, 2 * senders + 1, 0.4 * line_ns, 0.8 * line_ns)
    assert 0.5 < (4_300 + queue / 12.5) / target_ns < 1.3


def test_swift_goes_below_a_packet_for_more_senders_than_a_target_holds() -> None:
    """A packet of each of 128 senders is 11 us at the port; a target of 6 us holds half."""
    run = _to_one(128, "swift", 200_000, base_target=6_000.0, flow_range=0.0)
    rates = np.asarray(run.seen().rates().bytes_per_ns)
    assert rates.min() < 12.5 / 64  # paced
    assert run.totals.drops == 0
    assert np.asarray(run.end_ns).max() < 1.6 * 128 * 200_000 * 1.044 / 12.5


def test_a_higher_target_leaves_a_longer_queue() -> None:
    queues = [
        _queue(_to_one(8, "swift", 2_000_000, base_target=target, flow_range=0.0), 17, 5e5, 1e6)
        for target in (8_000.0, 16_000.0, 32_000.0)
    ]
    assert queues[0] < queues[1] < queues[2]


def _lossy(scheme: str, senders: int = 8, size: int = 1_000_000, **options: float) -> Any:
    return _to_one(senders, scheme, size, pauses=0.0, buffer=200_000.0, **options)


RECOVERIES = [
    ("static_window", {"recovery": 0.0}),
    ("static_window", {"recovery": 1.0}),
    ("static_window", {"recovery": 1.0, "reordering": 3.0}),
    ("hpcc95", {"recovery": 1.0}),
    ("swift", {"recovery": 1.0}),
    ("newreno", {}),
    ("cubic", {}),
]


@pytest.mark.parametrize(("scheme", "options"), RECOVERIES)
def test_every_byte_arrives_whatever_is_lost(scheme: str, options: dict[str, float]) -> None:
    run = _lossy(scheme, **options)
    assert run.stuck is None
    assert run.totals.drops > 0
    assert np.isfinite(np.asarray(run.completed_ns)).all()
    # What was sent and not dropped was received, and of each packet at least one.
    received = run.totals.data_packets - 8 * 1000 - run.totals.drops
    assert run.totals.data_packets - run.totals.drops >= 2 * 8 * 1000
    assert received >= 8 * 1000


def test_selective_repeat_sends_again_what_was_lost_and_nothing_else() -> None:
    run = _lossy("static_window", recovery=1.0)
    messages = run.seen().messages()
    resent = int(np.asarray(messages.resent_bytes).sum())
    assert resent == run.totals.drops * 1000
    assert run.totals.data_packets == 2 * 8 * 1000 + run.totals.drops
    again = _lossy("static_window", recovery=0.0)
    assert again.totals.data_packets > 1.2 * run.totals.data_packets


def test_selective_repeat_changes_nothing_where_nothing_is_lost() -> None:
    one, other = (
        _line([1_000_000], 2, 12.5, 1000.0, recovery=recovery)
        for recovery in (_core.PacketRecovery.GO_BACK_N, _core.PacketRecovery.SELECTIVE_REPEAT)
    )
    assert one.end_ns[0] == other.end_ns[0]
    assert one.completed_ns[0] == other.completed_ns[0]


@pytest.mark.parametrize("scheme", ["newreno", "cubic"])
def test_tcp_asks_for_a_connection_and_then_begins_slowly(scheme: str) -> None:
    """Two links of 1 us at 100 Gb/s: a round trip, then one packet behind the other."""
    run = _line([1_000], 1, 12.5, 1000.0, **_settings_of(scheme))
    there, back = 2 * 1000 + 2 * 54 / 12.5, 2 * 1000 + 2 * 52 / 12.5
    assert run.end_ns[0] == pytest.approx(there + back + 2 * 1000 + 2 * 1054 / 12.5, abs=0.01)
    # 31 packets at such a round trip are windows of 10, 20 and 1: two round trips more than one.
    rtt = there + back + 2 * 1000 / 12.5
    longer = _line([31_000], 1, 12.5, 1000.0, **_settings_of(scheme))
    assert longer.end_ns[0] - run.end_ns[0] == pytest.approx(2 * rtt, abs=0.01)


def _settings_of(preset: str) -> dict[str, Any]:
    made = _core.packet_settings(preset, 100.0)
    names = ("congestion_control", "options", "has_window", "pauses", "recovery")
    return {name: getattr(made, name) for name in names}


@pytest.mark.parametrize("scheme", ["newreno", "cubic"])
@pytest.mark.parametrize("senders", [4, 16])
def test_tcp_shares_a_port_fairly_and_fills_it(scheme: str, senders: int) -> None:
    size = 60_000_000 // senders
    run = _to_one(senders, scheme, size, buffer=400_000.0, least_silence=200_000.0)
    ends = np.asarray(run.end_ns)
    rates = size / ends
    assert rates.sum() ** 2 / (senders * (rates**2).sum()) > 0.99
    assert ends.max() < 1.2 * senders * size * 1.054 / 12.5
    assert run.totals.drops > 0


def _queued(queue: str, **options: float) -> dict[str, list[float]]:
    names = [discipline.name for discipline in _core.queue_disciplines()]
    sizes = [1_000_000, 1_000_000, 1_000_000, 20_000, 20_000, 20_000]
    later = [0.0, 0.0, 0.0, 50_000.0, 50_000.0, 50_000.0]
    run = _to_one(6, "none", sizes, later, queue=float(names.index(queue)), **options)
    assert run.stuck is None
    ends = (np.asarray(run.end_ns) - later).tolist()
    return {"long": ends[:3], "short": ends[3:]}


def test_short_messages_pass_long_ones_by_strict_priority() -> None:
    plain = _queued("fifo")
    first = _queued("strict_priority", short_message=20_000.0)
    assert max(first["short"]) < 0.5 * max(plain["short"])
    assert max(first["long"]) == pytest.approx(max(plain["long"]), rel=0.01)
    # Without classes there is nothing to prefer.
    assert _queued("strict_priority") == plain


def test_messages_share_a_port_in_turn_by_deficit_round_robin() -> None:
    plain, fair = _queued("fifo"), _queued("drr")
    assert max(fair["short"]) < 0.5 * max(plain["short"])
    assert max(fair["long"]) == pytest.approx(max(plain["long"]), rel=0.01)
    assert max(fair["long"]) < 1.01 * min(fair["long"])


@pytest.mark.parametrize("weight", [2.0, 4.0])
def test_short_messages_have_the_share_of_their_weight(weight: float) -> None:
    size = 200_000
    names = [discipline.name for discipline in _core.queue_disciplines()]
    run = _to_one(
        6,
        "none",
        [1_000_000, 1_000_000, 1_000_000, size, size, size],
        queue=float(names.index("drr")),
        short_message=float(size),
        short_weight=weight,
    )
    alone_ns = 3 * size * 1.048 / 12.5  # with headers
    beyond_ns = max(run.end_ns[3:]) - alone_ns * (1 + 1 / weight)
    assert 0 < beyond_ns < 2000.0  # the two links of 1 us, less what a round takes too much


def test_a_cnp_that_comes_after_the_end_cuts_nothing() -> None:
    unmarked = _to_one(4, "dcqcn", 500_000, kmin=1e12, kmax=1e12)
    late = _to_one(4, "dcqcn", 500_000, cnp_delay=1e9)
    assert late.totals.marked_acks > 0
    assert list(late.end_ns) == list(unmarked.end_ns)


def test_the_longer_a_cnp_takes_the_longer_the_queue() -> None:
    def longest(delay_ns: float) -> float:
        run = _to_one(8, "dcqcn", 2_000_000, cnp_delay=delay_ns)
        return max(np.asarray(run.ports().queue_max_bytes).tolist())

    assert longest(0.0) < longest(20_000.0) < longest(200_000.0)


def test_the_contract_of_queue_disciplines_is_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for discipline in _core.queue_disciplines():
        assert main(["contract", "queue_discipline", discipline.name]) == 0
        assert f"{discipline.name} keeps the contract" in capsys.readouterr().out
    assert main(["contract", "queue_discipline", "fivo"]) == 2
    assert "did you mean 'fifo'" in capsys.readouterr().err


@pytest.mark.parametrize("scheme", [scheme.name for scheme in _core.schemes()])
def test_the_contract_of_congestion_controls_is_a_command(
    scheme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["contract", "congestion_control", scheme]) == 0
    assert f"{scheme} keeps the contract" in capsys.readouterr().out


def test_a_congestion_control_that_is_not_built_in_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["contract", "congestion_control", "swifd"]) == 2
    assert "did you mean 'swift'" in capsys.readouterr().err


@pytest.mark.parametrize("senders", [4, 16])
def test_nscc_shares_a_port_and_holds_a_short_queue(senders: int) -> None:
    size = 4_000_000
    run = _to_one(senders, "uec", size, buffer=4_000_000.0)
    ends = np.asarray(run.end_ns)
    line_ns = senders * size * 1.044 / 12.5
    assert ends.max() < 1.1 * line_ns  # throughput
    assert ends.min() > 0.7 * ends.max()  # fairness
    assert run.totals.drops == 0
    # The marks end at 120 kB; a round trip of four links of 1 us is 50 kB.
    assert _queue(run, 2 * senders + 1, 0.4 * line_ns, 0.8 * line_ns) < 250_000
