"""Builds the core with one changed file: one object, and a link, by CMake's commands under
build/mutants.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.mutants.parts import NOT_REBUILT, SECOND_COPIES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "mutants"
MODULE = f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
FLAGS = "-O1 -w -Werror=return-type"


class BuildError(Exception):
    """The sources as they are do not build."""


class Unit(NamedTuple):
    object: str  # as the link line names it
    command: tuple[str, ...]  # without its source and its object
    sources: tuple[Path, ...]


class Core:
    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.tree = FOLDER / "tree"
        self.native = self.tree / "native"
        self.folder = FOLDER / "core"
        self._copy()
        self._configure()
        self.units = [unit for unit in self._units() if not set(unit.command) & set(SECOND_COPIES)]
        self.link = shlex.split((self.folder / "CMakeFiles/_core.dir/link.txt").read_text())
        self.includes = {
            path: set(re.findall(r'^#include "(.+)"', path.read_text(), re.M))
            for path in self.native.rglob("*.[ch]pp")
        }
        self.parts: dict[str, dict[Path, Path]] = {}
        self.lock = threading.Lock()

    def _copy(self) -> None:
        paths = [ROOT / "CMakeLists.txt", *(ROOT / "native").rglob("*.[ch]pp")]
        wanted = {self.tree / path.relative_to(ROOT): path.read_bytes() for path in paths}
        for old in self.tree.rglob("*.[ch]pp"):
            if old not in wanted:
                old.unlink()
        for path, content in wanted.items():
            if not path.exists() or path.read_bytes() != content:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def _configure(self) -> None:
        launcher = shutil.which("ccache")
        options = [
            f"-DPython_EXECUTABLE={sys.executable}",
            "-DCMAKE_BUILD_TYPE=Debug",
            "-DCMAKE_CXX_FLAGS_DEBUG=" + FLAGS,
            "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
            *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []),
        ]
        where = ["cmake", "-G", "Unix Makefiles", "-S", str(self.tree), "-B", str(self.folder)]
        _run([*where, *options], self.folder.parent)
        _run(["cmake", "--build", str(self.folder), "--parallel", str(self.workers)], self.tree)

    def _units(self) -> list[Unit]:
        units = []
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            words = [word for word in shlex.split(entry["command"]) if "ccache" not in word]
            out = words[words.index("-o") + 1]
            source = Path(entry["file"])
            command = [word for word in words if word not in ("-c", "-o", out, entry["file"])]
            command = [word for word in command if not word.startswith(("-Wall", "-Wextra", "-Wc"))]
            command = [word for word in command if word not in ("-w", "-Werror")]
            members = re.findall(r'^#include "(.+\.cpp)"', source.read_text(), re.M)
            paths = [Path(member) for member in members] or [source]
            units.append(Unit(out, tuple(command), tuple(paths)))
        return units

    # --- One changed file

    def build(self, file: str, text: str, worker: int) -> Path | None:
        overlay = self.overlay(worker)
        own = overlay.parent
        shutil.rmtree(overlay, ignore_errors=True)
        changed = own / file
        changed.parent.mkdir(parents=True)
        changed.write_text(text)
        instead: dict[str, list[str]] = {}
        first: list[str] = []
        for unit in self.units:
            using = self._using(unit, file)
            if not using:
                continue
            source = changed
            if not file.endswith(".cpp"):
                source = own / "unit.cpp"
                source.write_text("".join(f'#include "{path}"\n' for path in using))
            made = own / f"{unit.object.replace('/', '-')}.o"
            command = [unit.command[0], f"-I{overlay}", *unit.command[1:]]
            if not _compiles([*command, "-c", str(source), "-o", str(made)], self.folder):
                return None
            rest = set(unit.sources) - set(using)
            apart = self._apart(unit) if rest else {}
            first.append(str(made))
            instead[unit.object] = [str(apart[path]) for path in sorted(rest)]
        if not instead:
            raise BuildError(f"no compiled source uses {file}")
        return self._linked(first, instead, own)

    def overlay(self, worker: int) -> Path:
        return FOLDER / f"worker-{worker}" / "native"

    def _using(self, unit: Unit, file: str) -> list[Path]:
        path = self.tree / file
        if file.endswith(".cpp"):
            return [path] if path in unit.sources else []
        left = tuple(str(self.tree / name) for name in NOT_REBUILT)
        sources = [source for source in unit.sources if not str(source).startswith(left)]
        name = file.removeprefix("native/")
        return [source for source in sources if self._includes(source, name, set())]

    def _includes(self, path: Path, name: str, seen: set[Path]) -> bool:
        if path in seen or path not in self.includes:
            return False
        seen.add(path)
        return name in self.includes[path] or any(
            self._includes(self.native / other, name, seen) for other in self.includes[path]
        )

    def _apart(self, unit: Unit) -> dict[Path, Path]:
        with self.lock:
            return self._made_apart(unit)

    def _made_apart(self, unit: Unit) -> dict[Path, Path]:
        if unit.object not in self.parts:
            folder = self.folder / "apart"
            folder.mkdir(exist_ok=True)
            names = {path: path.relative_to(self.native).with_suffix(".o") for path in unit.sources}
            made = {path: folder / "-".join(name.parts) for path, name in names.items()}
            launcher = ["ccache"] if shutil.which("ccache") else []
            commands = [
                [*launcher, *unit.command, "-c", str(path), "-o", str(out)]
                for path, out in made.items()
            ]
            with ThreadPoolExecutor(self.workers) as pool:
                list(pool.map(lambda command: _run(command, self.folder), commands))
            self.parts[unit.object] = made
        return self.parts[unit.object]

    def _linked(self, first: list[str], instead: dict[str, list[str]], own: Path) -> Path | None:
        """Link; the linker keeps the first of two copies of an inline function."""
        out = own / MODULE
        words: list[str] = []
        for word in self.link:
            words += instead.get(word, [word])
        at = words.index("-o") + 1
        words[at : at + 1] = [str(out), *first]
        return out if _compiles(words, self.folder) else None


def package(worker: int) -> Path:
    folder = FOLDER / f"worker-{worker}" / "package"
    shutil.rmtree(folder, ignore_errors=True)
    leave = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src" / "yantra", folder / "yantra", ignore=leave)
    return folder


def built_core() -> Path:
    return FOLDER / "core" / MODULE


def _compiles(command: list[str], folder: Path) -> bool:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0


def _run(command: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ
    )
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
