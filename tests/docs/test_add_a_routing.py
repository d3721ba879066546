"""The guide to routings: its file keeps the laws of all routings, and a wrong one is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.core_files import COMPILER, files_of, holds

GUIDE = "add-a-routing.md"
TEST = "fabric/routing/routing.test.cpp"
SOURCES = ["fabric/graph.cpp", "fabric/routing"]

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def test_what_the_guide_adds_keeps_the_laws(tmp_path: Path) -> None:
    (file,) = files_of(GUIDE)
    done = holds(tmp_path, TEST, SOURCES, [file])
    assert done.returncode == 0, done.stdout
    assert "round_robin" in done.stdout


def test_a_routing_that_remembers_what_was_asked_before_is_caught_by_its_name(
    tmp_path: Path,
) -> None:
    (file,) = files_of(GUIDE)
    right = "(seed_ + flow.number) % links.size()"
    assert right in file
    wrong = file.replace(right, "turn_++ % links.size()").replace(
        "private:", "private:\n    u64 turn_ = 0;"
    )
    wrong = wrong.replace("const Flow& flow, u32,", "const Flow&, u32,").replace(
        '"round_robin"', '"by_turns"'
    )
    done = holds(tmp_path, TEST, SOURCES, [wrong])
    assert done.returncode == 1
    *_, name, problem = done.stdout.splitlines()
    assert name == "by_turns"
    assert problem.startswith("a way that depends on what was asked before")
