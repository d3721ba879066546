"""The guide to routers and routings on chip keeps the laws."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core_objects import COMPILER, Objects
from tests.docs.core_files import files_of, holds

GUIDE = "add-to-the-noc.md"
SHORTEST_WAY = """
    u32 way(const Head& head, Rng& random) const {
        return dimension_order_port(shape_, head, true, random);
    }
"""

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


@pytest.mark.parametrize("test", ["circle", "simulator"])
def test_what_the_guide_adds_keeps_the_laws(
    test: str, core_objects: Objects, tmp_path: Path
) -> None:
    files = files_of(GUIDE)
    assert len(files) == 2
    done = holds(core_objects, tmp_path, f"network/noc/{test}.test.cpp", files)
    assert done.returncode == 0, done.stdout


def test_a_routing_without_a_dateline_is_caught_by_its_name(
    core_objects: Objects, tmp_path: Path
) -> None:
    wrong = files_of(GUIDE)[0]
    for right, instead in (
        ("shape.wraps()", "shape.nodes() == 0"),
        ("Rng&, Offers&", "Rng& random, Offers&"),
        ("2 * dimension + (is_up ? 0 : 1), 0}", "way(head, random), is_up ? 1u : 0u}"),
        ("public:", "public:\n" + SHORTEST_WAY),
        ('"yx"', '"no_dateline"'),
    ):
        assert right in wrong
        wrong = wrong.replace(right, instead)
    done = holds(core_objects, tmp_path, "network/noc/circle.test.cpp", [wrong])
    assert done.returncode == 1
    assert "no_dateline" in done.stdout
