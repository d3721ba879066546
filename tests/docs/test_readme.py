"""The README fits half a minute: its words, its lines that run, its picture of accuracy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from docs import pictures, scatter
from docs.build import DOCS, ROOT
from tests.docs.pages import blocks
from yantra.accuracy.default import Ours, recorded

README = ROOT / "README.md"
STARTS = sorted((DOCS / "start").glob("[a-z]*.md"))
FIVE = ("choose-a-cluster", "study-networks", "a-pytorch-job", "serve-requests", "post-training")


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_the_readme_has_at_most_600_words() -> None:
    assert words(README) <= 600


@pytest.mark.parametrize("page", STARTS, ids=lambda page: page.stem)
def test_a_start_page_has_at_most_900_words(page: Path) -> None:
    assert words(page) <= 900


def test_the_readme_leads_five_people_to_their_pages() -> None:
    text = README.read_text(encoding="utf-8")
    assert re.findall(r"\]\(docs/start/([a-z-]+)\.md\) \|$", text, re.MULTILINE) == [*FIVE]
    assert {page.stem for page in STARTS} >= set(FIVE)


def test_every_command_of_the_readme_is_run() -> None:
    """A line that is shown and not run begins with `make`."""
    text = README.read_text(encoding="utf-8")
    for block in reversed(blocks(README)):
        assert block.language == "console"
        text = text[: block.begin] + text[block.end :]
    lines = re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE)
    assert [line.split("  ")[0] for line in lines] == ["make demo", "make test"]


def test_the_picture_of_accuracy_is_of_the_recorded_steps() -> None:
    assert scatter.FILE.read_text(encoding="utf-8") == scatter.svg(), "python -m docs.generate"
    said = scatter.words(recorded(), scatter.stated_of(recorded()))
    shown = re.search(r"\[(\d+) of ([\d,]+) published", README.read_text(encoding="utf-8"))
    assert shown is not None
    assert said[0].startswith(f"{shown[2]} ") and said[4].startswith(f"{shown[1]} inside")


def test_steps_are_inside_where_their_interval_holds_the_measured_time() -> None:
    def one(seconds: float) -> Ours:
        row = recorded()[0].row
        return Ours(row, seconds * row.seconds)

    found: Sequence[Ours] = [one(1.0), one(1.2), one(1.4), one(1 / 1.2), one(1 / 1.4)]
    assert scatter.inside(found, [0.264] * 5) == [True, True, False, True, False]
    assert scatter.inside(found, [0.264, 0.1, 0.4, 0.1, 0.264]) == [True, False, True, False, False]


def test_the_report_is_photographed_by_the_commands_that_are_shown() -> None:
    shot = pictures.shots()["report.png"]
    assert (DOCS / "report.png").exists()
    assert len(shot.commands) == 2 and f"--report {shot.made} " in shot.commands[-1]
