"""The gallery has its questions, pictures and page; commands are those that Yantra has."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs import pictures
from docs.build import DOCS
from docs.gallery import questions
from docs.gallery.questions import QUESTIONS, Question
from tests.cli.tree import EVERY

GALLERY = DOCS / "gallery"


def name(one: Question) -> str:
    return one.name


def test_twelve_questions_have_a_page_and_pictures_and_nothing_else_is_there() -> None:
    assert len(QUESTIONS) == len({one.name for one in QUESTIONS}) == 12
    text = (GALLERY / "README.md").read_text(encoding="utf-8")
    assert text == questions.page(), "python -m docs.generate"
    there = {path.name for path in GALLERY.iterdir() if path.suffix in (".svg", ".png")}
    assert there == {one.picture for one in QUESTIONS}
    assert {f"gallery/{one}" for one in there} == set(pictures.shots()) - {"report.png"}


@pytest.mark.parametrize("one", QUESTIONS, ids=name)
def test_the_last_command_makes_what_the_picture_is_of(one: Question) -> None:
    assert one.made in one.commands[-1]


@pytest.mark.parametrize("one", QUESTIONS, ids=name)
def test_commands_are_ours_with_options_that_they_have(one: Question) -> None:
    ours = {found.name: found for found in EVERY}
    for line in one.commands:
        words = shlex.split(line.split(" > ")[0])
        if words[0] == "printf":
            continue
        longest = max((n for n in ours if line.startswith(f"{n} ")), key=len)
        options = [word for word in words if re.match(r"--?[a-z]", word)]
        assert longest != "yantra"
        assert [word for word in options if not ours[longest].has_option(word)] == []


@pytest.mark.parametrize("one", [one for one in QUESTIONS if not one.made][:2], ids=name)
def test_a_picture_of_text_is_what_the_command_prints_now(one: Question) -> None:
    (command,) = one.commands
    code = "import sys; from yantra.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *shlex.split(command)[1:]],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert (GALLERY / one.picture).read_text(encoding="utf-8") == pictures.drawn(done.stdout)


def test_text_is_drawn_line_by_line_and_escaped() -> None:
    found = ElementTree.fromstring(pictures.drawn("a < b\n  c\n"))
    assert [one.text for one in found if one.tag.endswith("text")] == ["a < b", "  c"]


@pytest.mark.slow
@pytest.mark.parametrize("one", QUESTIONS, ids=name)
def test_every_question_is_answered(one: Question, tmp_path: Path) -> None:
    for command in one.commands:
        subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    assert not one.made or (tmp_path / one.made).stat().st_size > 0
