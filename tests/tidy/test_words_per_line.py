"""Prose is at most 0.84 words for each line of code: docs, docstrings, comments and the
CHANGELOG.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.tidy.python import statements

ROOT = Path(__file__).resolve().parents[2]
CODE = ("src", "native", "tests", "benchmarks", "docs", "examples", "adapters", "distributions")
MOST_PER_LINE = 0.84
MOST_OF_THE_CHANGELOG = 4_000
_STRING_OR_COMMENT = re.compile(
    r"""'''(?:\\.|.)*?'''|\"\"\"(?:\\.|.)*?\"\"\"|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|#([^\n]*)""",
    re.DOTALL,
)
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def words_of_python(text: str) -> int:
    """The words of docstrings and comments."""
    nodes = (node for node in statements(text) if isinstance(node, _DOCUMENTED))
    found = [ast.get_docstring(node, clean=False) or "" for node in nodes]
    found += _STRING_OR_COMMENT.findall(text) if "#" in text else []
    return sum(len(one.split()) for one in found)


def words_of_core(text: str) -> int:
    """The words after `//`; a `//` in a string counts, too, which is rare."""
    return sum(len(one.split()) for one in re.findall(r"//+(.*)", text))


def files(*endings: str) -> list[Path]:
    of_code = (path for folder in CODE for path in (ROOT / folder).rglob("*"))
    return [path for path in (*of_code, *ROOT.glob("*")) if path.suffix in endings]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_prose_is_bounded_by_code() -> None:
    python = [read(path) for path in files(".py", ".pyi")]
    core = [read(path) for path in files(".cpp", ".hpp")]
    words = sum(map(words_of_python, python)) + sum(map(words_of_core, core))
    words += sum(len(read(path).split()) for path in files(".md"))
    lines = sum(text.count("\n") for text in (*python, *core))
    assert words <= MOST_PER_LINE * lines, f"{words:,} words to {lines:,} lines"


def test_the_changelog_can_be_read_in_an_hour() -> None:
    assert len(read(ROOT / "CHANGELOG.md").split()) <= MOST_OF_THE_CHANGELOG


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('"""One two."""\n', 2),
        ("x = 1  # three more words\n", 3),
        ('def f():\n    """Four."""\n    # five\n', 2),
        ('x = "# no comment, no docstring"\n', 0),
        ('x = """\n# none\n"""  # "one"\n', 1),
        ("x = 'it\\'s'  # two words\n", 2),
    ],
)
def test_words_of_python_are_docstrings_and_comments(text: str, words: int) -> None:
    assert words_of_python(text) == words


def test_words_of_the_core_are_its_comments() -> None:
    assert words_of_core("int a;  // two words\n// three more words\n") == 5
