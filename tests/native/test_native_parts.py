"""The containers of the core against slow ones: each program here is built and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "native"
COMPILER = shutil.which(os.environ.get("CXX", "g++"))
FLAGS = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror"]


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("part", sorted(path.stem for path in HERE.glob("*.cpp")))
def test_a_part_agrees_with_its_oracle(part: str, tmp_path: Path) -> None:
    program = tmp_path / part
    source, includes = str(HERE / f"{part}.cpp"), [f"-I{NATIVE}", f"-I{HERE}"]
    build = [str(COMPILER), *FLAGS, *includes, source, "-o", str(program)]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
