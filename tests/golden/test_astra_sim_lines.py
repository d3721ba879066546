"""`yantra astra-sim` prints and logs what ASTRA-sim's binary did for the same files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.golden.astra_sim_inputs import CASES, write
from yantra.cli import main

RECORDED = Path(__file__).parent / "astra_sim_lines"
STAMP = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] "


def _without_stamps(text: str) -> list[str]:
    lines = text.splitlines()
    assert all(re.match(STAMP, line) for line in lines)
    return [re.sub(STAMP, "", line, count=1) for line in lines]


@pytest.mark.parametrize("case", CASES)
def test_every_line_is_upstreams(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = write(case, tmp_path)
    recorded = (RECORDED / f"{case}.txt").read_text().splitlines()[1:]
    assert main(["astra-sim", *options, f"--logging-folder={tmp_path / 'log'}"]) == 0
    printed = _without_stamps(capsys.readouterr().out)
    assert printed == [line for line in recorded if "[debug]" not in line]
    assert _without_stamps((tmp_path / "log" / "log.log").read_text()) == recorded
    assert (tmp_path / "log" / "err.log").read_text() == ""


def test_the_memory_trace_has_upstreams_events(tmp_path: Path) -> None:
    """Recorded from the same binary for rank 0; times in us, sizes in MiB and bytes."""
    options = write("memory", tmp_path)
    assert main(["astra-sim", *options, f"--logging-folder={tmp_path / 'log'}"]) == 0
    events = json.loads((tmp_path / "tensors.0.json").read_text())["traceEvents"]
    assert [(e["ts"], e["args"]["Memory_MB"]) for e in events if e["ph"] == "C"] == [
        (0.0, 3.0028610229492188),
        (50.0, 3.0066757202148438),
        (70.0, 2.0066757202148438),
        (138.72, 0.00667572021484375),
        (148.72, 0.0),
    ]
    lives = {(e["name"], e["ph"]): e for e in events if e["cat"] == "tensorLifetime"}
    assert {name: lives[name, "B"]["args"]["size"] for name, _ in lives} == {
        "w": 1048576,
        "x": 3000,
        "act": 2097152,
        "g": 5000,
        "sum": 2000,
    }
    assert {name: (lives[name, "B"]["ts"], lives[name, "E"]["ts"]) for name, _ in lives} == {
        "w": (0.0, 70.0),
        "x": (0.0, 50.0),
        "act": (0.0, 138.72),
        "g": (50.0, 148.72),
        "sum": (50.0, 148.72),
    }
    undefined = [e["name"] for e in events if e["args"].get("node_name") == "UNDEFINED"]
    assert undefined == ["w", "w", "x", "x"]
