"""The report of lives: its parts are those of the answer, and its curves reach every life."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import yantra
from yantra.base.errors import ConfigError
from yantra.cli import main
from yantra.lives.life import Life
from yantra.lives.page import html

JOB = {"model": "llama3-8b", "plan": {"tp": 2, "pp": 2, "global_batch": 128}}


@pytest.fixture(scope="module")
def said() -> Life:
    return yantra.life(
        JOB, cluster="hgx-h100", gpus=64, days=54, lives=40, seed=3, price="2.50 USD/h"
    )


def keys(text: str, caption: str) -> list[list[float]]:
    """The numbers by which a table is sorted, by row."""
    body = text.split(f"<caption>{caption}")[1].split("</tbody>")[0]
    rows = (re.findall(r'data-key="([^"]*)"', row) for row in body.split("<tr")[2:])
    return [[float(key) for key in row] for row in rows]


def test_parts_add_up_to_the_time_and_the_money(said: Life) -> None:
    found = keys(html(said), "Time, cost and energy by part")
    shares, usd = [row[0] for row in found[:-1]], [row[-2] for row in found]
    assert sum(shares) == pytest.approx(1.0)
    assert shares[0] == said.goodput.mean
    assert sum(usd) == pytest.approx(said.usd)


def test_the_worst_tenth_is_the_mean_of_the_worst_lives(said: Life) -> None:
    useful = sorted(said.lives.useful / said.question.horizon)
    bars = re.findall(r'aria-label="(?:the|all) [^:]*: useful (\d+) %', html(said))
    means = [sum(some) / len(some) for some in (useful, useful[:4], useful[-4:])]
    assert [int(one) for one in bars] == [int(f"{100 * mean:.0f}") for mean in means]


def test_interruptions_and_policies_are_those_of_the_answer(said: Life) -> None:
    text = html(said)
    met = keys(text, "Interruptions by what fails")
    assert sum(row[0] for row in met) == pytest.approx(said.interruptions.mean)
    assert [row[1] for row in keys(text, "Goodput of other policies")] == [
        one.gains for one in said.bought
    ]
    for name, _ in said.question.rates.unknown:
        assert f"UNKNOWN rate of {name}" in text


def test_the_command_writes_it_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.yaml").write_text(json.dumps(JOB))
    asked = ["life", str(tmp_path / "job.yaml"), "--cluster", "hgx-h100", "--gpus", "64",
             "--days", "9", "--set", "lives=4", "--report"]  # fmt: skip
    assert main([*asked, str(tmp_path / "life.html")]) == 0
    assert (tmp_path / "life.html").read_text().endswith("</html>\n")
    assert main([*asked, str(tmp_path / "none" / "life.html")]) == ConfigError.exit_code
    assert "life.html" in capsys.readouterr().err


def test_phases_of_power_add_up_and_courses_end_with_them(said: Life) -> None:
    from yantra.lives.page import _courses

    rows = keys(html(said), "What the building draws by phase")
    assert sum(row[-1] for row in rows) == pytest.approx(sum(one.kwh for one in said.power))
    for seconds, kw, times, kwh in rows:
        assert seconds * kw * times / 3600 == pytest.approx(kwh)
    steps, failure = _courses(said)
    of = {one.name: one for one in said.power}
    assert steps.end_s == pytest.approx(3 * of["step"].seconds + of["checkpoint"].seconds)
    after = sum(of[name].seconds for name in ("waiting for hosts", "restarting", "working again"))
    assert failure.end_s == pytest.approx(1.4 * after)
    assert min(steps.watts) == of["checkpoint"].watts
