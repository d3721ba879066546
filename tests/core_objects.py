"""Builds `native/<part>/*.test.cpp` with `name.cpp`, unless the test includes it, and with what its
line `// needs:` names: sources, folders, or `the parts of a run`. $YANTRA_NATIVE names the folders;
the first that has a source is taken.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

NATIVE = Path(__file__).resolve().parents[1] / "native"
OTHERS = os.environ.get("YANTRA_NATIVE", "")
FOLDERS = [Path(folder) for folder in OTHERS.split(os.pathsep)] if OTHERS else [NATIVE]
COMPILER = shutil.which(os.environ.get("CXX", "g++"))
CACHE = [found] if (found := shutil.which("ccache")) else []
INCLUDED = [f"-I{folder}" for folder in FOLDERS]
# What a test does not call need not be linked. An index beyond its vector ends a test.
LINKED = ["-ffunction-sections", "-Wl,--gc-sections", "-D_GLIBCXX_ASSERTIONS"]
FLAGS = ["-std=c++20", "-O1", "-DYANTRA_POISON", *INCLUDED, *LINKED]
# A mutant must fail in a test, not for a warning.
STRICT = ["-w"] if OTHERS else ["-Wall", "-Wextra", "-Werror"]

INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
GROUP = "group-"
REGISTERS = "\nconst Registered"
PARTS_OF_A_RUN = "the parts of a run"
RUN = "run"
GROUPS = {
    "fabric": ["fabric", "fabric/routing"],
    "flow": ["network/flow"],
    "packet": ["network/packet", "network/packet/cc", "network/packet/queue"],
    "noc": ["network/noc", "network/noc/routing"],
    RUN: [
        "collective",
        "network",
        "network/flow/level",
        "transport",
        "memory",
        "collective/exchange",
        "collective/runtime",
        "execution",
        "run",
        "model/rank_order.cpp",
        "model/work.cpp",
        "workload/rank_rules.cpp",
    ],
}
"""Sources that compile twice as fast together; only `the parts of a run` take the last group."""
TAKES = {"packet": ["flow"]}
"""Groups that a group cannot be linked without."""


LINES_TOGETHER = 1 if OTHERS else 1_200
"""Tests of equal groups share a program of about so many lines: most of a small one's cost is its
headers. A mutant's test is built alone.
"""
MAIN = re.compile(r"^int main\((?:int count, char\*\* arguments)?\) \{$", re.MULTILINE)
PART = "void all_of_it([[maybe_unused]] int count, [[maybe_unused]] char** arguments) {"


def programs() -> list[Path]:
    return sorted(NATIVE.rglob("*.test.cpp"))


class Objects:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder

    def command(self, test: Path, folder: Path, files: Sequence[Path] = ()) -> list[Path | str]:
        """What runs a test; with `files` its program is linked anew, into `folder`."""
        together = _together()[test]
        name = _name(together[0])
        if files:
            program = folder / name
            self._link(program, together, files)
        else:
            (program,) = self._all([name])
        return [program, _name(test)]

    def _link(self, program: Path, tests: Sequence[Path], files: Sequence[Path] = ()) -> None:
        groups = _needs(tests[0])[1]
        alone = dict.fromkeys(source for test in tests for source in _needs(test)[0])
        objects = self._all([f"{_name(tests[0])}.o", *(f"{GROUP}{name}.o" for name in groups)])
        _succeed(_compile(self._folder, *STRICT, *alone, *files, *objects, "-o", program))

    def _all(self, names: list[str]) -> list[Path]:
        late = [name for name in names if not self._built(name, waiting=False)]
        for name in late:
            self._built(name, waiting=True)
        return [self._folder / name for name in names]

    def _built(self, name: str, *, waiting: bool) -> bool:
        target = self._folder / name
        with Path(f"{target}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if waiting else fcntl.LOCK_NB))
            except BlockingIOError:
                return False
            if not target.exists():
                self._build(name, target)
        return True

    def _build(self, name: str, target: Path) -> None:
        if name.startswith(GROUP):
            sources = _of_group(name.removeprefix(GROUP).removesuffix(".o"))
            text = "".join(f'#include "{source}"\n' for source in sources)
            self._compile(text, target)
            return
        tests = _together()[_test(name.removesuffix(".o"))]
        if name.endswith(".o"):
            self._compile(_as_one(tests), target, *STRICT)
        else:
            self._link(target, tests)

    def _compile(self, text: str, target: Path, *flags: str) -> None:
        source = target.with_suffix(".cpp")
        source.write_text(text)
        _succeed(_compile(self._folder, *flags, source, "-c", "-o", target))


@cache
def _together() -> dict[Path, list[Path]]:
    """The tests of each one's program, by it."""
    found: dict[Path, list[Path]] = {}
    last: dict[tuple[str, ...], tuple[int, list[Path]]] = {}
    for test in programs():
        text = test.read_text()
        if REGISTERS in text:  # which the others would find
            found[test] = [test]
            continue
        groups = tuple(_needs(test)[1])
        lines, tests = last.get(groups, (LINES_TOGETHER, []))
        if lines >= LINES_TOGETHER:
            lines, tests = 0, []
        tests.append(test)
        found[test] = tests
        last[groups] = lines + text.count("\n"), tests
    return found


def _as_one(tests: Sequence[Path]) -> str:
    """Each in a namespace, its `#include`s before all; the first word says which one runs."""
    included: dict[str, None] = {"#include <string_view>": None}
    bodies, calls = [], []
    for test in tests:
        text = test.read_text()
        included |= dict.fromkeys(INCLUDE.findall(text))
        own = "of_" + re.sub(r"\W", "_", _name(test))
        body, mains = MAIN.subn(PART, INCLUDE.sub("", text))
        assert mains == 1, f"{test}: expected one `int main() {{`"
        bodies.append(f'namespace {own} {{\n#line 1 "{test}"\n{body}}}\n')
        calls.append(
            f'if (name == "{_name(test)}") return {own}::all_of_it(count - 1, words + 1), 0;\n'
        )
    main = "int main(int count, char** words) {\nconst std::string_view name = words[1];\n"
    return "\n".join([*included, *bodies, main, *calls, "return 2;\n}\n"])


def _name(test: Path) -> str:
    return "-".join(test.relative_to(NATIVE).parts).removesuffix(".test.cpp")


def _test(name: str) -> Path:
    return NATIVE / f"{name.replace('-', '/')}.test.cpp"


def _of_group(name: str) -> list[Path]:
    return [source for part in GROUPS[name] for source in _sources(part)]


@cache
def _needs(test: Path) -> tuple[list[Path], list[str]]:
    text = test.read_text()
    named = re.search(r"^// needs: (.*)$", text, re.MULTILINE)
    if named and named[1] == PARTS_OF_A_RUN:
        return [], list(GROUPS)
    own = str(test.relative_to(NATIVE)).replace(".test.cpp", ".cpp")
    found = []
    if (NATIVE / own).exists() and f'#include "{own}"' not in text:
        found.append(own)
    if named:
        found += [source for name in named[1].split(",") for source in _names(name.strip())]
    groups = {_group(source) for source in found}
    groups |= {taken for group in groups for taken in TAKES.get(group, ())}
    alone = [_source(name) for name in dict.fromkeys(found) if not _group(name)]
    return alone, sorted(groups - {""})


def _group(source: str) -> str:
    folder = source.rpartition("/")[0]
    return next((name for name, parts in GROUPS.items() if folder in parts and name != RUN), "")


def _names(name: str) -> Iterator[str]:
    if name.endswith(".cpp"):
        yield name
        return
    for path in sorted((NATIVE / name).glob("*.cpp")):
        if not path.name.endswith(".test.cpp"):
            yield f"{name}/{path.name}"


def _sources(name: str) -> list[Path]:
    return [_source(own) for own in _names(name)]


def _source(name: str) -> Path:
    return next(folder / name for folder in FOLDERS if (folder / name).exists())


def _compile(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*CACHE, str(COMPILER), *FLAGS, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _succeed(built: subprocess.CompletedProcess[str]) -> None:
    assert built.returncode == 0, built.stderr
