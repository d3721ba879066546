"""The words of docs, messages and comments are those that docs/STYLE.md asks for."""

from __future__ import annotations

import re
from pathlib import Path

import yantra

ROOT = Path(__file__).resolve().parents[2]
NEVER_RIGHT = (
    "in silence",
    "one's own",
    "being done before",
    "lies there",
    "do not meet",
    "count more",
    "aloud",
    "stands in the table",
)
"""Phrases of docs/STYLE.md that a native speaker would not say here."""

_PHRASE = re.compile(
    r"(?<!\w)(" + "|".join(map(re.escape, NEVER_RIGHT)) + r")(?!\w)", re.IGNORECASE
)
TEXTS = [
    path
    for pattern in ("docs/**/*.md", "*.md", "src/**/*.py", "native/**/*.[ch]pp")
    for path in sorted(ROOT.glob(pattern))
    if path.name not in ("STYLE.md", "CHANGELOG.md") and "decisions" not in path.parts
]


def unwanted(text: str) -> list[str]:
    return _PHRASE.findall(re.sub(r"\s*\n[\s#/*]*", " ", text))


def test_no_text_has_a_phrase_that_the_style_page_bans() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {phrase}"
        for path in TEXTS
        for phrase in unwanted(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_banned_phrase_is_found_across_lines() -> None:
    assert unwanted("It ends in\n// silence.") == ["in silence"]


def test_the_citation_names_this_version() -> None:
    assert f"\nversion: {yantra.__version__}\n" in (ROOT / "CITATION.cff").read_text()
