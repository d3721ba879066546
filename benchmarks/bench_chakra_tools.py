"""Linking and converting PyTorch traces, beside upstream Chakra's commands: processor time, memory.

User seconds and peak memory are those of whole commands, the interpreter's start included (also
printed alone). The pair is the golden set's `resnet_pair` (14,391 operators, 40,573 events) where
the shared folder is beside the checkout, else one of 14,000 operators made here. Upstream's
commands run too when YANTRA_REFERENCE_CHAKRA names their folder. Goals: 15 times less user time for
both steps together, and at most half of the memory. Compat mode is shown as well: it writes
upstream's own files, so it cannot leave anything out. Growth from made pairs of 1 to 10 sizes may
be 12 times, as n log n allows.

    python -m benchmarks.bench_chakra_tools
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.archives import unpack
from tests.oracles.gpu_program import write_pair

REPEATS = 3
GOLDEN = Path(os.environ.get("YANTRA_GOLDEN", Path("..") / "shared" / "golden"))
SHARED = GOLDEN / "chakra" / "resnet_pair.tar.xz"
FASTER_GOAL = 15.0
MEMORY_GOAL = 0.5
GROWTH_GOAL = 12.0
OPERATORS = 14_000
COMPILED = tempfile.TemporaryDirectory()


class Cost(NamedTuple):
    """User seconds and peak megabytes of one command, each the best of some runs."""

    seconds: float
    megabytes: float


def cost(command: list[str], repeats: int = REPEATS) -> Cost:
    """Raises RuntimeError when it fails. Python keeps the compiled modules of the first run, as it
    does for installed programs.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = COMPILED.name
    seconds, megabytes = [], []
    for _ in range(repeats):
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise RuntimeError(f"{' '.join(command)} failed with status {status}")
        seconds.append(usage.ru_utime)
        megabytes.append(usage.ru_maxrss / 1024)
    return Cost(min(seconds), min(megabytes))


def yantra(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "yantra", *arguments]


def ours(host: Path, device: Path, folder: Path, compat: bool = False) -> Iterator[list[str]]:
    linked, trace = str(folder / "linked.json"), str(folder / "trace.et")
    mode = ["--compat", "upstream"] if compat else []
    yield yantra(
        *("chakra", "link", "--host", str(host), "--device", str(device), "-o", linked, *mode)
    )
    yield yantra("chakra", "convert", "pytorch", linked, "-o", trace, *mode)


def at_once(host: Path, device: Path, folder: Path) -> list[str]:
    trace = str(folder / "at_once.et")
    pair = ("--host", str(host), "--device", str(device))
    return yantra("chakra", "link", *pair, "-o", trace, "--to", "et")


def upstream(commands: Path, host: Path, device: Path, folder: Path) -> Iterator[list[str]]:
    linked, trace = str(folder / "upstream.json"), str(folder / "upstream.et")
    yield [
        str(commands / "chakra_trace_link"),
        *("--rank", "0", "--output-file", linked),
        *("--chakra-host-trace", str(host), "--chakra-device-trace", str(device)),
    ]
    yield [
        str(commands / "chakra_converter"),
        *("--log-filename", os.devnull, "PyTorch", "--input", linked, "--output", trace),
    ]


def pair(folder: Path) -> tuple[str, Path, Path]:
    if SHARED.exists():
        with tarfile.open(SHARED) as archive:
            unpack(archive, folder)
        return "resnet_pair", folder / "resnet_pair/host.json", folder / "resnet_pair/device.json"
    write_pair(folder, operators=OPERATORS, seed=1)
    return f"made, {OPERATORS} operators", folder / "host.json", folder / "device.json"


def show(title: str, costs: list[Cost]) -> Cost:
    total = Cost(sum(cost.seconds for cost in costs), max(cost.megabytes for cost in costs))
    parts = "   ".join(f"{cost.seconds:6.2f} s {cost.megabytes:5.0f} MB" for cost in costs)
    print(f"{title:24} {parts}   {total.seconds:6.2f} s", flush=True)
    return total


def beside_upstream(folder: Path) -> bool:
    name, host, device = pair(folder)
    start = cost(yantra("--version")).seconds
    print(f"{name:24} {'link':>17} {'convert':>17} {'both':>10}")
    print(f"{'start of a command':24} {start:6.2f} s")
    default = [cost(command) for command in ours(host, device, folder)]
    total = show("yantra", default)
    once = show("yantra, link --to et", [cost(at_once(host, device, folder))])
    compat = show("yantra, compat", [cost(c) for c in ours(host, device, folder, compat=True)])
    commands = os.environ.get("YANTRA_REFERENCE_CHAKRA")
    if commands is None:
        print(f"{'upstream':24} not measured: YANTRA_REFERENCE_CHAKRA is not set")
        return True
    theirs = [cost(c, repeats=2) for c in upstream(Path(commands), host, device, folder)]
    reference = show("upstream", theirs)
    faster = reference.seconds / total.seconds
    inside = reference.seconds / max(total.seconds - 2 * start, 1e-9)
    memory = max(a.megabytes / b.megabytes for a, b in zip(default, theirs, strict=True))
    print(
        f"faster {faster:.1f}x (at least {FASTER_GOAL:.0f}x), without our start {inside:.1f}x, "
        f"in one command {reference.seconds / once.seconds:.1f}x, "
        f"compat {reference.seconds / compat.seconds:.1f}x; "
        f"memory {memory:.2f} of upstream's (at most {MEMORY_GOAL})"
    )
    return faster >= FASTER_GOAL and memory <= MEMORY_GOAL


def growth(folder: Path) -> bool:
    start = cost(yantra("--version")).seconds
    seconds = []
    for size in (1, 10):
        at = folder / f"size{size}"
        at.mkdir()
        write_pair(at, operators=size * OPERATORS // 2, seed=1)
        commands = list(ours(at / "host.json", at / "device.json", at))
        total = show(f"made, {size * OPERATORS // 2} operators", [cost(c, 2) for c in commands])
        seconds.append(total.seconds - 2 * start)
    ratio = seconds[1] / seconds[0]
    print(f"10 times the operators cost {ratio:.1f} times the time (at most {GROWTH_GOAL:.0f})")
    return ratio <= GROWTH_GOAL


def report(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    met = beside_upstream(folder)
    print()
    return growth(folder) and met


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if report(Path(folder)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
