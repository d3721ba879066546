"""Builds a fuzz target with sanitizers and runs it: python -m tests.fuzz --seconds 600.

`--target NAME` runs tests/fuzz/NAME_target.cpp. Files named at the end are tried first, so a
crash can be run again: the driver leaves the input in build/fuzz/fuzz-crash. g++ has no libFuzzer,
hence our own driver.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "fuzz"
BUILD = ROOT / "build" / "fuzz"
COMPILER = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++20", "-g", "-Wall", "-Wextra", f"-I{ROOT / 'native'}", f"-I{HERE}"]
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def build(target: str) -> Path:
    """Compile the trace part of the core, the target and the driver; return the program."""
    BUILD.mkdir(parents=True, exist_ok=True)
    guided = ["-O1", *CHECKS, "-fsanitize-coverage=trace-pc"]
    jobs = [
        *((source, guided) for source in sorted((ROOT / "native" / "trace").glob("*.cpp"))),
        (HERE / f"{target}_target.cpp", guided),
        (HERE / "driver.cpp", ["-O2"]),
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(_compile, *zip(*jobs, strict=True)))
    program = BUILD / target
    _run(COMPILER, *CHECKS, *objects, "-o", program)
    return program


def _compile(source: Path, options: list[str]) -> Path:
    out = BUILD / f"{source.stem}.o"
    _run(COMPILER, *FLAGS, *options, "-c", source, "-o", out)
    return out


def _run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True)


def main() -> int:
    """Build and fuzz; return 0 when no fault was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", default="trace")
    parser.add_argument("inputs", nargs="*", help="files to try first")
    asked = parser.parse_args()
    program = build(asked.target)
    inputs = [str(Path(name).resolve()) for name in asked.inputs]
    command = [str(program), str(asked.seconds), str(asked.seed), *inputs]
    return subprocess.run(command, cwd=BUILD, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
