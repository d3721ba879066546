"""Messages a second, of the run alone: one thread, every rank simulated, congestion-unaware. The
goal is for runs in which each goes by itself; rounds passed at once are shown.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.inputs import all_reduce, messages
from yantra import _core
from yantra.astra_sim import from_files
from yantra.compile import compile

REPEATS = 9
RINGS_GOAL_PER_S = 80e6
POINT_TO_POINT_GOAL_PER_S = 5e6
_ALL_EVENTS = 1 << 62


class Speed(NamedTuple):
    messages: int
    seconds: float

    @property
    def per_s(self) -> float:
        return self.messages / self.seconds


def measure(folder: Path, repeats: int = REPEATS, *, shortcuts: bool = False) -> Speed:
    scenario, _ = from_files(
        workload="workload",
        system="system.json",
        network="network.yml",
        memory="memory.json",
        directory=folder,
        network_backend="congestion-unaware",
    )
    model = compile(scenario)
    times = []
    for _ in range(repeats):
        simulation = _core.Simulation(model.native, shortcuts=shortcuts)
        start = time.process_time()
        simulation.start()
        simulation.run_for(_ALL_EVENTS)
        times.append(time.process_time() - start)
    return Speed(simulation.outcome().messages, min(times))


def report(folder: Path) -> bool:
    rings, pairs = folder / "rings", folder / "pairs"
    all_reduce(rings, [("Ring", 1024)], "ring")
    messages(pairs, [("Ring", 8), ("Ring", 16)], 128 * 1024)
    met = True
    for name, at, goal, shortcuts in (
        ("ring all-reduce, Ring 1024", rings, RINGS_GOAL_PER_S, False),
        ("the same, rounds passed at once", rings, None, True),
        ("128k messages between 128 ranks", pairs, POINT_TO_POINT_GOAL_PER_S, False),
    ):
        speed = measure(at, shortcuts=shortcuts)
        met &= goal is None or speed.per_s >= goal
        wanted = "" if goal is None else f" (goal {goal / 1e6:.0f})"
        print(
            f"{name:32} {speed.messages:9,} messages {speed.seconds * 1e3:8.2f} ms "
            f"{speed.per_s / 1e6:7.2f} million/s{wanted}",
            flush=True,
        )
    return met
