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


def programs() -> list[Path]:
    return sorted(NATIVE.rglob("*.test.cpp"))


class Objects:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder

    def program(self, test: Path, folder: Path, files: Sequence[Path] = ()) -> Path:
        sources, groups = _needs(test)
        objects = self._all([_object(test), *map(_object, groups)])
        target = folder / _name(test)
        others = [*sources, *files]
        _succeed(_compile(self._folder, *STRICT, *others, *objects, "-o", target))
        return target

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
                _succeed(_compile(self._folder, *self._source(name), "-c", "-o", target))
        return True

    def _source(self, name: str) -> list[object]:
        group = name.removeprefix("group-").removesuffix(".o")
        if group not in GROUPS:
            return [*STRICT, NATIVE / f"{name.removesuffix('.o').replace('-', '/')}.test.cpp"]
        together = self._folder / f"{group}.cpp"
        sources = [source for part in GROUPS[group] for source in _sources(part)]
        together.write_text("".join(f'#include "{source}"\n' for source in sources))
        return [together]


def _name(test: Path) -> str:
    return "-".join(test.relative_to(NATIVE).parts).removesuffix(".test.cpp")


def _object(what: Path | str) -> str:
    return f"group-{what}.o" if isinstance(what, str) else f"{_name(what)}.o"


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
