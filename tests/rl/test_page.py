"""The report of post-training: bars are as long as the step, waiting as the answer has it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.lives.test_page import keys
from yantra.cli import main
from yantra.rl.answer import Answer, answered
from yantra.rl.page import html
from yantra.rl.question import made

ASKED: dict[str, Any] = {
    "model": "llama3-8b", "cluster": "hgx-h100", "gpus": 16, "prompts": 16, "generations": 8,
    "lengths": "mean=300,cap=900",
}  # fmt: skip


@pytest.fixture(scope="module")
def answers() -> dict[str, Answer]:
    others = {"sync": {}, "sync-split": {}, "async": {"staleness": 4}}
    return {mode: answered(made(**ASKED, mode=mode, **more)) for mode, more in others.items()}


@pytest.mark.parametrize("mode", ["sync", "sync-split", "async"])
def test_bars_of_groups_end_with_their_last_phase(answers: dict[str, Answer], mode: str) -> None:
    answer = answers[mode]
    phases = html([answer]).split('id="phases"')[1].split("</section>")[0]
    ends: dict[str, float] = {}
    for span in answer.steps[0].spans:
        ends[span.gpus] = max(ends.get(span.gpus, 0.0), span.end)
    drawn = phases.split('class="bar-row"')[1:]
    assert len(drawn) == len(ends)
    for bar, end in zip(drawn, ends.values(), strict=True):
        width = sum(map(float, re.findall(r' width="([\d.]+)%"', bar)))
        assert width == pytest.approx(100 * end / answer.seconds, abs=0.1)


def test_waiting_is_that_of_the_answer_and_costs_its_share(answers: dict[str, Answer]) -> None:
    best = answers["sync-split"]
    rows = keys(html([best]), "Waiting, sync-split")
    assert sum(row[0] for row in rows) == pytest.approx(sum(best.steps[0].idle.values()))
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), reverse=True)


def test_staleness_is_shared_out_and_none_where_steps_wait(answers: dict[str, Answer]) -> None:
    rolled = answers["async"].steps[0].rolled
    assert rolled is not None
    shares = rolled.stale_shares
    assert sum(shares.values()) == pytest.approx(1.0)
    assert max(shares) == rolled.stale_most
    assert sum(age * share for age, share in shares.items()) == pytest.approx(rolled.stale_mean)
    assert "trains what it has made" in html([answers["sync"]])


def test_all_modes_are_in_the_order_of_their_speed(answers: dict[str, Answer]) -> None:
    rows = keys(html(list(answers.values())), "3 modes")
    assert [row[2] for row in rows] == sorted((row[2] for row in rows), reverse=True)
    assert {row[0] for row in rows} == {one.seconds for one in answers.values()}


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [f"--{name}={value}" for name, value in ASKED.items()]
    assert main(["rl", *words, "--report", str(tmp_path / "rl.html")]) == 0
    assert (tmp_path / "rl.html").read_text().endswith("</html>\n")
    assert "idle" in capsys.readouterr().out
