"""The drop-in package `chakra` of `distributions/chakra`, last on the path as if installed."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DISTRIBUTION = ROOT / "distributions" / "chakra"
SOURCE = DISTRIBUTION / "src"


def append_to_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(SOURCE)])


def run_module(module: str, line: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", [module, *line])
    sys.modules.pop(module, None)  # runpy warns of a module that is imported already
    with pytest.raises(SystemExit) as end:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    return int(end.value.code or 0)


def python(*words: str, cwd: Path, path: list[Path]) -> subprocess.CompletedProcess[str]:
    places = [os.environ.get("PYTHONPATH", ""), *map(str, path)]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
