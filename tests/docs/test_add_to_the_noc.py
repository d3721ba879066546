"""The guide to routers and routings on chip: its files keep the laws, and a wrong one is caught."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import blocks

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native"
GUIDE = ROOT / "docs" / "guides" / "add-to-the-noc.md"
PARTS = ("network/noc", "network/noc/routing")
SHORTEST_WAY = """
    u32 way(const Head& head, Rng& random) const {
        return dimension_order_port(shape_, head, true, random);
    }
"""
COMPILER = shutil.which("g++")

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def _files() -> list[str]:
    return [block.text for block in blocks(GUIDE) if block.language == "cpp"]


def _holds(folder: Path, test: str, files: list[str]) -> subprocess.CompletedProcess[str]:
    """Build one test of the core with files beside those that are there, and run it."""
    sources = [
        source
        for part in PARTS
        for source in sorted((NATIVE / part).glob("*.cpp"))
        if not source.name.endswith(".test.cpp")
    ]
    names = [str(NATIVE / "network" / "noc" / test), *map(str, sources)]
    for at, text in enumerate(files):
        (folder / f"file{at}.cpp").write_text(text)
        names.append(f"file{at}.cpp")
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"]
    command = [str(COMPILER), *flags, *names, "-o", "test"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return subprocess.run(
        [folder / "test"], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("test", ["circle.test.cpp", "simulator.test.cpp"])
def test_what_the_guide_adds_keeps_the_laws(test: str, tmp_path: Path) -> None:
    files = _files()
    assert len(files) == 2
    done = _holds(tmp_path, test, files)
    assert done.returncode == 0, done.stdout


def test_a_routing_without_a_dateline_is_caught_by_its_name(tmp_path: Path) -> None:
    wrong = _files()[0]
    for right, instead in (
        ("shape.wraps()", "shape.nodes() == 0"),
        ("Rng&, Offers&", "Rng& random, Offers&"),
        ("2 * dimension + (is_up ? 0 : 1), 0}", "way(head, random), is_up ? 1u : 0u}"),
        ("public:", "public:\n" + SHORTEST_WAY),
        ('"yx"', '"no_dateline"'),
    ):
        assert right in wrong
        wrong = wrong.replace(right, instead)
    done = _holds(tmp_path, "circle.test.cpp", [wrong])
    assert done.returncode == 1
    assert "no_dateline" in done.stdout
