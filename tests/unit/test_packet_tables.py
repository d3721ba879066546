"""What packets record adds up, holds at every sample, and changes no time."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.golden.packet_cases import cases, run
from tests.reports import packets, uneven
from yantra import _core, load_result
from yantra.chakra import TraceBuilder
from yantra.cli import main
from yantra.export.report import html
from yantra.export.report import packets as report_packets
from yantra.export.report.run import Run
from yantra.result import Result
from yantra.result.packets import _or_none
from yantra.result.table_names import PACKET_TABLES
from yantra.run.simulate import simulate
from yantra.scenario import Scenario, load

RANKS = 8
SENDS = 16  # of each to one, so that there are queues, marks and rates
CASES = cases()


def _scenario(folder: Path, options: str = "", size: int = 400_000) -> Scenario:
    for rank in range(RANKS):
        trace = TraceBuilder(rank=rank)
        for tag in range(SENDS):
            if rank:
                trace.send(0, size, tag=tag)
            else:
                for source in range(1, RANKS):
                    trace.recv(source, size, tag=tag)
        (folder / f"step.{rank}.et").write_bytes(trace.build().to_bytes())
    path = folder / "step.yaml"
    path.write_text(
        'workload: {traces: "step.{rank}.et"}\n'
        "cluster:\n"
        f"  topology: [{{kind: switch, size: {RANKS}, bandwidth: 100 Gb/s, latency: 500 ns}}]\n"
        f"network: {{kind: packet, options: {{{options}}}}}\n"
    )
    return load(path)


def _result(folder: Path, options: str = "") -> Result:
    return simulate(_scenario(folder, options))


@pytest.fixture(scope="module", params=["preset: dcqcn", "preset: hpcc95, look_every: 1 us"])
def result(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Result:
    return _result(tmp_path_factory.mktemp("incast"), request.param)


def test_looking_changes_no_time(tmp_path: Path) -> None:
    found = [
        _result(tmp_path, f"preset: dcqcn, look: {look}")
        for look in ("nothing", "samples", "changes")
    ]
    assert len({one.makespan_ns for one in found}) == 1
    assert len({tuple(one.packets.ports.values("bytes")) for one in found}) == 1
    assert [len(one.packets.messages) > 0 for one in found] == [False, True, True]
    assert min(len(one.packets.queues) for one in found[1:]) > 0
    assert [one.packets.every_ns for one in found[::2]] == [None, 0]


def test_every_message_is_there_and_as_slow_as_alone_at_least(result: Result) -> None:
    table = result.packets.messages
    assert len(table) == result.messages == (RANKS - 1) * SENDS
    assert set(table.values("receiver")) == {0}
    assert set(table.values("bytes")) == {400_000}
    assert (table["slowdown"] >= 1 - 1e-12).all()
    assert (table["acknowledged_ns"] > table["arrived_ns"]).all()
    assert table["acknowledged_ns"].max() == result.makespan_ns  # then a send is over


def test_the_last_row_of_a_port_is_what_it_did_in_all(result: Result) -> None:
    ports, queues = result.packets.ports, result.packets.queues
    last = {row[0]: row for row in queues.rows()}
    for link, _, _, _, _, size, _, _, paused, marks, drops, _ in ports.rows():
        _, _, _, _, _, queue, sent, _, paused_then, marks_then, drops_then = last[link]
        assert (sent, marks_then, drops_then) == (size, marks, drops)
        assert paused_then == pytest.approx(paused)
        assert queue == 0


def test_samples_are_at_multiples_and_no_queue_is_longer_than_the_longest(result: Result) -> None:
    queues = result.packets.queues
    every, ends = result.packets.every_ns, {}
    assert every is not None
    most = dict(zip(*map(result.packets.ports.values, ("link", "queue_max_bytes")), strict=True))
    for link, at_ns, size in zip(
        *(queues.values(name) for name in ("link", "at_ns", "queue_bytes")), strict=True
    ):
        assert size <= most[link]
        assert ends.get(link, -1) <= at_ns
        ends[link] = at_ns
    at_ns = queues["at_ns"]
    ragged = (np.abs(at_ns / every - np.round(at_ns / every)) > 1e-9).sum()
    assert ragged <= len(result.packets.ports)  # the last of each port


def test_the_bottleneck_has_the_longest_queue(result: Result) -> None:
    summary = result.packet_summary
    assert summary is not None
    assert summary["longest_queue"].endswith("to rank 0 (dimension 0)")
    assert summary["queue_max_bytes"] == max(result.packets.ports.values("queue_max_bytes"))
    assert summary["longest_queue"] in " ".join(result.summary().split())


def test_rates_are_of_the_messages_and_not_above_the_line(result: Result) -> None:
    rates, sent = result.packets.rates, result.packets.messages
    assert len(rates) > 0
    assert rates["bytes_per_ns"].max() <= 12.5
    assert rates["bytes_per_ns"].min() < 12.5 / 2  # seven share a link
    start, end = sent["start_ns"][rates["message"]], sent["acknowledged_ns"][rates["message"]]
    assert (rates["at_ns"] >= start).all()
    assert (rates["at_ns"] <= end).all()


def test_slowdowns_are_the_percentiles_of_messages(result: Result) -> None:
    table, sent = result.packets.slowdowns, result.packets.messages
    assert table.values("from_bytes") == [100_000, None]
    assert table.values("messages") == [len(sent)] * 2
    for percentile in (50, 95, 99):
        expected = np.percentile(sent["slowdown"], percentile)
        assert table.values(f"slowdown_p{percentile}") == pytest.approx([expected] * 2)


def test_a_result_file_has_the_tables_and_gives_them_back(result: Result, tmp_path: Path) -> None:
    result.to_json(tmp_path / "r.json")
    stored = load_result(tmp_path / "r.json")
    assert set(PACKET_TABLES) < set(stored.tables)
    for name in PACKET_TABLES:
        assert list(stored.table(name).rows()) == list(result.table(name).rows())
    assert stored.packet_summary == result.packet_summary
    assert stored.summary() == result.summary()


def test_the_command_writes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _scenario(tmp_path, "preset: dcqcn")
    step, out = str(tmp_path / "step.yaml"), str(tmp_path / "q.csv")
    assert main(["run", step, "--csv", out, "--table", "packet_queues"]) == 0
    assert "packets crossed a link" in capsys.readouterr().out
    with open(out, newline="") as file:
        head, *_ = csv.reader(file)
    assert head[:5] == ["link", "label", "source", "destination", "at_ns"]
    assert main(["run", step, "--json"]) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["packets"]["packets"] == sum(form["tables"]["packet_ports"]["packets"])


def test_a_command_that_writes_nothing_keeps_nothing_over_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _scenario(tmp_path, "preset: dcqcn")
    step, out = str(tmp_path / "step.yaml"), tmp_path / "out.json"

    def shown(*more: str) -> str:
        assert main(["run", step, *more]) == 0
        return capsys.readouterr().out

    plain = shown()
    assert "look nothing" in plain
    for more in (("-o", str(out)), ("--set", "network.look=samples")):
        kept = shown(*more)
        assert "look nothing" not in kept
        assert kept.splitlines()[2:5] == plain.splitlines()[2:5]  # the times
    assert load_result(out).table("packet_queues").values("at_ns")


def test_a_run_without_packets_counts_none(tmp_path: Path) -> None:
    scenario = _scenario(tmp_path, "preset: dcqcn")
    for rank in range(RANKS):
        trace = TraceBuilder(rank=rank)
        trace.compute(duration_micros=1)
        (tmp_path / f"step.{rank}.et").write_bytes(trace.build().to_bytes())
    summary = simulate(scenario).packets.summary()
    assert summary is not None
    assert [one for one in summary.values() if one] == []
    assert "longest_queue" not in summary


def test_what_is_not_known_is_none_and_no_nan() -> None:
    assert _or_none(np.array([1.5, 2.0])) == [1.5, 2.0]
    assert _or_none(np.array([np.nan, 2.0, np.nan])) == [None, 2.0, None]
    assert _or_none(np.array([])) == []


def test_other_networks_have_none(tmp_path: Path) -> None:
    result = simulate(_scenario(tmp_path).replace(network="flow"))
    assert result.packet_summary is None
    assert [len(result.table(name)) for name in PACKET_TABLES] == [0] * len(PACKET_TABLES)


@pytest.mark.parametrize(
    ("name", "mode"), [("incast4_400g_step", "3"), ("bottleneck3_unequal", "1")]
)
def test_samples_without_events_are_those_with_events(name: str, mode: str) -> None:
    case, every = CASES[name], 2_503.0
    *port, _ = max(case["results"][mode]["queue_max_bytes"], key=lambda row: row[2])
    looked: dict[str, Any] = {"look": _core.PacketLook.SAMPLES, "look_every_ns": every}
    found = run(case, mode, sampled={"port": tuple(port), "every_ns": every}, **looked)
    rows = found.packets.seen().ports()
    own = np.flatnonzero(np.asarray(rows.link) == found.link[port[0], port[1]])
    at_ns, size = np.asarray(rows.at_ns)[own], np.asarray(rows.queue_bytes)[own]
    samples = list(found.packets.samples)
    times = every * np.arange(1, len(samples) + 1)
    row = np.searchsorted(at_ns, times, side="right") - 1
    assert np.where(row < 0, 0, size[np.maximum(row, 0)]).tolist() == samples
    assert max(samples) > 0


def test_the_report_shows_queues_rates_slowdowns_and_ports() -> None:
    text = html(packets())
    for said in ("Queues over time", "Rates over time", "Slowdown of messages by size", "Ports"):
        assert said in text
    run_of = Run(packets())
    data = report_packets.as_data(run_of)
    assert data is not None
    assert data["queues"][0].endswith("to rank 0 (dimension 0)")
    assert len(data["rates"]) == 3
    directory = run_of.columns.directory()
    assert directory["packet.queue0.ns"][1] == directory["packet.queue0.value"][1] > 2


def test_the_report_of_another_network_has_no_packets() -> None:
    assert report_packets.as_data(Run(uneven())) is None
    assert "Queues over time" not in html(uneven())


def test_the_report_says_where_nothing_was_looked_at(tmp_path: Path) -> None:
    text = html(_result(tmp_path, "look: nothing"))
    assert "look: nothing" in text
    assert "Queues over time" not in text


def test_a_recorded_run_says_what_crossed_each_link(tmp_path: Path) -> None:
    plain = _result(tmp_path, "preset: dcqcn")
    result = simulate(_scenario(tmp_path, "preset: dcqcn"), record=True)
    assert result.makespan_ns == plain.makespan_ns
    flows, carried = result.recording.link_flows, result.links.values("bytes")
    sums = np.bincount(flows["link"], flows["bytes"], len(carried))
    assert sums.tolist() == carried
    to_rank = [name.destination == "rank 0" for name in result.packets.names]
    assert sums[to_rank].tolist() == [(RANKS - 1) * SENDS * 400_000]
    assert (flows["start_ns"] < flows["end_ns"]).all()
    rates = result.recording.link_rates
    assert rates["utilisation"].max() <= 1000 / 1036 + 1e-9  # the rest is headers
    path = result.critical_path.table()
    assert path.values("end_ns")[-1] == result.makespan_ns
