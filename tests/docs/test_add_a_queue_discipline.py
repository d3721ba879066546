"""The guide to queue disciplines: its file keeps the laws, and a wrong one is caught by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.core_files import COMPILER, files_of, holds

TEST = "network/packet/queue_laws.test.cpp"
SOURCES = [
    "network/packet/queue_laws.cpp",
    "network/packet/queue_discipline.cpp",
    "network/packet/queue",
]

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def test_what_the_guide_adds_keeps_the_laws(tmp_path: Path) -> None:
    files = files_of("add-a-queue-discipline.md")
    assert len(files) == 1
    done = holds(tmp_path, TEST, SOURCES, files)
    assert done.returncode == 0, done.stdout


def test_one_that_parts_a_message_is_caught_by_its_name(tmp_path: Path) -> None:
    """Packets go to the two lists by their size, so those of a message overtake each other."""
    wrong = files_of("add-a-queue-discipline.md")[0]
    for right, instead in (("priority == 0", "bytes < 700"), ('"halves"', '"wrong_halves"')):
        assert right in wrong
        wrong = wrong.replace(right, instead)
    done = holds(tmp_path, TEST, SOURCES, [wrong])
    assert done.returncode == 1
    assert "wrong_halves messages_keep_their_order" in done.stdout
