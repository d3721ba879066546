"""Fuzzes every reader: python -m tests.fuzz --seconds 600. `--target NAME` runs
tests/fuzz/NAME_target.cpp, tests/fuzz/readers/NAME.py, `jobs`, `flips` or `installed`
(tests/fuzz/NAME.py). Files named at the end are tried first; a crash is left in build/fuzz.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz import flips, installed, jobs, loop, readers

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "fuzz"
BUILD = ROOT / "build" / "fuzz"
COMPILER = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++20", "-g", "-Wall", "-Wextra", f"-I{ROOT / 'native'}", f"-I{HERE}"]
CHECKS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def build(target: str) -> Path:
    BUILD.mkdir(parents=True, exist_ok=True)
    guided = ["-O1", *CHECKS, "-fsanitize-coverage=trace-pc"]
    jobs = [
        *((source, guided) for source in sorted((ROOT / "native" / "trace").rglob("*.cpp"))),
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
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--target",
        default="all",
        choices=["all", "trace", "jobs", "flips", "installed", *readers.names()],
    )
    parser.add_argument("--runs", type=int, default=20_000, help="of jobs, flips and installed")
    parser.add_argument("--command", nargs="+", default=installed.OWN, help="of installed")
    parser.add_argument("inputs", nargs="*", help="files to try first")
    asked = parser.parse_args()
    first = [Path(name).resolve() for name in asked.inputs]
    if asked.target == "trace":
        return _native(asked.target, asked.seconds, asked.seed, first)
    if asked.target == "jobs":
        return jobs.campaign(asked.runs, asked.seconds, asked.seed)
    if asked.target == "flips":
        return flips.campaign(asked.runs, asked.seconds, asked.seed)
    if asked.target == "installed":
        kept = BUILD / "installed"
        return bool(
            installed.campaign(
                asked.runs, asked.seconds, asked.seed, command=asked.command, kept=kept
            )
        )
    if asked.target != "all":
        return _python(asked.target, asked.seconds, asked.seed, first)
    share = asked.seconds / 2 / len(readers.names())
    faults = [_python(name, share, asked.seed, first) for name in readers.names()]
    return _native("trace", asked.seconds // 2, asked.seed, first) or max(faults)


def _native(target: str, seconds: int, seed: int, first: list[Path]) -> int:
    command = [str(build(target)), str(seconds), str(seed), *map(str, first)]
    return subprocess.run(command, cwd=BUILD, check=False).returncode


def _python(name: str, seconds: float, seed: int, first: list[Path]) -> int:
    inputs = tuple(path.read_bytes() for path in first)
    found = loop.fuzz(readers.load(name), seconds=seconds, seed=seed, first=inputs)
    fault = "no fault" if found.failure is None else found.failure.problem
    print(f"{name}: {found.runs} runs, {found.kept} inputs kept, {fault}", flush=True)
    if found.failure is None:
        return 0
    crash = BUILD / f"{name}-crash"
    loop.save(found.failure, crash)
    print(f"the input is in {crash.relative_to(ROOT)}")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
