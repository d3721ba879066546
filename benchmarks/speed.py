"""Speed of runs against the reference simulator (YANTRA_REFERENCE_UNAWARE and
YANTRA_REFERENCE_AWARE), in processor seconds, in turns: the simulation alone, and the whole
command.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.inputs import all_reduce, messages
from tests.archives import unpack
from yantra.astra_sim import from_files
from yantra.compile import compile
from yantra.run.simulate import run_native

REPEATS = 9
_FEWER = 3  # of runs that take seconds
_LONG_S = 1.0
_PROGRAM = Path(__file__).parents[1] / "scripts" / "yantra"
_COMPILED = "bytecode"  # in the folder of the inputs
SHARED_TRACES = Path("..") / "shared" / "golden" / "workloads" / "stg.tar.gz"
SHARED_CASE = "stg/llama_16_dp2tp2pp2sp2"
SHARED_SYSTEM = "stg/systems/sys1d_direct_roof.json"


class Case(NamedTuple):
    name: str
    folder: Path
    backends: tuple[str, ...]
    goal: float
    groups: str | None = None
    command_goal: float = 0.0


def cases(folder: Path) -> Iterator[Case]:
    both = ("unaware", "aware")
    for name, blocks, algorithm, latest_us, backends, goal in (
        ("ring all-reduce, Ring 256", [("Ring", 256)], "ring", 0, both, 40.0),
        ("ring all-reduce, Ring 1024", [("Ring", 1024)], "ring", 0, both, 60.0),
        (
            "direct all-reduce, FullyConnected 256",
            [("FullyConnected", 256)],
            "direct",
            0,
            both,
            120.0,
        ),
        ("ring per dimension, torus 16x16x16", [("Ring", 16)] * 3, "ring", 0, ("unaware",), 100.0),
        ("Ring 256, random starts", [("Ring", 256)], "ring", 1000, both, 20.0),
        (
            "FullyConnected 256, random starts",
            [("FullyConnected", 256)],
            "direct",
            1000,
            both,
            20.0,
        ),
    ):
        at = folder / name.replace(", ", "-").replace(" ", "-")
        all_reduce(at, blocks, algorithm, latest_us)
        yield Case(name, at, backends, goal)
    at = folder / "messages"
    messages(at, [("Ring", 8), ("Ring", 16)], 128 * 1024)
    # The aware reference aborts on it.
    yield Case("128k messages, 128 ranks", at, ("unaware",), 25.0, command_goal=25.0)
    yield from _transformer(folder)


def _transformer(folder: Path) -> Iterator[Case]:
    """A 16-rank transformer trace, where the shared folder is beside the checkout."""
    if not SHARED_TRACES.exists():
        return
    with tarfile.open(SHARED_TRACES) as archive:
        unpack(archive, folder)
    at = folder / SHARED_CASE
    (at / "network.yml").write_text(
        "topology: [FullyConnected]\nnpus_count: [16]\nbandwidth: [200.0]\nlatency: [500.0]\n"
    )
    (at / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}\n')
    (at / "system.json").write_text((folder / SHARED_SYSTEM).read_text())
    yield Case("16-rank transformer trace", at, ("unaware", "aware"), 40.0, "workload.json", 4.0)


def simulate_seconds(case: Case, backend: str) -> float:
    start = time.process_time()
    scenario, _ = from_files(
        workload="workload",
        system="system.json",
        network="network.yml",
        memory="memory.json",
        groups=case.groups,
        directory=case.folder,
        network_backend=f"congestion-{backend}",
    )
    run_native(compile(scenario))
    return time.process_time() - start


def _installed(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str((folder / _COMPILED).absolute())}


def process_seconds(
    command: list[str],
    folder: Path,
    *,
    must_succeed: bool,
    environment: dict[str, str] | None = None,
) -> float:
    """The reference need not succeed: some of its runs crash after they have printed
    every result.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    _, status, usage = os.wait4(process.pid, 0)
    if must_succeed and status != 0:
        raise RuntimeError(f"{' '.join(command)} failed with status {status}")
    return usage.ru_utime + usage.ru_stime


def _flags(case: Case) -> list[str]:
    flags = [
        "--workload-configuration=workload",
        "--system-configuration=system.json",
        "--network-configuration=network.yml",
        "--remote-memory-configuration=memory.json",
    ]
    return flags + ([f"--comm-group-configuration={case.groups}"] if case.groups else [])


class Least(NamedTuple):
    ours: float
    command: float
    reference: float | None


def in_turns(case: Case, backend: str, environment: dict[str, str]) -> Least:
    binary = os.environ.get(f"YANTRA_REFERENCE_{backend.upper()}")
    command = [sys.executable, str(_PROGRAM), "astra-sim", *_flags(case)]
    command.append(f"--network-backend=congestion-{backend}")
    simulations: list[float] = []
    commands: list[float] = []
    references: list[float] = []
    while len(simulations) < (_FEWER if max(references, default=0.0) > _LONG_S else REPEATS):
        simulations.append(simulate_seconds(case, backend))
        whole = process_seconds(command, case.folder, must_succeed=True, environment=environment)
        commands.append(whole)
        if binary is not None:
            reference = [binary, *_flags(case)]
            references.append(process_seconds(reference, case.folder, must_succeed=False))
    return Least(min(simulations), min(commands), min(references) if references else None)


def report(folder: Path) -> bool:
    met = True
    installed = _installed(folder)
    titles = ("case", "network", "ours s", "command s", "reference s")
    print("{:40} {:8} {:>8} {:>10} {:>12} ratio (goal)".format(*titles))
    for case in cases(folder):
        for backend in case.backends:
            ours, whole, reference = in_turns(case, backend, installed)
            line = f"{case.name:40} {backend:8} {ours:8.4f} {whole:10.3f}"
            if reference is None:
                print(f"{line} {'-':>12} (at least {case.goal:.0f}x)", flush=True)
                continue
            ratio = reference / ours
            met &= ratio >= case.goal and reference / whole >= case.command_goal
            print(
                f"{line} {reference:12.3f} {ratio:5.1f}x (at least {case.goal:.0f}x); "
                f"whole command {reference / whole:.1f}x (at least {case.command_goal:g}x)",
                flush=True,
            )
    return met
