"""Imports and includes run one way."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.tidy.python import statements

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "yantra"

# Each part may import those of earlier rows, and its own.
PYTHON_LAYERS = [
    ("base",),
    ("chakra",),
    ("tracing", "collectives", "compute", "memory", "schedulers"),
    ("fabric", "workloads"),
    ("network",),
    ("scenario",),
    ("astra_sim",),
    ("compile",),
    ("result",),
    ("run",),
    ("export", "demo"),
    ("explain", "accuracy", "synth"),
    ("explore",),
    ("serving",),
    ("rl",),
    ("library",),
    ("suites",),
    ("kinds", "asked", "plugin"),
    ("lives",),
    ("ui", "service"),
    ("cli",),
    ("collect", "__main__", "pytest_plugin"),
]
IMPORTS_THE_CORE = {
    "chakra",
    "tracing",
    "compile",
    "network",
    "result",
    "run",
    "export",
    "serving",
    "rl",
}
# Of the collectives only the search through fabrics is called once per link and chunk.
FOLDERS_WITH_THE_CORE = {"collectives/synthesis"}

# Rooms of workloads/: each may import those before it; files beside them may import all.
WORKLOADS_LAYERS = [
    ("operators", "schedules", "templates"),
    ("models",),
    ("plan",),
    ("training", "importers"),
    ("serving",),
    ("frameworks",),
]

# The same for explore/, where no two files import each other in a circle either.
EXPLORE_LAYERS = [("closed_form",), ("study",), ("answers",), ("pages",)]

# The folders of native/: none includes one of a later row. A run's side of a part is a folder of
# its own.
NATIVE_LAYERS = [
    ("base",),
    ("record", "fabric", "trace", "export"),
    ("trace/tools", "trace/replay", "fabric/routing", "engine"),
    ("trace/linking", "network/flow"),
    ("network/packet", "network/noc"),
    ("network/packet/cc", "network/packet/queue", "network/noc/routing"),
    ("network",),
    ("network/flow/level",),
    ("memory", "transport"),
    ("collective",),
    ("collective/synthesis", "collective/exchange"),
    ("collective/runtime",),
    ("workload",),
    ("model",),
    ("execution",),
    ("run",),
    ("fold",),
    ("fold/runtime", "accounting"),
    ("fold/shortcuts",),
    ("serving/asked",),
    ("serving/kv",),
    ("serving",),
    ("serving/cost", "serving/engines", "serving/routing"),
    ("post_training",),
    ("post_training/feeds",),
    ("bind",),
]


def _level(layers: list[tuple[str, ...]], part: str) -> int:
    for level, parts in enumerate(layers):
        if part in parts:
            return level
    raise AssertionError(f"{part} has no place in the layers; give it one")


def _part(path: Path, root: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".py")


@cache
def _imported_parts(path: Path) -> set[str]:
    parts = set()
    for node in statements(path.read_text()):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == "yantra":
            names = [f"yantra.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        parts |= {name.split(".")[1] for name in names if name.startswith("yantra.")}
    return parts


PYTHON_FILES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.parent != PACKAGE or path.stem != "__init__"
]


def test_a_python_part_imports_only_earlier_parts() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {imported}"
        for path in PYTHON_FILES
        for imported in _imported_parts(path) - {"_core", "__version__", _part(path, PACKAGE)}
        if _level(PYTHON_LAYERS, imported) >= _level(PYTHON_LAYERS, _part(path, PACKAGE))
    ]
    assert wrong == []


def test_only_a_few_parts_import_the_core() -> None:
    wrong = [
        str(path.relative_to(PACKAGE))
        for path in PYTHON_FILES
        if "_core" in _imported_parts(path)
        and str(path.parent.relative_to(PACKAGE)) not in FOLDERS_WITH_THE_CORE
        and _part(path, PACKAGE) not in IMPORTS_THE_CORE
    ]
    assert wrong == []


@cache
def _imported_modules(path: Path, package: str) -> set[str]:
    found = set()
    for node in statements(path.read_text()):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        inside = (name.removeprefix(package + ".") for name in names if name.startswith(package))
        found |= {name.split(".")[0] for name in inside}
    return found


@pytest.mark.parametrize(
    ("part", "layers"), [("workloads", WORKLOADS_LAYERS), ("explore", EXPLORE_LAYERS)]
)
def test_a_room_of_a_part_imports_only_earlier_rooms(
    part: str, layers: list[tuple[str, ...]]
) -> None:
    rooms = [room for layer in layers for room in layer]
    folder = PACKAGE / part
    assert {path.parent.name for path in folder.glob("*/__init__.py")} == set(rooms)
    for room in rooms:
        for path in sorted((folder / room).rglob("*.py")):
            for imported in _imported_modules(path, f"yantra.{part}") & (set(rooms) - {room}):
                place = f"{path.relative_to(ROOT)} imports {imported}"
                assert _level(layers, imported) < _level(layers, room), place


def test_all_of_explore_stands_in_its_rooms() -> None:
    assert [path.name for path in (PACKAGE / "explore").glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize("folder", ["result", *(f"explore/{room}" for (room,) in EXPLORE_LAYERS)])
def test_no_files_of_a_room_import_each_other_in_a_circle(folder: str) -> None:
    files = {path.stem: path for path in (PACKAGE / folder).glob("*.py")}
    package = f"yantra.{folder.replace('/', '.')}"
    left = {
        name: _imported_modules(path, package) & set(files) - {name}
        for name, path in files.items()
        if name != "__init__"
    }
    while left:
        free = {name for name, imported in left.items() if not imported & set(left)}
        assert free, f"in a circle: {', '.join(sorted(left))}"
        left = {name: imported for name, imported in left.items() if name not in free}


def test_a_native_layer_includes_only_earlier_layers() -> None:
    native = ROOT / "native"
    for path in sorted(native.rglob("*.[ch]pp")):
        part = str(path.parent.relative_to(native))
        for included in re.findall(r'#include "([a-z_/]+)/', path.read_text()):
            if included != part:
                place = f"{path.relative_to(ROOT)} includes {included}"
                assert _level(NATIVE_LAYERS, included) < _level(NATIVE_LAYERS, part), place


def test_no_rooms_of_the_core_include_each_other() -> None:
    native = ROOT / "native"
    arrows: set[tuple[str, str]] = set()
    for path in native.rglob("*.[ch]pp"):
        room = path.relative_to(native).parts[0]
        included = re.findall(r'#include "([a-z_]+)/', path.read_text())
        arrows |= {(room, other) for other in included if other != room}
    rooms = list(dict.fromkeys(part.split("/")[0] for layer in NATIVE_LAYERS for part in layer))
    up = [f"{room} -> {other}" for room, other in arrows if rooms.index(other) > rooms.index(room)]
    assert up == []


def test_the_architecture_lists_the_native_layers_in_this_order() -> None:
    page = (ROOT / "docs" / "internals" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z_/]+/`(?:, `[a-z_/]+/`)*) \|", page, re.MULTILINE)
    listed = [tuple(re.findall(r"`([a-z_/]+)/`", row)) for row in rows]
    first = len(listed) - 1 - listed[::-1].index(NATIVE_LAYERS[0])  # behind those of Python
    parts = [part for row in listed[first:] for part in row]
    assert parts == [part for layer in NATIVE_LAYERS for part in layer]
