"""The tests beside the parts of the core, `native/<part>/*.test.cpp`: each is built and run.

A test is a program that states laws against a slow oracle; it ends with 1 and the step at which one
broke. Beside `name.test.cpp` the sources it needs are linked: `name.cpp`, if there is one and the
test does not include it whole, and those its line `// With: part/other.cpp, ...` names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "native"
TESTS = sorted(NATIVE.rglob("*.test.cpp"))
COMPILER = shutil.which(os.environ.get("CXX", "g++"))
FLAGS = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}"]

Built = subprocess.CompletedProcess[str]


def sources(test: Path) -> list[Path]:
    """Return what a test is built from: itself first."""
    text = test.read_text()
    own = test.with_name(test.name.replace(".test.cpp", ".cpp"))
    found = [test]
    if own.exists() and f'#include "{own.relative_to(NATIVE)}"' not in text:
        found.append(own)
    if named := re.search(r"^// With: (.*)$", text, re.MULTILINE):
        found += [NATIVE / name.strip() for name in named[1].split(",")]
    return found


@pytest.fixture(scope="session")
def build(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Callable[[Path], tuple[Path, Built]]:
    """Start to build all tests that were asked for, side by side; return who waits for one."""
    folder = tmp_path_factory.mktemp("native")
    pool = ThreadPoolExecutor(os.cpu_count())
    request.addfinalizer(lambda: pool.shutdown(cancel_futures=True))
    asked = {item.callspec.params["test"] for item in request.session.items if _is_ours(item)}
    programs = {test: folder / "-".join(test.relative_to(NATIVE).parts) for test in asked}
    builds: dict[Path, Future[Built]] = {
        test: pool.submit(_compile, test, program.with_suffix(""))
        for test, program in sorted(programs.items())
    }
    return lambda test: (programs[test].with_suffix(""), builds[test].result())


def _is_ours(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and item.function is test_a_part_keeps_its_laws


def _compile(test: Path, program: Path) -> Built:
    command = [str(COMPILER), *FLAGS, *map(str, sources(test)), "-o", str(program)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("test", TESTS, ids=lambda test: str(test.relative_to(NATIVE)))
def test_a_part_keeps_its_laws(test: Path, build: Callable[[Path], tuple[Path, Built]]) -> None:
    program, built = build(test)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
