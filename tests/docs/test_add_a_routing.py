"""The guide to routings: its file keeps the laws of all routings, and a wrong one is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core_objects import COMPILER, Objects
from tests.docs.core_files import files_of, holds

GUIDE = "add-a-routing.md"
TEST = "fabric/routing/routing_laws.test.cpp"

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def test_what_the_guide_adds_keeps_the_laws(core_objects: Objects, tmp_path: Path) -> None:
    (file,) = files_of(GUIDE)
    done = holds(core_objects, tmp_path, TEST, [file])
    assert done.returncode == 0, done.stdout
    assert "round_robin" in done.stdout


def test_a_routing_that_remembers_what_was_asked_before_is_caught_by_its_name(
    core_objects: Objects, tmp_path: Path
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
    done = holds(core_objects, tmp_path, TEST, [wrong])
    assert done.returncode == 1
    law = "by_turns breaks a_path_depends_on_its_flow_alone: "
    assert done.stdout.splitlines()[-1].startswith(law), done.stdout
