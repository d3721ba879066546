"""The scripts of examples/papers: their numbers hold, and they report it when they do not."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAPERS = ROOT / "examples" / "papers"
HELPERS = {"comparison", "figure", "network"}
NUMBERS = {
    "astra_sim1_tutorials": 18,
    "astra_sim2_table4": 7,
    "astra_sim2_tutorials": 6,
    "comet_transformer_1t": 33,
    "comet_trends": 20,
    "themis_figure8": 171,
}
LONG = ("comet_trends", "themis_figure8")  # half a minute for six clusters; a minute and a half
SCRIPTS = [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in NUMBERS]


def run(script: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(PAPERS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, str(script), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, PYTHONPATH=paths),
    )


def test_every_script_is_run() -> None:
    assert {path.stem for path in PAPERS.glob("*.py")} - HELPERS == set(NUMBERS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_has_the_published_numbers_and_draws_them(name: str, tmp_path: Path) -> None:
    done = run(PAPERS / f"{name}.py", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    with open(tmp_path / f"{name}.csv", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == NUMBERS[name]
    figure = ElementTree.parse(tmp_path / f"{name}.svg").getroot()
    drawn = [element for element in figure.iter() if element.tag.endswith(("rect", "circle"))]
    lines = [element for element in figure.iter() if element.tag.endswith("polyline")]
    assert len(drawn) >= 2 or lines
    shown = PAPERS / f"{name}.svg"
    if shown.exists():
        assert shown.read_text() == (tmp_path / f"{name}.svg").read_text()
        page = (PAPERS / "README.md").read_text()
        trends = [line for line in done.stdout.splitlines() if ": " in line and "COMET" not in line]
        assert len(trends) == 18 and [line for line in trends if f"    {line}\n" not in page] == []


def test_a_number_further_off_than_it_may_be_is_marked_and_ends_with_status_1(
    tmp_path: Path,
) -> None:
    script = tmp_path / "wrong.py"
    script.write_text(
        "from comparison import Row, show\n"
        "rows = [Row('right', 100.0, 100.9, 0.01), Row('wrong', 100.0, 101.1, 0.01)]\n"
        "raise SystemExit(show('wrong', 'A title', 'us', rows, []))\n"
    )
    done = run(script, tmp_path)
    assert done.returncode == 1
    right, wrong = (line for line in done.stdout.splitlines() if line.startswith(("right", "wro")))
    assert "more than" not in right
    assert wrong.endswith("+1.100%  more than 1.00%")
    assert "1 further off" in done.stdout
