"""`yantra astra-sim` prints and logs what ASTRA-sim's binary did for the same files."""

from __future__ import annotations

import json
import re
import sys
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


@pytest.mark.parametrize("case", ["memory", "tensors"])
def test_the_memory_trace_is_upstreams_to_the_byte(case: str, tmp_path: Path) -> None:
    """Equal only where the C++ library is ASTRA-sim's: its hash maps and its sort give
    the order.
    """
    options = write(case, tmp_path)
    assert main(["astra-sim", *options, f"--logging-folder={tmp_path / 'log'}"]) == 0
    written = (tmp_path / "tensors.0.json").read_text()
    recorded = (RECORDED / f"{case}.0.json").read_text()
    if sys.platform == "linux":
        assert written == recorded
    assert _by_text(written) == _by_text(recorded)


def _by_text(trace: str) -> list[str]:
    events = json.loads(trace)["traceEvents"]
    for event in events:
        if event.get("cat") != "tensorHeatmap":
            event.pop("tid", None)
    return sorted(json.dumps(event, sort_keys=True) for event in events)
