"""How fast the commands start, in wall and in processor seconds: the best of some runs.

Measured are `--version`, a small run, the help of every command, and what a shell waits for behind
`<TAB>`. The goal of a small run is in processor seconds, which other work on the machine changes
less.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click

from benchmarks.inputs import all_reduce
from benchmarks.speed import process_seconds
from yantra.cli.group import yantra

VERSION_GOAL_S = 0.15
SMALL_RUN_GOAL_CPU_S = 0.055
HELP_GOAL_S = 0.3
COMPLETION_GOAL_S = 0.2
REPEATS = 7
CPU_REPEATS = 30
COMPLETED = ("yantra ch", "yantra run --t", "yantra workload show ", "yantra cluster show h")
_PROGRAM = str(Path(sys.executable).with_name("yantra"))


def report(folder: Path) -> bool:
    small = folder / "small"
    all_reduce(small, [("Ring", 8)], "ring")
    run = [
        *("astra-sim", "--workload-configuration=workload", "--system-configuration=system.json"),
        *("--network-configuration=network.yml", "--remote-memory-configuration=memory.json"),
    ]
    met = _told("yantra --version", _wall(["--version"], small), VERSION_GOAL_S)
    alone = _processor([sys.executable, "-c", "pass"], small)
    print(f"{'python -c pass':38} {alone:6.3f} s processor", flush=True)
    taken = _processor([_PROGRAM, *run], small)
    met &= _told("yantra astra-sim, 8 ranks", taken, SMALL_RUN_GOAL_CPU_S, "processor")
    for words in _commands(yantra):
        seconds = _wall([*words, "--help"], small)
        met &= _told(" ".join(("yantra", *words, "--help")), seconds, HELP_GOAL_S)
    for line in COMPLETED:
        words = line.split(" ")
        asks = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
        seconds = _wall([], small, asks | {"_YANTRA_COMPLETE": "bash_complete"})
        met &= _told(f"{line}<TAB>", seconds, COMPLETION_GOAL_S)
    return met


def _commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from _commands(below, (*words, name))


def _told(what: str, seconds: float, goal_s: float, clock: str = "wall") -> bool:
    print(f"{what:38} {seconds:6.3f} s {clock} (below {goal_s} s)", flush=True)
    return seconds < goal_s


def _processor(command: list[str], folder: Path) -> float:
    times = (process_seconds(command, folder, must_succeed=True) for _ in range(CPU_REPEATS))
    return min(times)


def _wall(arguments: list[str], folder: Path, environment: dict[str, str] | None = None) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run(
            [_PROGRAM, *arguments],
            cwd=folder,
            env=os.environ | (environment or {}),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        raise SystemExit(0 if report(Path(made)) else 1)
