"""The files of ASTRA-sim's ns-3 front end: a ring takes its closed form
(docs/concepts/packet-network.md, docs/internals/ARCHITECTURE.md): 15 hand-overs of 10 ns, 14
messages and 7 reductions of 1,965 ns a chunk.
"""

from __future__ import annotations

import contextlib
import io
import json
from bisect import bisect_left
from pathlib import Path
from typing import Any

import pytest

from tests.cases import ASTRA_SIM_SYSTEM
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main

CONFIG: dict[str, str] = {
    "ENABLE_QCN": "1",
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "PACKET_PAYLOAD_SIZE": "1000",
    "TOPOLOGY_FILE": "topology.txt",
    "CC_MODE": "12",
    "ALPHA_RESUME_INTERVAL": "1",
    "RATE_DECREASE_INTERVAL": "4",
    "CLAMP_TARGET_RATE": "0",
    "RP_TIMER": "900",
    "EWMA_GAIN": "0.00390625",
    "FAST_RECOVERY_TIMES": "1",
    "RATE_AI": "50Mb/s",
    "RATE_HAI": "100Mb/s",
    "MIN_RATE": "100Mb/s",
    "DCTCP_RATE_AI": "1000Mb/s",
    "ERROR_RATE_PER_LINK": "0.0000",
    "L2_CHUNK_SIZE": "4000",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "HAS_WIN": "1",
    "GLOBAL_T": "0",
    "VAR_WIN": "1",
    "FAST_REACT": "1",
    "U_TARGET": "0.95",
    "MI_THRESH": "0",
    "INT_MULTI": "1",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "RATE_BOUND": "1",
    "ACK_HIGH_PRIO": "0",
    "LINK_DOWN": "0 0 0",
    "KMAX_MAP": "2 100000000000 1600 400000000000 3200",
    "KMIN_MAP": "2 100000000000 400 400000000000 800",
    "PMAX_MAP": "2 100000000000 0.2 400000000000 0.2",
    "BUFFER_SIZE": "32",
}
SIZE = 2**20
PACKET = 1036  # bytes, with headers
CHUNKS, MESSAGES, HAND_OVERS, REDUCTIONS = 4, 14, 15, 7


def _files(folder: Path, changed: dict[str, str | None], rate: str, delay: str) -> list[str]:
    keys = {key: value for key, value in (CONFIG | changed).items() if value is not None}
    cables = "".join(f"{host} 8 {rate} {delay} 0\n" for host in range(8))
    (folder / "config.txt").write_text("".join(f"{key} {value}\n" for key, value in keys.items()))
    (folder / "topology.txt").write_text(f"9 1 8\n8\n{cables}")
    return files_of_a_star(folder, hosts=8, size=SIZE)


def files_of_a_star(folder: Path, *, hosts: int, size: int) -> list[str]:
    trace = TraceBuilder()
    trace.collective(CollectiveType.ALL_REDUCE, size)
    for rank in range(hosts):
        (folder / f"step.{rank}.et").write_bytes(trace.build().to_bytes())
    texts = {
        "logical.json": json.dumps({"logical-dims": [str(hosts)]}),
        "memory.json": '{"memory-type": "NO_MEMORY_EXPANSION"}',
        "system.json": json.dumps(ASTRA_SIM_SYSTEM),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [
        "astra-sim",
        "--workload-configuration=step",
        "--system-configuration=system.json",
        "--network-configuration=config.txt",
        "--remote-memory-configuration=memory.json",
        "--logical-topology-configuration=logical.json",
        "--comm-group-configuration=empty",
    ]


def _run(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any] | None = None,
    rate: str = "400Gbps",
    delay: str = "0.0005ms",
) -> int:
    monkeypatch.chdir(folder)
    return main(_files(folder, changed or {}, rate, delay))


def _message(gbps: int, delay: int, header: int = 36, ack: int = 48) -> int:
    def took(size: int) -> int:
        return round(8 * size / gbps)

    full, rest = divmod(SIZE // CHUNKS // 8, 1000)
    last = took(rest + header)
    flight = 2 * delay
    return (full + 1) * took(1000 + header) + last + 2 * (flight + took(ack))


@pytest.mark.parametrize(("rate", "gbps"), [("400Gbps", 400), ("100000000000", 100)])
@pytest.mark.parametrize(
    ("mode", "header", "ack"), [("1", 36, 48), ("3", 78, 76), ("8", 36, 48), ("12", 36, 48)]
)
def test_a_ring_takes_the_closed_form(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rate: str,
    gbps: int,
    mode: str,
    header: int,
    ack: int,
) -> None:
    # A window of all the network could hold, so that no message waits for it.
    unbound = {"CC_MODE": mode, "HAS_WIN": "1" if mode == "3" else "0"}
    delay = {400: "0.0005ms", 100: "0.002ms"}[gbps]
    assert _run(tmp_path, monkeypatch, unbound, rate, delay) == 0
    message = _message(gbps, {400: 500, 100: 2000}[gbps], header, ack)
    expected = CHUNKS * (HAND_OVERS * 10 + MESSAGES * message + REDUCTIONS * 1965)
    told = capsys.readouterr().out
    assert f"sys[7] finished, {expected} cycles" in told


def test_its_lines_come_first_and_none_after_the_last_rank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(tmp_path, monkeypatch) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[:2] == ["ASTRA-sim + NS3", "There are 8 npus: 8,"]
    assert lines[-1].endswith("sys[7], Comm time: 207436")
    assert captured.err == ""


def test_all_flows_may_have_the_largest_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With hosts 500 ns apart but for one, which is 50 us away, a window for that limits nobody."""
    options = _files(tmp_path, {}, "400Gbps", "0.0005ms")
    monkeypatch.chdir(tmp_path)
    text = (
        (tmp_path / "topology.txt")
        .read_text()
        .replace("0 8 400Gbps 0.0005ms", "0 8 400Gbps 0.05ms")
    )
    (tmp_path / "topology.txt").write_text(text)
    assert main([*options, "--json"]) == 0
    own = json.loads(capsys.readouterr().out)["scenario"]["network"]["options"]
    assert "window_bytes" not in own
    config = (tmp_path / "config.txt").read_text().replace("GLOBAL_T 0", "GLOBAL_T 1")
    (tmp_path / "config.txt").write_text(config)
    assert main([*options, "--json"]) == 0
    one = json.loads(capsys.readouterr().out)["scenario"]["network"]["options"]
    # 2 (50,000 + 500) ns and two payloads of 20 ns, at 50 bytes per ns
    assert (one["base_rtt"], one["window_bytes"]) == ("101040 ns", "5.052 MB")


@pytest.mark.parametrize(
    ("changed", "status", "said"),
    [
        ({"CC_MODE": "2"}, 2, "config.txt: CC_MODE: expected one of 1 (dcqcn)"),
        ({"TOPOLOGY_FILE": None}, 2, "TOPOLOGY_FILE: missing"),
        ({"TOPOLOGY_FILE": "other.txt"}, 2, "other.txt"),
        ({"RATE_AI": "50furlongs"}, 2, "RATE_AI"),
        ({"RATE_AI": None}, 2, "RATE_AI: missing"),
        ({"CC_MODE": "1", "RP_TIMER": "0"}, 2, "RP_TIMER"),
        ({"HAS_WIN": "yes"}, 2, "HAS_WIN: expected"),
        ({"KMIN_MAP": "1 100000000000 400"}, 2, "KMIN_MAP: has no entry for 400000000000 bit/s"),
        ({"KMIN_MAP": "9 100000000000 400"}, 2, "KMIN_MAP"),
        ({"CC_MODE": "3", "HAS_WIN": "0"}, 2, "hpcc needs a window"),
        ({"ERROR_RATE_PER_LINK": "0.1"}, 3, "ERROR_RATE_PER_LINK: not modelled"),
        ({"L2_BACK_TO_ZERO": "1"}, 3, "L2_BACK_TO_ZERO: not modelled"),
        ({"L2_ACK_INTERVAL": "5000"}, 3, "L2_ACK_INTERVAL: ACKs of more than one packet"),
        ({"LINK_DOWN": "10 0 8"}, 3, "LINK_DOWN"),
    ],
)
def test_what_is_wrong_or_not_modelled_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, Any],
    status: int,
    said: str,
) -> None:
    assert _run(tmp_path, monkeypatch, changed) == status
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"KMIN_MAPP": "1"}, "KMIN_MAPP: unknown key, ignored as ASTRA-sim does; did you mean"),
        ({"TRACE_OUTPUT_FILE": "mix.tr"}, "TRACE_OUTPUT_FILE: not written, as its records"),
        ({"QLEN_MON_FILE": "mix/qlen.txt"}, "QLEN_MON_FILE: mix/qlen.txt is not written"),
        ({"USE_DYNAMIC_PFC_THRESHOLD": "0"}, "has no effect, as in ASTRA-sim"),
    ],
)
def test_what_changes_nothing_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, Any],
    said: str,
) -> None:
    assert _run(tmp_path, monkeypatch, changed) == 0
    assert said in capsys.readouterr().err


def test_completed_messages_are_written_as_scripts_of_the_fork_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _run(tmp_path, monkeypatch, {"FCT_OUTPUT_FILE": "fct.txt"}) == 0
    rows = [line.split() for line in (tmp_path / "fct.txt").read_text().splitlines()]
    assert len(rows) == 8 * CHUNKS * MESSAGES
    size = SIZE // CHUNKS // 8
    per_pair: dict[tuple[str, str], list[int]] = {}
    ends = []
    for source, destination, port, to, count, start, took, alone in rows:
        here, there = (int(address, 16) - 0x0B000001 for address in (source, destination))
        assert (there >> 8) == ((here >> 8) + 1) % 8 or (here >> 8) == ((there >> 8) + 1) % 8
        assert (to, int(count), int(took)) == ("100", size, _message(400, 500))
        # Two links of 500 ns, 20 ns of a payload on each, and the bytes with headers at 50 B/ns.
        assert int(alone) == 2 * 1000 + 2 * 20 + (size + 36 * (size // 1000 + 1)) * 8 // 400
        per_pair.setdefault((source, destination), []).append(int(port))
        ends.append(int(start) + int(took))
    assert ends == sorted(ends)
    assert all(
        ports == list(range(10_000, 10_000 + CHUNKS * MESSAGES)) for ports in per_pair.values()
    )


def _incast(folder: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str | None]) -> Any:
    without: dict[str, str | None] = {"HAS_WIN": "0", "VAR_WIN": "0", "BUFFER_SIZE": "2"}
    options = _files(folder, without | changed, "400Gbps", "0.0005ms")
    receiver = TraceBuilder(rank=0)
    for rank in range(1, 8):
        receiver.recv(rank, 2 * SIZE, tag=rank)
        sender = TraceBuilder(rank=rank)
        sender.send(0, 2 * SIZE, tag=rank)
        (folder / f"step.{rank}.et").write_bytes(sender.build().to_bytes())
    (folder / "step.0.et").write_bytes(receiver.build().to_bytes())
    monkeypatch.chdir(folder)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        assert main([*options, "--json"]) == 0
    return json.loads(told.getvalue())["tables"]


def test_pauses_are_written_as_scripts_of_the_fork_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time, node, kind, port, and 1 or 0 in turn: an incast without windows pauses its senders."""
    ports = _incast(tmp_path, monkeypatch, {"PFC_OUTPUT_FILE": "pfc.txt"})["packet_ports"]
    rows = [[*map(int, line.split())] for line in (tmp_path / "pfc.txt").read_text().splitlines()]
    assert [at for at, *_ in rows] == sorted(at for at, *_ in rows)
    assert sum(paused for *_, paused in rows) == sum(ports["pauses"]) > 7
    for rank in range(1, 8):
        of_rank = [of[-1] for of in rows if of[1:4] == [rank, 0, 1]]
        assert of_rank == [1, 0] * (len(of_rank) // 2)
        assert len(of_rank) > 0
    assert {node for _, node, *_ in rows} == set(range(1, 8))


@pytest.mark.parametrize("start", [0, 12_345])
def test_queues_are_written_every_100_ns_as_the_monitor_of_the_fork_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: int
) -> None:
    """Port 1 of node 8, towards host 0, holds what its changes say, within a ns or not."""
    named = {"QLEN_MON_FILE": "qlen.txt", "QLEN_MON_START": str(start)}
    named |= {"PFC_OUTPUT_FILE": "pfc.txt"}  # with which all changes are kept
    queues = _incast(tmp_path, monkeypatch, {**named})["packet_queues"]
    to_first = [at for at, link in enumerate(queues["destination"]) if link == "node 0"]
    changes = [(queues["at_ns"][at], queues["queue_bytes"][at]) for at in to_first]
    rows = (tmp_path / "qlen.txt").read_text().splitlines()
    times, equal = [], 0
    for row in rows:
        time, at, node, *ports = row.split(" ")
        assert (time, node, ports[:2], len(ports), ports[3]) == ("time", "8", ["j", "1"], 4, "")
        after = bisect_left(changes, (int(at) + 1, 0))
        before = bisect_left(changes, (int(at), 0))
        said = [size for _, size in changes[max(before - 1, 0) : after]]
        assert min(said) - PACKET <= int(ports[2]) <= max(said) + 7 * PACKET
        assert int(ports[2]) >= 1000
        equal += int(ports[2]) in said
        times.append(int(at))
    assert equal > 0.9 * len(rows)
    assert times == list(range(times[0], times[-1] + 100, 100))
    assert (times[0] - start) % 100 == 0
    # The first packets are there after 21 + 500 ns, and all take 14.7 MB at less than 50 B/ns.
    assert times[0] == max(start, 600)
    assert times[-1] > 7 * 2 * SIZE / 50 * 0.95


def test_a_file_of_messages_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(tmp_path, monkeypatch, {"FCT_OUTPUT_FILE": "nowhere/fct.txt"}) == 2
    assert "nowhere/fct.txt: cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("logical.json", '{"logical-dims": ["8", "2"]}', "has 16 NPUs"),
        ("logical.json", '{"logical-dims": ["8", "1"]}', "must be at least 2"),
        ("logical.json", "{}", "missing"),
        ("topology.txt", "3 1 2\n0\n1 0 400Gbps 1us 0\n2 0 400Gbps 1us 0\n", "number hosts first"),
    ],
)
def test_npus_are_the_first_nodes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    text: str,
    said: str,
) -> None:
    options = _files(tmp_path, {}, "400Gbps", "0.0005ms")
    monkeypatch.chdir(tmp_path)
    if name == "topology.txt":
        (tmp_path / "logical.json").write_text('{"logical-dims": ["2"]}')
    (tmp_path / name).write_text(text)
    assert main(options) == 2
    assert said in capsys.readouterr().err


def test_a_topology_beside_the_configuration_is_found_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = _files(tmp_path, {}, "400Gbps", "0.0005ms")
    (tmp_path / "elsewhere").mkdir()
    for name in ("config.txt", "topology.txt"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    monkeypatch.chdir(tmp_path)
    options[3] = "--network-configuration=elsewhere/config.txt"
    assert main(options) == 0
    assert "took elsewhere/topology.txt" in capsys.readouterr().err


def test_a_backend_of_the_analytical_front_ends_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = _files(tmp_path, {}, "400Gbps", "0.0005ms")
    monkeypatch.chdir(tmp_path)
    assert main([*options, "--network-backend=congestion-aware"]) == 2
    assert "--logical-topology-configuration is of ns-3" in capsys.readouterr().err
