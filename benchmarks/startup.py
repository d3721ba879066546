"""How fast the commands start, in wall seconds: the best of some runs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.inputs import all_reduce

VERSION_GOAL_S = 0.15
SMALL_RUN_GOAL_S = 0.3
REPEATS = 7


def _wall(command: list[str], folder: Path) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def report(folder: Path) -> bool:
    """Measure and print; return whether both goals are met."""
    small = folder / "small"
    all_reduce(small, [("Ring", 8)], "ring")
    yantra = str(Path(sys.executable).with_name("yantra"))
    version = _wall([yantra, "--version"], small)
    run = _wall(
        [
            yantra,
            "astra-sim",
            "--workload-configuration=workload",
            "--system-configuration=system.json",
            "--network-configuration=network.yml",
            "--remote-memory-configuration=memory.json",
        ],
        small,
    )
    print(f"yantra --version           {version:6.3f} s wall (below {VERSION_GOAL_S} s)")
    print(f"yantra astra-sim, 8 ranks  {run:6.3f} s wall (below {SMALL_RUN_GOAL_S} s)")
    return version < VERSION_GOAL_S and run < SMALL_RUN_GOAL_S
