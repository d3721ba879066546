"""Packets are near other networks without contention; what they cannot run is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yantra import chakra
from yantra.cli import main
from yantra.compile import compile
from yantra.run.packets import presets
from yantra.run.simulate import run
from yantra.scenario import dump, load

HEADERS = 1036 / 1000


def _scenario(folder: Path, kind: str, network: str = "packet", size: int = 2**20) -> Path:
    builder = chakra.TraceBuilder()
    builder.collective(chakra.CollectiveType.ALL_REDUCE, size)
    trace = builder.build().to_bytes()
    for rank in range(4):
        (folder / f"step.{rank}.et").write_bytes(trace)
    path = folder / "step.yaml"
    path.write_text(
        'workload: {traces: "step.{rank}.et"}\n'
        "cluster:\n"
        f"  topology: [{{kind: {kind}, size: 4, bandwidth: 400 Gb/s, latency: 500 ns}}]\n"
        "collectives: {all_reduce: [ring], chunks: 1}\n"
        f"network: {network}\n"
    )
    return path


def _makespan(path: Path) -> float:
    return run(compile(load(path))).makespan_ns


@pytest.mark.parametrize("kind", ["ring", "switch", "fully_connected"])
def test_without_contention_packets_take_what_flows_take_and_their_headers(
    tmp_path: Path, kind: str
) -> None:
    flow = _makespan(_scenario(tmp_path, kind, "flow"))
    packet = _makespan(_scenario(tmp_path, kind))
    # A window of one bandwidth-delay product leaves out headers and ACKs, so it holds a little.
    assert flow < packet < flow * HEADERS * 1.04


def test_the_fork_hears_of_data_late_and_so_takes_longer(tmp_path: Path) -> None:
    soon = _makespan(_scenario(tmp_path, "switch"))
    late = "{kind: packet, options: {semantics: ns3_fork}}"
    assert _makespan(_scenario(tmp_path, "switch", late)) > soon + 6 * 1_000


@pytest.mark.parametrize("preset", sorted(presets()))
def test_every_preset_runs_a_step(tmp_path: Path, preset: str) -> None:
    network = f"{{kind: packet, options: {{preset: {preset}}}}}"
    assert _makespan(_scenario(tmp_path, "switch", network)) > 0


def test_options_are_set_by_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(_scenario(tmp_path, "switch", "analytical"))
    packet = ["--set", "network.kind=packet"]
    assert main(["run", path, *packet, "--set", "network.congestion_control=hpcc"]) == 0
    assert "packet (congestion_control hpcc, look nothing)" in capsys.readouterr().out
    assert main(["run", path, *packet, "--set", "network.congestion_control=hpc"]) == 2
    assert "did you mean 'hpcc'?" in capsys.readouterr().err
    assert main(["run", path, *packet, "--set", "network.congestion=hpcc"]) == 2
    assert "unknown key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--set", "network.buffer=10kB"], "for head room alone"),
        (["--fold", "require"], "cannot be folded"),
        (["--set", "cluster.fabric=SW(4)", "--set", "cluster.routing=spray"], "go_back_n takes"),
        (["--set", "cluster.fabric=SW(4)", "--set", "cluster.routing=adaptive"], "go_back_n takes"),
        (
            [
                *("--set", "cluster.fabric=SW(4)", "--set", "cluster.routing=spray"),
                *("--set", "network.preset=newreno"),
            ],
            "TCP takes that for losses",
        ),
        (
            [
                *("--set", "cluster.fabric=SW(4)", "--set", "cluster.routing=spray"),
                *("--set", "network.preset=hpcc95", "--set", "network.recovery=selective_repeat"),
            ],
            "reads what the switches of one way say",
        ),
    ],
)
def test_what_packets_cannot_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    path = str(_scenario(tmp_path, "switch"))
    assert main(["run", path, *more]) == 3
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fabric", "said"),
    [
        (
            "{kind: leaf_spine, leaves: 2, ranks_per_leaf: 2, spines: 1, bandwidth: 10 GB/s,"
            " latency: 1 us, buffers: {leaf 1: 10 kB}}",
            "network packet: leaf 1 has a buffer of 10000 bytes, and its 3 ports need",
        ),
        (
            "named.csv",
            " (core to b): packets need a link back",
        ),
    ],
)
def test_errors_have_the_names_of_the_fabric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fabric: str, said: str
) -> None:
    rows = ["0,core,no", "1,core,no", "2,b,no", "3,b,no", "core,b,yes", "b,middle,no"]
    (tmp_path / "named.csv").write_text(
        "from,to,one_way,bandwidth,latency\n"
        + "".join(f"{row},10 GB/s,1 us\n" for row in [*rows, "middle,core,no"])
    )
    path = _scenario(tmp_path, "switch")
    path.write_text(path.read_text().replace("collectives:", f"  fabric: {fabric}\ncollectives:"))
    assert main(["run", str(path)]) == 3
    assert said in capsys.readouterr().err


def test_the_comparison_of_networks_has_packets_as_the_finest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["network", "compare", str(_scenario(tmp_path, "switch", "flow"))]) == 0
    assert "difference: from the time on packet" in capsys.readouterr().out


def _packet(options: str) -> str:
    return f"{{kind: packet, options: {{{options}}}}}"


def test_options_of_a_scheme_are_what_its_preset_says_unless_they_are_given(tmp_path: Path) -> None:
    def makespan(options: str) -> float:
        return _makespan(_scenario(tmp_path, "switch", _packet(options)))

    preset = makespan("preset: hpcc95")
    assert makespan("preset: hpcc95, target_utilisation: 0.95") == preset
    assert makespan("preset: hpcc95, target_utilisation: 0.5") > 1.5 * preset
    assert makespan("preset: hpcc95, least_rate: 399 Gb/s") < preset
    # What holds a sender is its window: half a bandwidth-delay product, half the rate.
    whole = makespan("preset: static_window")
    assert makespan("preset: static_window, window_bytes: 50 kB") > 1.7 * whole


def test_marks_go_by_the_rate_of_the_port(tmp_path: Path) -> None:
    def marks(options: str) -> int:
        path = _scenario(tmp_path, "switch", _packet(f"preset: dctcp, {options}"))
        summary = run(compile(load(path))).packet_summary
        assert summary is not None
        return int(summary["marked_acks"])

    none, all_of_them = "kmin: 10 MB, kmax: 10 MB", "kmin: 0 B, kmax: 0 B"
    assert marks(none) == 0 < marks(all_of_them)
    at_once = "kmin: {400 Gb/s: 0 B}, kmax: {400 Gb/s: 0 B}, pmax: {400 Gb/s: 1}"
    assert marks(at_once) == marks(all_of_them)
    assert marks("kmin: {100 Gb/s: 10 MB}, kmax: {100 Gb/s: 10 MB}") == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("preset: hpcc95, target_utilization: 0.9", "did you mean 'target_utilisation'?"),
        ("preset: dcqcn, target_utilisation: 0.9", "not an option of packets under dcqcn"),
        ("preset: dcqcn, kmin: 2 MB, kmax: 1 MB", "kmin up to kmax"),
        ("preset: dcqcn, kmin: 5", "kmin: a number needs its unit"),
        ("preset: dcqcn, kmin: {0 Gb/s: 1 MB}", "must be above 0"),
        ("preset: dcqcn, congestion_control: hpcc", "hpcc needs a window"),
        ("preset: dcqcn, least_rate: 5 us", "not of bandwidth"),
        ("preset: dcqcn, least_rate: 0 b/s", "at least"),
    ],
)
def test_wrong_options_are_told_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: str, said: str
) -> None:
    assert main(["run", str(_scenario(tmp_path, "switch", _packet(options)))]) == 2
    assert said in capsys.readouterr().err


def test_options_by_rate_come_back_from_the_text_of_a_scenario(tmp_path: Path) -> None:
    options = "preset: dctcp, kmin: {100 Gb/s: 1 kB, 400 Gb/s: 4 kB}, additive_increase: 1 Gb/s"
    scenario = load(_scenario(tmp_path, "switch", _packet(options)))
    again = tmp_path / "again.yaml"
    dump(scenario, again)
    assert load(again).network == scenario.network


def _sprayed(path: Path, routing: str) -> Any:
    fabric = path.parent / "pod.csv"
    rows = ["from,to,bandwidth,latency"]
    rows += [f"{rank},leaf{rank // 2},100Gb/s,500ns" for rank in range(4)]
    rows += [f"leaf{leaf},spine{spine},100Gb/s,500ns" for leaf in (0, 1) for spine in (0, 1)]
    fabric.write_text("\n".join(rows) + "\n")
    text = path.read_text().replace(
        "  topology:", f"  fabric: {fabric}\n  routing: {routing}\n  topology:"
    )
    path.with_name(f"{routing}.yaml").write_text(text)
    return run(compile(load(path.with_name(f"{routing}.yaml"))))


@pytest.mark.parametrize(("routing", "evenly"), [("spray", 0.8), ("adaptive", 0.5)])
def test_packets_are_spread_over_all_ways(tmp_path: Path, routing: str, evenly: float) -> None:
    path = _scenario(tmp_path, "switch", "{kind: packet, options: {preset: uec}}", size=2**22)
    sprayed = _sprayed(path, routing)
    ports = sprayed.packets.ports
    names = ("source", "destination", "bytes", "drops")
    up: dict[str, list[int]] = {}
    for source, destination, sent, drops in zip(*map(ports.values, names), strict=True):
        assert drops == 0
        if "leaf" in source and "spine" in destination:
            up.setdefault(source, []).append(sent)
    assert len(up) == 2
    for both in up.values():
        assert len(both) == 2
        assert min(both) > evenly * max(both)  # ACKs take one way
    # A ring has one message at a time between two leaves, so no way is ever too full.
    assert sprayed.makespan_ns < 1.05 * _sprayed(path, "ecmp").makespan_ns
