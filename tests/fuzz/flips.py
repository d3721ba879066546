"""Turns one bit of a file that Yantra wrote: the change must be noticed, or harmless.

    python -m tests.fuzz --target flips --runs 10000

Each turned bit, in files of every kind that Yantra writes and reads, goes through the commands that
read the file. It is noticed where a command ends with status 2 or 3, or prints a note or a warning;
it is harmless where the command prints what it prints for the whole file.
"""

from __future__ import annotations

import io
import re
import shutil
import time
from collections import Counter
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.cases import ALL_REDUCE
from yantra.chakra import TraceBuilder
from yantra.cli import main

STUDY = """model: llama3-8b
global_batch: 16
sequence: 1024
clusters: [hgx-h100]
ranks: [4]
scale: {peak: [1, 1.2]}
prices: {hgx-h100: 2.50 USD/h}
objectives: [step_time, usd_per_million_tokens]
plan: {tp: [2, 4], recompute: [none], pp: [1], zero: [0]}
"""
RING = """workload: {traces: "step.{rank}.et"}
cluster:
  topology: [{kind: ring, size: 4, bandwidth: 50 GB/s, latency: 500 ns}]
collectives: {all_reduce: [ring]}
"""


class Kind(NamedTuple):
    name: str
    file: str
    make: tuple[str, ...]
    reads: tuple[tuple[str, ...], ...]


KINDS = (
    Kind(
        "result",
        "r.json",
        ("run", "ring.yaml", "-o", "r.json"),
        (("explain", "r.json", "--no-runs"), ("run", "r.json"), ("compare", "r.json", "s.json")),
    ),
    Kind(
        "packed result",
        "r.json.gz",
        ("run", "ring.yaml", "-o", "r.json.gz"),
        (("explain", "r.json.gz", "--no-runs"), ("run", "r.json.gz")),
    ),
    Kind(
        "sweep",
        "out/ring.json",
        ("sweep", "ring.yaml", "-o", "out"),
        (("sweep", "ring.yaml", "-o", "out", "--resume"),),
    ),
    Kind(
        "study",
        "study/trials.jsonl",
        ("explore", "run", "study.yaml", "-o", "study", "--simulate", "0"),
        (
            ("explore", "odds", "study"),
            ("explore", "run", "study.yaml", "-o", "study", "--resume", "--simulate", "0"),
        ),
    ),
    Kind(
        "workload",
        "step.yw",
        ("workload", "train", "--job", "job.yaml", "-o", "step.yw"),
        (
            ("workload", "show", "step.yw"),
            ("run", "--workload", "step.yw", "--cluster", "hgx-h100"),
        ),
    ),
    Kind(
        "job",
        "again.yaml",
        ("workload", "train", "--job", "job.yaml", "-o", "t.yw", "--save-job", "again.yaml"),
        (("workload", "train", "--job", "again.yaml", "-o", "u.yw"),),
    ),
)
Said = tuple[int, str, str]
_TIME_TAKEN = re.compile(r" in [0-9.]+ m?s$", re.MULTILINE)


def said(words: tuple[str, ...]) -> Said:
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        status = main(list(words))
    return status, _TIME_TAKEN.sub("", out.getvalue()), errors.getvalue()


def prepare(folder: Path) -> None:
    with chdir(folder):
        for rank in range(4):
            step = TraceBuilder(rank=rank)
            step.collective(ALL_REDUCE, 1 << 16, after=step.compute(duration_micros=3 + rank))
            step.build().write(f"step.{rank}.et")
        Path("ring.yaml").write_text(RING)
        Path("study.yaml").write_text(STUDY)
        plan = "plan: {tp: 2, dp: 2, global_batch: 4}\n"
        Path("job.yaml").write_text(f"model: gpt3-1.3b\nsequence: 128\n{plan}")
        for kind in KINDS:
            status, _, errors = said(kind.make)
            assert status == 0, errors
        shutil.copy("r.json", "s.json")


def fault_of(kind: Kind, content: bytes, whole: dict[tuple[str, ...], Said]) -> str:
    outcome = "harmless"
    for words in kind.reads:
        Path(kind.file).write_bytes(content)
        status, out, errors = said(words)
        if status not in (0, 2, 3):
            return f"status {status}: {' '.join(words)}: {errors[-300:]}"
        if status or errors != whole[words][2]:
            outcome = "noticed"
        elif out != whole[words][1]:
            return f"believed: {' '.join(words)}: {out[:200]}"
    return outcome


def play(folder: Path, runs: int, seed: int, seconds: float = float("inf")) -> list[str]:
    chance, counts, faults = Random(seed), Counter[str](), []
    deadline = time.monotonic() + seconds
    with chdir(folder):
        contents = {kind: Path(kind.file).read_bytes() for kind in KINDS}
        whole = {kind: _whole(kind, contents[kind]) for kind in KINDS}
        for number in range(runs):
            kind = KINDS[number % len(KINDS)]
            content = bytearray(contents[kind])
            bit = chance.randrange(8 * len(content))
            content[bit // 8] ^= 1 << bit % 8
            outcome = fault_of(kind, bytes(content), whole[kind])
            if outcome not in ("noticed", "harmless"):
                faults.append(f"{kind.name}, bit {bit}: {outcome}")
            counts[f"{kind.name}: {outcome.partition(':')[0]}"] += 1
            if time.monotonic() > deadline:
                break
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")
    return faults


def _whole(kind: Kind, content: bytes) -> dict[tuple[str, ...], Said]:
    found = {}
    for words in kind.reads:
        Path(kind.file).write_bytes(content)
        found[words] = said(words)
        assert found[words][0] == 0, found[words]
    return found


def campaign(runs: int, seconds: float, seed: int) -> int:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        prepare(Path(folder))
        faults = play(Path(folder), runs, seed, seconds)
    for fault in faults:
        print(fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0
