"""`--threads`: what is said of them, and that no number changes a result or what is refused.

Random fabrics, flows, controls and cuts: native/network/packet/windows.test.cpp.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.packet_star import sent
from yantra import _core
from yantra.cli import main

FABRIC = ("leaf_spine", "leaves=4", "ranks_per_leaf=4", "spines=2", "latency=1us")


def _flows(folder: Path, count: int = 40) -> Path:
    draw = np.random.default_rng(count)
    path = folder / "flows.csv"
    rows = ["src,dst,bytes,start_ns"]
    for _ in range(count):
        src, dst = draw.choice(16, 2, replace=False)
        rows.append(f"{src},{dst},{draw.integers(1, 200_000)},{draw.integers(0, 20) * 100}")
    path.write_text("\n".join(rows) + "\n")
    return path


def _line(flows: Path, *more: str) -> list[str]:
    sets = [word for setting in FABRIC[1:] for word in ("--set", setting)]
    place = ["--topology", FABRIC[0], *sets, "--set", "bandwidth=100Gb/s"]
    return ["network", "flows", str(flows), *place, "--network", "packet", *more]


@pytest.mark.parametrize("preset", ["static_window", "dcqcn", "hpcc95"])
def test_all_files_are_the_same_for_any_number_of_threads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], preset: str
) -> None:
    flows, found = _flows(tmp_path), []
    for threads in ("1", "2", "3", "8", "auto"):
        out, ports = tmp_path / "fct.csv", tmp_path / "ports.csv"
        more = ("--preset", preset, "--threads", threads, "-o", str(out), "--ports", str(ports))
        assert main(_line(flows, *more)) == 0
        *rest, last = capsys.readouterr().out.splitlines()
        took = "auto took 1" if threads == "auto" else threads
        assert last.startswith(f"threads: {took}; ")
        found.append((out.read_bytes(), ports.read_bytes(), rest))
    assert all(other == found[0] for other in found)


def test_what_is_taken_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flows = _flows(tmp_path)
    assert main(_line(flows, "--threads", "auto", "--json")) == 0
    form = json.loads(capsys.readouterr().out)
    assert form["threads"] == 1
    assert "16 hosts would gain" in form["why_threads"] or "1 core" in form["why_threads"]
    assert main(_line(flows)) == 0
    assert "threads:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--semantics", "ns3-fork"), "ns3-fork"),
        (("--preset", "uec", "--routing", "spray"), "overtake"),
        (("--preset", "uec", "--routing", "adaptive"), "overtake"),
        (("--preset", "cubic"), "lost"),
        (("--preset", "dcqcn_published"), "decides at the receiver"),
        (("--queues", "queues.csv"), "over time"),
    ],
)
def test_one_thread_where_devices_know_of_each_other_at_once(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    more: tuple[str, ...],
    why: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(_line(_flows(tmp_path, 4), "--threads", "4", *more)) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("threads: 1; ")
    assert why in last


@pytest.mark.parametrize("threads", ["0", "33", "two", "-1", "²", ""])
def test_other_numbers_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], threads: str
) -> None:
    assert main(_line(_flows(tmp_path), f"--threads={threads}")) == 2
    assert "--threads: expected auto, or 1 to 32 threads" in capsys.readouterr().err


def test_other_networks_refuse_threads(tmp_path: Path, capsys: Any) -> None:
    line = [word.replace("packet", "flow") for word in _line(_flows(tmp_path), "--threads", "2")]
    assert main(line) == 2
    assert "--threads: goes with the network packet" in capsys.readouterr().err


def _star(threads: int, **options: float) -> _core.PacketRun:
    settings = _core.packet_settings("none", 100.0, options=options)
    incast = [(host, 0, 300_000.0) for host in range(1, 9)]
    run = sent(9, incast, settings, threads=threads)
    while not run.run_for(2000):
        run.take_ended()
    return run


def test_a_pause_that_times_out_begins_the_run_again_on_one_thread() -> None:
    small = {"pause": 2000.0, "buffer": 400_000.0}
    alone, parted = _star(1, **small), _star(3, **small)
    assert parted.threads == 1
    assert "begun again, as a pause took as long" in parted.why_threads
    assert np.asarray(parted.end_ns).tolist() == np.asarray(alone.end_ns).tolist()
    assert parted.ended == 8
    assert _star(3, buffer=400_000.0).threads == 3


def test_parts_that_are_no_parts_are_refused() -> None:
    settings = _core.packet_settings("none", 100.0)
    with pytest.raises(ValueError, match="one is expected of each device"):
        sent(3, [(0, 1, 1.0)], settings, parts=[0, 1])


def test_flows_that_do_not_meet_are_simulated_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = tmp_path / "flows.csv"
    rows = [f"{at % 16},{(at + 5) % 16},{100_000 + at // 20},{at * 50_000}" for at in range(40)]
    flows.write_text("\n".join(["src,dst,bytes,start_ns", *rows]) + "\n")
    found = []
    for more in ((), ("--packet", "skip=off")):
        out, ports = tmp_path / "fct.csv", tmp_path / "ports.csv"
        assert main(_line(flows, *more, "-o", str(out), "--ports", str(ports))) == 0
        lines = capsys.readouterr().out.splitlines()
        said = [line for line in lines if line.startswith("skipped")]
        rest = [line for line in lines if line not in said]
        found.append((out.read_bytes(), ports.read_bytes(), rest))
        of_few = "of these crossings (flows that never meet); exact"
        assert len(said) == (0 if more else 1)
        assert all(line.endswith(of_few) and float(line.split()[1]) >= 50 for line in said)
    assert found[0] == found[1]
