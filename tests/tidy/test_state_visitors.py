"""Functions that describe the state of a component hand over every field that they take out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTIONS = sorted((ROOT / "native").rglob("state.hpp"))
_BINDING = re.compile(r"auto& \[([^\]]+)\] =")


def forgotten(text: str) -> list[str]:
    """Return the fields that a function names in a structured binding and never again."""
    found = []
    for function in re.split(r"^\}", text, flags=re.MULTILINE):
        for binding in _BINDING.finditer(function):
            for field in re.findall(r"\w+", binding[1]):
                if not re.search(rf"\b{field}\b", function[binding.end() :]):
                    found.append(field)
    return found


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_description_of_state_hands_over_every_field(path: Path) -> None:
    assert forgotten(path.read_text()) == []


def test_a_field_that_is_not_handed_over_is_found() -> None:
    visit = "void f(V& v, S& s) {\n    auto& [kept, lost] = s;\n    v.same(kept);\n}\n"
    assert forgotten(visit) == ["lost"]
    assert any(_BINDING.search(path.read_text()) for path in DESCRIPTIONS)
