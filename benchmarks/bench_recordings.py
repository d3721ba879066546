"""A large recording through every command: user seconds and peak memory of each.

One rank of 832,000 operators and device ops, made here (`YANTRA_RECORDING_OPERATORS` makes fewer).
Goals: at most 12 s and 500 MB a command.

    python -m benchmarks.bench_recordings
"""

from __future__ import annotations

import os
import tempfile
from multiprocessing import Process
from pathlib import Path

from benchmarks.bench_chakra_tools import cost, show, yantra
from tests.oracles.gpu_program import write_pair

OPERATORS = int(os.environ.get("YANTRA_RECORDING_OPERATORS", "496000"))
SECONDS_GOAL = 12.0
MEGABYTES_GOAL = 500.0


def report(folder: Path) -> bool:
    # By a process of its own: a command's peak is at least that of the one that forks it.
    making = Process(target=write_pair, args=(folder,), kwargs={"operators": OPERATORS})
    making.start()
    making.join()
    linked, trace = str(folder / "linked.json"), str(folder / "job.0.et")
    pair = ("--host", str(folder / "host.json"), "--device", str(folder / "device.json"))
    commands = {
        "link": ("chakra", "link", *pair, "-o", linked),
        "convert": ("chakra", "convert", "pytorch", linked, "-o", trace),
        "template": (
            "chakra",
            "convert",
            "pytorch",
            linked,
            *("--replicate", "512", "-o", f"{trace}.yw"),
        ),
        "validate": ("chakra", "validate", trace),
        "stats": ("chakra", "stats", trace),
        "draw": ("chakra", "draw", trace, "-o", str(folder / "job.dot")),
        "timeline": ("chakra", "timeline", trace, "-o", str(folder / "timeline.json")),
        "look": ("trace", "look", linked),
        "why": ("trace", "why", linked),
    }
    print(f"{OPERATORS} operators; at most {SECONDS_GOAL:.0f} s, {MEGABYTES_GOAL:.0f} MB a command")
    met = True
    for name, words in commands.items():
        total = show(name, [cost(yantra(*words), 1)])
        met &= total.seconds <= SECONDS_GOAL and total.megabytes <= MEGABYTES_GOAL
    return met


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if report(Path(folder)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
