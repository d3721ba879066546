"""Our modules are found as Python finds them, and their bytecode holds as long as Python says."""

from __future__ import annotations

import os
import py_compile
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import cast

import pytest

import yantra.base
import yantra.base.fields
from yantra.base.own_modules import OwnModules


def _found(name: str, folder: Path) -> ModuleSpec:
    found = OwnModules.find_spec(f"yantra.{name}", [str(folder)])
    assert found is not None
    return found


def _code(spec: ModuleSpec) -> CodeType:
    code = cast("SourceFileLoader", spec.loader).get_code(spec.name)
    assert code is not None
    return code


def _values(code: CodeType) -> dict[str, object]:
    values: dict[str, object] = {}
    exec(code, values)
    return values


@pytest.mark.parametrize("name", ["yantra.base.errors", "yantra.base.fields"])
def test_a_module_is_found_as_python_finds_it(name: str) -> None:
    path = list(yantra.base.__path__)
    ours, theirs = OwnModules.find_spec(name, path), PathFinder.find_spec(name, path)
    assert ours is not None and theirs is not None
    for about in ("name", "origin", "cached", "parent", "has_location"):
        assert getattr(ours, about) == getattr(theirs, about)
    assert ours.submodule_search_locations == theirs.submodule_search_locations
    assert _code(ours) == _code(theirs)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("yantra", None),
        ("yantra.base.no_such", list(yantra.base.__path__)),
        ("yantra.base.errors", ["/no/such/folder"]),
        ("json.decoder", list(yantra.base.__path__)),
    ],
)
def test_what_is_not_ours_is_left_to_python(name: str, path: list[str] | None) -> None:
    assert OwnModules.find_spec(name, path) is None


def test_bytecode_of_the_source_is_taken_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "one.py"
    source.write_text("value = 1\n")
    py_compile.compile(str(source))
    about = source.stat()
    source.write_text("value = 2\n")  # as long, and by its time as old: only bytecode tells
    os.utime(source, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert _values(_code(_found("one", tmp_path)))["value"] == 1


@pytest.mark.parametrize("change", ["time", "size", "no bytecode", "other bytecode", "half of it"])
def test_bytecode_of_another_source_is_not_taken(tmp_path: Path, change: str) -> None:
    source = tmp_path / "one.py"
    source.write_text("value = 1\n")
    bytecode = Path(py_compile.compile(str(source)) or "")
    if change == "time":
        source.write_text("value = 2\n")
        os.utime(source, (1, 1))
    elif change == "size":
        source.write_text("value = 20 // 10\n")
        os.utime(source, (2**31, 2**31))
    else:
        source.write_text("value = 2\n")
        content = {"no bytecode": b"", "other bytecode": b"\0" * 64}.get(change, b"\x0b")
        bytecode.write_bytes(content)
    assert _values(_code(_found("one", tmp_path)))["value"] == 2


def test_bytecode_of_a_moved_source_names_its_new_place(tmp_path: Path) -> None:
    source = tmp_path / "one.py"
    source.write_text("value = 1\n")
    py_compile.compile(str(source), dfile="/elsewhere/one.py")
    assert _code(_found("one", tmp_path)).co_filename == str(source)
