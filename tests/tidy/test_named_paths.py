"""Files that pages, docstrings and comments name are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NATIVE = ROOT / "native"
TEXTS = [
    *sorted((ROOT / "src" / "yantra").rglob("*.py")),
    *sorted(NATIVE.rglob("*.[ch]pp")),
    *sorted((ROOT / "docs").rglob("*.py")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("*.md")),
]
_FROM_ROOT = re.compile(r"(?<![\w./-])((?:native|src/yantra|tests|docs|benchmarks)/[\w./-]*\w)")
_SOURCE = re.compile(r"(?<![\w./-])([\w/]+\.[ch]pp)")


def absent(text: str, *, native: bool) -> list[str]:
    """A source of the core may name another from `native/` on, as includes do."""
    named = [(ROOT, path) for path in _FROM_ROOT.findall(text)]
    if native:
        named += [(NATIVE, path) for path in _SOURCE.findall(text) if "/" in path]
    return [path for root, path in named if not ((root / path).exists() or (ROOT / path).exists())]


def test_a_file_that_a_text_names_is_there() -> None:
    gone = [
        f"{path.relative_to(ROOT)} names {name}"
        for path in TEXTS
        for name in absent(path.read_text(encoding="utf-8"), native=NATIVE in path.parents)
    ]
    assert gone == []


def test_a_path_that_leads_nowhere_is_found() -> None:
    assert absent("see native/run/simulation.hpp and native/gone.hpp", native=False) == [
        "native/gone.hpp"
    ]
    assert absent("// run/simulation.hpp, run/gone.hpp", native=True) == ["run/gone.hpp"]
