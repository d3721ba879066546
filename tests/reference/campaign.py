"""Runs many jobs on both, in no order, and keeps each verdict as it comes."""

from __future__ import annotations

import hashlib
import json
import signal
import tempfile
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import yantra
from tests.reference import jobs, odd_jobs, reasons, runs
from tests.reference.runs import Verdict, compared
from yantra import _core

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "reference"


class Task(NamedTuple):
    kind: str
    seed: int
    backend: str
    binary: Path

    @property
    def name(self) -> str:
        return f"{self.kind} {self.seed} {self.backend}"


def tasks(first: int, count: int, binaries: dict[str, Path]) -> list[Task]:
    drawn = []
    for seed in range(first, first + count):
        kind = list(jobs.KINDS)[seed % len(jobs.KINDS)]
        one = len(jobs.draw(kind, seed).blocks) == 1
        drawn += [
            Task(kind, seed, backend, binary)
            for backend, binary in binaries.items()
            if backend == "unaware" or one
        ]
    return drawn


def results_file(binaries: dict[str, Path], limit_s: int) -> Path:
    digest = hashlib.sha256(f"{sorted(binaries)} {limit_s}".encode())
    package = Path(yantra.__file__).parent
    sources = [path for path in package.rglob("*") if path.suffix in (".py", ".so")]
    sources += [Path(module.__file__ or "") for module in (_core, jobs, odd_jobs, reasons, runs)]
    for path in [*sorted(set(sources)), *(binaries[name] for name in sorted(binaries))]:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return FOLDER / f"verdicts-{digest.hexdigest()[:16]}.jsonl"


def kept(file: Path) -> dict[str, Verdict]:
    if not file.exists():
        return {}
    whole, end, _ = file.read_bytes().rpartition(b"\n")
    with file.open("r+b") as cut:
        cut.truncate(len(whole) + len(end))
    verdicts = (Verdict(**json.loads(line)) for line in whole.splitlines())
    return {verdict.name: verdict for verdict in verdicts}


def run(todo: Sequence[Task], file: Path, limit_s: int, workers: int) -> Iterator[Verdict]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (
        file.open("a") as lines,
        tempfile.TemporaryDirectory(
            prefix="yantra-reference-", ignore_cleanup_errors=True
        ) as folder,
        get_context("fork").Pool(workers, _ignore_interrupts, (folder,)) as pool,
    ):
        asked = ((task, limit_s) for task in todo)
        for verdict in pool.imap_unordered(_verdict, asked):
            lines.write(json.dumps(verdict._asdict()) + "\n")
            lines.flush()
            yield verdict
        pool.close()
        pool.join()


def _ignore_interrupts(folder: str) -> None:
    """Leave Ctrl-C to the first process, which ends the workers and removes the folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    tempfile.tempdir = folder


def _verdict(asked: tuple[Task, int]) -> Verdict:
    task, limit_s = asked
    return compared(*task, limit_s)
