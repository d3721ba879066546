"""Retransmission timers: none where nothing can be lost, else few without a loss."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.oracles.message_jobs import message_job, on_network
from tests.packet_star import sent
from yantra import _core
from yantra.base.fields import Plugin
from yantra.cli import main
from yantra.compile import compile
from yantra.run import packets
from yantra.run.simulate import run

HOSTS = 16
LOSSLESS = sorted(
    name for name in packets.presets() if name not in ("cubic", "newreno", "uec", "uec_credits")
)
INCAST = ["--topology", "switch", "--set", f"ranks={HOSTS}", "--set", "bandwidth=100Gb/s"]


def _incast(preset: str, size: int, **options: float) -> _core.PacketRun:
    flows = [(source, 0, size) for source in range(1, HOSTS)]
    made = sent(HOSTS, flows, _core.packet_settings(preset, 100.0, options=options))
    assert made.run_for(2**62)
    assert made.stuck is None
    return made


@pytest.mark.parametrize("preset", LOSSLESS)
def test_no_timer_fires_in_a_fabric_that_loses_nothing(preset: str) -> None:
    # A silence of 15 packets takes longer than this timer.
    done = _incast(preset, 100_000, retransmission=1000.0, buffer=1e6)
    assert (done.totals.drops, done.totals.timeouts) == (0, 0)
    assert done.totals.data_packets == 2 * 15 * 100


def test_the_timer_changes_nothing_there() -> None:
    short, long = (_incast("dcqcn", 50_000, retransmission=of) for of in (1000.0, 1e9))
    assert list(short.completed_ns) == list(long.completed_ns)
    assert short.totals.packets == long.totals.packets


def test_a_timeout_finds_what_a_switch_dropped() -> None:
    done = _incast("static_window", 100_000, pauses=0, buffer=40_000)
    assert done.totals.drops > 0
    assert done.totals.timeouts_without_loss == 0
    assert np.isfinite(np.asarray(done.completed_ns)).all()


def test_silence_grows_with_the_round_trips_of_a_queue() -> None:
    # 15 lines into one: a round trip is far above the 20 us of the timer, and is known when the
    # first ACK is back.
    done = _incast("dcqcn", 400_000, pauses=0, buffer=32e6, retransmission=20_000.0, marks=0)
    assert done.totals.drops == 0
    fixed = 400_000 * 15 / 12.5 / 20_000 * 15  # of a timer that knows nothing, at least one in two
    assert done.totals.timeouts < fixed / 20


def test_a_timeout_without_a_loss_has_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flows = tmp_path / "flows.csv"
    rows = [f"{host},0,400000,0" for host in range(1, HOSTS)]
    flows.write_text("\n".join(["src,dst,bytes,start_ns", *rows]) + "\n")
    command = ["network", "flows", str(flows), *INCAST, "--set", "latency=1us"]
    command += ["--network", "packet", "--preset", "none", "--packet", "retransmission=5us"]
    assert main([*command, "--packet", "pauses=0"]) == 0
    said = capsys.readouterr().out
    assert "timeouts without a loss: a silence was a queue; a longer retransmission" in said
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "0 timeouts\n" in said
    assert "without a loss" not in said


def test_a_job_does_not_time_out_either() -> None:
    job = message_job(Random(1), 6, 40, kernels=False)
    network = Plugin(kind="packet", options={"retransmission": 1000.0})
    result = run(compile(on_network(job, network, ("switch", 6, 1.0, 500.0))))
    assert result.packets.summary()["timeouts"] == 0
