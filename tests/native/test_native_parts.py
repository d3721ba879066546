"""The tests beside the parts of the core, `native/<part>/*.test.cpp`: each is built and run.

A test is a program that states laws, where it can against a slow oracle. It ends with 1 and the
step at which one broke. Beside `name.test.cpp` goes `name.cpp`, if there is one and the test does
not include it whole, and what its line `// needs:` names: sources, folders of them, or `the parts
of a run`, which are compiled once for all tests. What one worker has built, the others use.

$YANTRA_NATIVE names the folders to take sources from; the first that has one counts. So the mutants
of tests/mutants put a folder with their one changed file before the rest.
"""

from __future__ import annotations

import fcntl
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "native"
TESTS = sorted(NATIVE.rglob("*.test.cpp"))
OTHERS = os.environ.get("YANTRA_NATIVE", "")
FOLDERS = [Path(folder) for folder in OTHERS.split(os.pathsep)] if OTHERS else [NATIVE]
COMPILER = shutil.which(os.environ.get("CXX", "g++"))
CACHE = [found] if (found := shutil.which("ccache")) else []
INCLUDED = [f"-I{folder}" for folder in FOLDERS]
# What a test does not call need not be there to be linked. An index beyond its vector ends a test.
LINKED = ["-ffunction-sections", "-Wl,--gc-sections", "-D_GLIBCXX_ASSERTIONS"]
FLAGS = ["-std=c++20", "-O1", *INCLUDED, *LINKED]
# A mutant must not fail for a warning: tests are to notice it.
STRICT = ["-w"] if OTHERS else ["-Wall", "-Wextra", "-Werror"]

PARTS_OF_A_RUN = "the parts of a run"
IN_A_RUN = [
    "fabric",
    "fabric/routing",
    "collective",
    "network/flow",
    "network/packet",
    "network/packet/cc",
    "network/packet/queue",
    "network/noc",
    "network/noc/routing",
    "network",
    "transport",
    "memory",
    "collective/runtime",
    "execution",
    "run",
]
BESIDE_THEM = ["model/layout.cpp", "workload/rank_rules.cpp"]

MOST_SECONDS = 20  # of the processor, for a program; the slowest takes two

Built = subprocess.CompletedProcess[str]


def _needs(test: Path) -> tuple[list[Path], bool]:
    """Return the sources of a test, itself first, and whether it needs the parts of a run."""
    text = test.read_text()
    named = re.search(r"^// needs: (.*)$", text, re.MULTILINE)
    if named and named[1] == PARTS_OF_A_RUN:
        return [test], True
    own = str(test.relative_to(NATIVE)).replace(".test.cpp", ".cpp")
    found = [test]
    if (NATIVE / own).exists() and f'#include "{own}"' not in text:
        found.append(_source(own))
    if named:
        found += [source for name in named[1].split(",") for source in _sources(name.strip())]
    return list(dict.fromkeys(found)), False


def _sources(name: str) -> list[Path]:
    """Return a source, or those of a folder that does not end in `.cpp`."""
    if name.endswith(".cpp"):
        return [_source(name)]
    names = sorted(path.name for path in (NATIVE / name).glob("*.cpp"))
    return [_source(f"{name}/{own}") for own in names if not own.endswith(".test.cpp")]


def _source(name: str) -> Path:
    return next(folder / name for folder in FOLDERS if (folder / name).exists())


def _compile(folder: Path, *arguments: object) -> Built:
    command = [*CACHE, str(COMPILER), *FLAGS, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _once(target: Path, build: Callable[[], Built]) -> Path:
    """Return the target, built by whoever asks for it first."""
    with Path(f"{target}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            built = build()
            assert built.returncode == 0, built.stderr
    return target


def _limit_time() -> None:
    """Let a program that hangs end with a signal."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all workers build in."""
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "native"
    shared.mkdir(exist_ok=True)
    return shared


@pytest.fixture(scope="session")
def parts_of_a_run(folder: Path) -> Callable[[], Path]:
    """Return who builds one object of all of them: together they compile twice as fast."""
    names = [
        f"{part}/{source.name}"
        for part in IN_A_RUN
        for source in sorted((NATIVE / part).glob("*.cpp"))
        if not source.name.endswith(".test.cpp")
    ]
    sources = [_source(name) for name in [*names, *BESIDE_THEM]]
    together = folder / "parts_of_a_run.cpp"
    target = together.with_suffix(".o")

    def build() -> Built:
        together.write_text("".join(f'#include "{source}"\n' for source in sources))
        return _compile(folder, "-c", together.name, "-o", target.name)

    return lambda: _once(target, build)


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("test", TESTS, ids=lambda test: str(test.relative_to(NATIVE)))
def test_a_part_keeps_its_laws(
    test: Path, folder: Path, parts_of_a_run: Callable[[], Path]
) -> None:
    sources, needs_a_run = _needs(test)
    objects = [parts_of_a_run()] if needs_a_run else []
    target = folder / "-".join(test.relative_to(NATIVE).parts).removesuffix(".test.cpp")
    program = _once(target, lambda: _compile(folder, *STRICT, *sources, *objects, "-o", target))
    done = subprocess.run(
        [program], capture_output=True, text=True, check=False, preexec_fn=_limit_time
    )
    assert done.returncode == 0, done.stdout + done.stderr
