"""The line `// needs:` of a test of the core names what the test is built with, and
nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import pytest

from tests.core_objects import GROUPS, NATIVE, PARTS_OF_A_RUN, RUN, programs

LINE = re.compile(r"// needs: \S.*")


@cache
def _includes(file: str) -> tuple[str, ...]:
    found = re.findall(r'^#include "(.*)"', (NATIVE / file).read_text(), re.MULTILINE)
    return tuple(name for name in found if (NATIVE / name).exists())


def _reached(files: Iterable[str]) -> set[str]:
    reached: set[str] = set()
    left = list(files)
    while left:
        if (file := left.pop()) not in reached:
            reached.add(file)
            left += _includes(file)
    return reached


def _sources(name: str) -> set[str]:
    files = [NATIVE / name] if name.endswith(".cpp") else (NATIVE / name).glob("*.cpp")
    found = {str(file.relative_to(NATIVE)) for file in files if file.exists()}
    return {file for file in found if not file.endswith(".test.cpp")}


def _wrong(test: str, text: str) -> list[str]:
    head = text.partition("#include")[0]
    lines = [line for line in text.splitlines() if re.match(r"\s*//\s*needs?\b\s*:", line, re.I)]
    if len(lines) != head.count("\n// needs: ") + head.startswith("// needs: "):
        return ["not one line `// needs: ...` before the first #include"]
    if not lines:
        return []
    if len(lines) > 1 or not LINE.fullmatch(lines[0]):
        return [f"expected one line `// needs: a, b`, got {lines}"]
    named = lines[0].removeprefix("// needs: ")
    if named == PARTS_OF_A_RUN:
        reached = {file.rpartition("/")[0] for file in _reached([test])}
        return [] if reached & {*GROUPS[RUN]} else ["reaches no part of a run"]
    names = [name.strip() for name in named.split(",")]
    own = test.replace(".test.cpp", ".cpp")
    wrong = [f"{name}: twice" for name in {*names} if names.count(name) > 1]
    wrong += [f"{own}: is taken anyway"] * (own in names)
    given = {name: _sources(name) for name in names}
    wrong += [f"{name}: no such source" for name, sources in given.items() if not sources]
    linked = [test, *({own} & _sources(own)), *(file for of in given.values() for file in of)]
    for name in names:
        header = name.replace(".cpp", ".hpp")
        if name.endswith(".cpp") and (NATIVE / header).exists():
            others = [file for file in linked if file != name]
            wrong += [f"{name}: nothing includes {header}"] * (header not in _reached(others))
    return wrong


def test_each_native_test_says_what_it_needs() -> None:
    tests = [str(path.relative_to(NATIVE)) for path in programs()]
    wrong = {test: _wrong(test, (NATIVE / test).read_text()) for test in tests}
    assert {test: found for test, found in wrong.items() if found} == {}
    assert sum("// needs: " in (NATIVE / test).read_text() for test in tests) > 20  # it finds them


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("// needs: fabric/gird.cpp", "no such source"),
        ("// needs: fabric/links.cpp", "is taken anyway"),
        ("// needs: fabric/grid.cpp, fabric/grid.cpp", "twice"),
        ("// needs: workload/rank_rules.cpp", "nothing includes"),
        ("// need: fabric/grid.cpp", "not one line"),
        ("#include <span>\n// needs: fabric/grid.cpp", "not one line"),
        ("// needs: fabric/grid.cpp\n// needs: fabric/table.cpp", "expected one line"),
        ("// needs: the parts of a run", "reaches no part"),
    ],
)
def test_a_line_that_says_too_much_is_found(line: str, problem: str) -> None:
    assert problem in str(_wrong("fabric/links.test.cpp", f"{line}\n"))


def test_a_usual_line_is_not() -> None:
    assert _wrong("fabric/links.test.cpp", "// needs: fabric/grid.cpp, fabric/table.cpp\n") == []
    assert _wrong("fabric/links.test.cpp", "") == []
