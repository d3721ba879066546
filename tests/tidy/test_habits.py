"""Habits of the house that a machine can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tidy.python import statements

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "native", "distributions", "tests", "benchmarks", "docs", "examples")
LONGEST_FUNCTION = 60
LONGEST_NATIVE_FUNCTION = 70
LONGEST_NATIVE_FILE = 500


def _files(*suffixes: str) -> list[Path]:
    return sorted(
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes and "__pycache__" not in path.parts
    )


PYTHON = _files(".py")
NATIVE = _files(".cpp", ".hpp")
PROSE = [*_files(".md"), *sorted(ROOT.glob("*.md"))]


class Seen(NamedTuple):
    silent: bool
    imported: list[tuple[int, set[str | None]]]
    functions: list[tuple[int, str, int]]


@cache
def _seen(path: Path) -> Seen:
    found = Seen(False, [], [])
    for node in statements(path.read_text()):
        if isinstance(node, ast.Module):
            found = found._replace(silent=bool(node.body and not ast.get_docstring(node)))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = {getattr(node, "module", None), *(alias.name for alias in node.names)}
            found.imported.append((node.lineno, names))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            found.functions.append((node.lineno, node.name, length))
    return found


def test_a_python_file_opens_by_saying_what_it_is() -> None:
    assert [path for path in PYTHON if _seen(path).silent] == []


def test_a_native_file_opens_by_saying_what_it_is() -> None:
    own = [p for p in NATIVE if p.suffix == ".hpp" or not p.with_suffix(".hpp").exists()]
    assert [path for path in own if not path.read_text().startswith("// ")] == []


def test_no_file_reaches_behind_the_standard_library() -> None:
    """Whole public modules only: `signal`, not `_signal` without what the other imports."""
    hidden = {name for name in sys.stdlib_module_names if name[0] == "_"} - {"__future__"}
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in PYTHON
        if path.is_relative_to(ROOT / "src")
        for line, names in _seen(path).imported
        if hidden & names
    ]
    assert found == []


def test_a_python_function_fits_a_screen() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{line}: {name} has {length} lines"
        for path in PYTHON
        for line, name, length in _seen(path).functions
        if length > LONGEST_FUNCTION
    ]
    assert long == []


def test_a_native_function_fits_a_screen() -> None:
    assert [f"{path.relative_to(ROOT)}:{at}" for path in NATIVE for at in _long_from(path)] == []


def _long_from(path: Path) -> list[int]:
    found = []
    start = None
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if re.match(r"[A-Za-z].*\{$", line) and not re.match(
            r"(namespace|struct|class|enum)", line
        ):
            start = number
        elif line.startswith("}") and start is not None:
            if number - start >= LONGEST_NATIVE_FUNCTION:
                found.append(start)
            start = None
    return found


def test_no_file_of_the_core_is_longer_than_a_reader_keeps_in_mind() -> None:
    core = [path for path in NATIVE if not path.name.endswith(".test.cpp")]
    lines = {path: len(path.read_text().splitlines()) for path in core}
    assert not {path for path, count in lines.items() if count > LONGEST_NATIVE_FILE}


UNSAFE = {
    "assert": r"(?<![_\w])assert\(",
    "exit": r"(?<![_\w])(?:exit|abort)\(",
    "raw new": r"(?<![_\w])new [A-Z]",
    "delete": r"(?<![_\w=] )delete [a-z]",
    "mutable global": r"^(?:static )?(?:std::|u32|u64|int|double|bool)[^()=;]*(?:=[^;]*)?;$",
}


@pytest.mark.parametrize("habit", UNSAFE)
def test_the_core_does_without(habit: str) -> None:
    core = [p for p in NATIVE if ROOT / "native" in p.parents]
    for path in (p for p in core if p.name != "test.hpp" and not p.name.endswith(".test.cpp")):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            code = line.split("//")[0]
            found = re.search(UNSAFE[habit], code)
            assert not found, f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


OUTSIDE = {
    "a path of a machine": r"/(?:work|home|root|tmp)/\w",
    "a package index by host": r"(?:pypi\.org|pythonhosted|deb\.debian|npmjs)",
    "unfinished business": r"\b(?:TODO|FIXME|XXX|HACK)\b",
}


@pytest.mark.parametrize("what", OUTSIDE)
def test_nothing_speaks_of(what: str) -> None:
    for path in [*PYTHON, *NATIVE, *PROSE]:
        if path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            assert not re.search(OUTSIDE[what], line), f"{path.relative_to(ROOT)}:{number}"


def _run(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing() -> None:
    _run("ruff", "check", ".")


def test_ruff_would_format_nothing() -> None:
    _run("ruff", "format", "--check", ".")


def test_mypy_finds_nothing() -> None:
    _run("mypy")
