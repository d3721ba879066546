"""The type stub of the core names exactly what the core has."""

from __future__ import annotations

import ast
from pathlib import Path

from yantra import _core

STUB = Path(__file__).resolve().parents[2] / "src" / "yantra" / "_core.pyi"


def _public(names: object) -> set[str]:
    return {name for name in dir(names) if not name.startswith("_")}


def _stub() -> dict[str, set[str] | None]:
    named: dict[str, set[str] | None] = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members = {m.name for m in node.body if isinstance(m, ast.FunctionDef)}
            named[node.name] = {name for name in members if not name.startswith("_")}
        elif isinstance(node, ast.FunctionDef):
            named[node.name] = None
    return named


def test_the_stub_names_the_classes_and_functions_of_the_core() -> None:
    assert set(_stub()) == _public(_core)


def test_the_stub_names_the_members_of_every_class() -> None:
    for name, members in _stub().items():
        if members is not None and not issubclass(getattr(_core, name), Exception):
            assert members == _public(getattr(_core, name)), name
