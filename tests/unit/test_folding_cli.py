"""What the commands say of folding."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.astra_sim_inputs import write
from yantra import scenario
from yantra.base.errors import ConfigError
from yantra.chakra import CollectiveType, TraceBuilder
from yantra.cli import main

SCENARIO = """
workload: {{traces: "work.{{rank}}.et"}}
cluster:
  topology: [{{kind: ring, size: 16, bandwidth: 50 GB/s, latency: 500 ns}}]
  device: {{memory_bandwidth: 50 GB/s}}
collectives: {{all_reduce: [ring], chunks: 4}}
network: {network}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for rank in range(16):
        trace = TraceBuilder()
        work = trace.compute(duration_micros=5)
        trace.collective(CollectiveType.ALL_REDUCE, 1 << 20, after=work)
        trace.build().write(tmp_path / f"work.{rank}.et")
    path = tmp_path / "scenario.yaml"
    path.write_text(SCENARIO.format(network="analytical"))
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    out = capsys.readouterr()
    return status, out.out, out.err


def test_run_shows_the_same_folded_and_not(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    once = said(capsys, "run", str(file), "--fold", "require", "--explain-folding")
    whole = said(capsys, "run", str(file), "--fold", "off", "--explain-folding")
    assert once[0] == whole[0] == 0
    assert once[1] == whole[1]
    assert once[2] == "folded: 16 ranks in 1 class\n  class 0: 16 ranks: 0-15\n"
    assert whole[2].startswith("not folded, 16 ranks in 1 class: --fold off\n")


def test_run_says_why_it_cannot_fold(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(file.read_text().replace("chunks: 4", "rendezvous: true"))
    status, out, err = said(capsys, "run", str(file), "--fold", "require")
    assert (status, out) == (3, "")
    assert "fold: require, but the run cannot be folded: the rendezvous protocol" in err


def test_the_scenario_says_it_too(file: Path) -> None:
    file.write_text(file.read_text() + "fold: require\n")
    assert scenario.load(file).fold == "require"
    file.write_text(file.read_text().replace("fold: require", "fold: always"))
    with pytest.raises(ConfigError, match=r"fold: .*auto, off, require"):
        scenario.load(file)


def test_astra_sims_log_tells_the_same_times_folded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = write("tutorial", tmp_path)
    _, whole, _ = said(capsys, "astra-sim", *options)
    status, once, _ = said(capsys, "astra-sim", *options, "--fold=require")
    assert status == 0

    def told(text: str) -> list[str]:
        return [line.partition("] ")[2] for line in text.splitlines()]

    assert sorted(told(once)) == sorted(told(whole))
    status, _, err = said(capsys, "astra-sim", *options, "--fold=always")
    assert status == 2
    assert "--fold: expected auto or off or require" in err
