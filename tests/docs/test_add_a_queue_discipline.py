"""The guide to queue disciplines: its file keeps the laws, and a wrong one is caught by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core_objects import COMPILER, Objects
from tests.docs.core_files import files_of, holds

TEST = "network/packet/queue_laws.test.cpp"

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def test_what_the_guide_adds_keeps_the_laws(core_objects: Objects, tmp_path: Path) -> None:
    files = files_of("add-a-queue-discipline.md")
    assert len(files) == 1
    done = holds(core_objects, tmp_path, TEST, files)
    assert done.returncode == 0, done.stdout


def test_one_that_parts_a_message_is_caught_by_its_name(
    core_objects: Objects, tmp_path: Path
) -> None:
    wrong = files_of("add-a-queue-discipline.md")[0]
    for right, instead in (("priority == 0", "bytes < 700"), ('"halves"', '"wrong_halves"')):
        assert right in wrong
        wrong = wrong.replace(right, instead)
    done = holds(core_objects, tmp_path, TEST, [wrong])
    assert done.returncode == 1
    assert "wrong_halves messages_keep_their_order" in done.stdout
