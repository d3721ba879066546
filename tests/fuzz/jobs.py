"""Runs whole jobs with something wrong in them, each in a process of its own.

    python -m tests.fuzz --target jobs --runs 20000

One to three places of a job's traces and other files are changed: bytes, JSON values, numbers by
extreme ones, attributes of nodes. A fault is a status that no command has for an input, such as 70;
a process that is killed, exceeds the limit or takes too long; and a run that ends absurdly late
without a warning. `hostile` cases are enumerated, not drawn.
"""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tests.child import in_child
from tests.fuzz.mutate import mutated
from tests.golden.astra_sim_inputs import CASES, write
from yantra.base.errors import YantraError
from yantra.chakra import Trace
from yantra.chakra.schema import Node

LONGEST_SECONDS = 60.0
MEMORY_LIMIT = 1 << 30
_SLACK = 128 << 20  # pages of files, which do not belong to the process
_LATE_NS = {"astra-sim": 2.0**60, "run": 2.0**60 / 1000}
_STATUSES = (0, 2, 3)

EXTREMES: tuple[float, ...] = (
    *(0, -1, -5, 1, 1e-300, 1e-9, 1e18, 1e300, 10**9, 10**10),
    *(2**31 - 1, 2**31, 2**32, 2**52, 2**53 + 1, 2**60, 2**62),
    *(2**63 - 1, 2**63, 2**64 - 5, 2**64 - 1, 2**64, -(2**63)),
)
_ATTRIBUTES = ("comm_size", "tensor_size", "num_ops", "comm_tag", "comm_type", "involved_dim")
_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_SCENARIO = """workload: {{traces: "{folder}/workload.{{rank}}.et"}}
cluster:
  topology: [{{kind: {kind}, size: {size}, bandwidth: 50 GB/s, latency: 500 ns}}]
  device: {{peak: 100 TFLOP/s, memory_bandwidth: 1000 GB/s}}
  memory: {{kind: pool, latency: 100 ns, bandwidth: 10 GB/s}}
semantics: {semantics}
network: {network}
collectives:
  all_reduce: [ring]
  all_gather: [{algorithm}]
  reduce_scatter: [ring]
  all_to_all: [direct]
  chunks: 4
  active_chunks: 2
  queues_per_dimension: 2
  endpoint_delay: 10 ns
  {bus}
"""


class Job(NamedTuple):
    folder: Path
    command: list[str]


class Fault(NamedTuple):
    problem: str
    output: str


def jobs(folder: Path) -> list[Job]:
    made = []
    for name in CASES:
        at = folder / name
        at.mkdir()
        line = write(name, at)
        made.append(Job(at, ["astra-sim", *line, f"--logging-folder={at / 'log'}"]))
        if name in ("tutorial", "overlap", "roofline"):
            size = len(list(at.glob("workload.*.et")))
            for number, (semantics, network, bus) in enumerate(
                [
                    ("yantra", "analytical", "reductions: serial"),
                    ("yantra", "store_and_forward", "rendezvous: true"),
                    (
                        "astra-sim",
                        "analytical",
                        "{shared_bus: {l: 1 ns, o: 2 ns, g: 3 ns, big_g: 0.1 ns/B}}"[1:-1],
                    ),
                ]
            ):
                text = _SCENARIO.format(
                    folder=at,
                    size=size,
                    semantics=semantics,
                    network=network,
                    bus=bus,
                    kind=("ring", "switch", "fully_connected")[number],
                    algorithm=("ring", "direct", "halving_doubling")[number],
                )
                path = at / f"job{number}.yaml"
                path.write_text(text)
                made.append(Job(at, ["run", str(path), "--json"]))
    return made


def campaign(runs: int, seconds: float, seed: int, *, hostile_first: bool = True) -> int:
    end = time.monotonic() + seconds
    statuses: dict[str, int] = {}
    faults = done = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        originals = jobs(folder)
        _warm_up(originals)
        first = hostile(originals) if hostile_first else iter(())
        cases = chain(first, _drawn(originals, random.Random(seed)))
        for what, job, files in cases:
            if done >= runs or time.monotonic() > end:
                break
            done += 1
            status, fault = tried(job, files)
            statuses[status] = statuses.get(status, 0) + 1
            if fault:
                faults += 1
                kept = _keep(job, files, faults)
                print(f"{what}: {fault.problem}; kept in {kept}\n{fault.output[-600:]}", flush=True)
    counts = ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items()))
    print(f"jobs: {done} runs, {faults} faults; {counts}", flush=True)
    return 1 if faults else 0


Files = dict[Path, bytes]
"""Content by path, in place of what is there."""

Case = tuple[str, Job, Files]


def _drawn(originals: list[Job], dice: random.Random) -> Iterator[Case]:
    number = 0
    while True:
        number += 1
        job = dice.choice(originals)
        if dice.random() < 0.2:
            job = Job(job.folder, _with_option(job.command, dice))
        files: Files = {}
        for _ in range(dice.randint(1, 3)):
            path = dice.choice(sorted(_inputs(job)))
            files[path] = _changed(path, files.get(path) or path.read_bytes(), dice)
        yield f"change {number}", job, files


def _with_option(command: list[str], dice: random.Random) -> list[str]:
    if command[0] == "run":
        return [
            *command[:-1],
            *dice.choice([["--fold", "off"], ["--fold", "require"], ["--record"]]),
        ]
    value = dice.choice(EXTREMES)
    options = ["--num-queues-per-dim={}", "--injection-scale={}", "--fold=require", "--json"]
    options += [
        "--rendezvous-protocol=true",
        "--scheduling-keys=honour",
        "--network-backend=congestion-aware",
    ]
    options += ["--semantics-quirk=whole-nanoseconds=false"]
    return [*command, dice.choice(options).format(value)]


def _inputs(job: Job) -> list[Path]:
    named = Path(job.command[1])
    if job.command[0] == "run":
        return [named, named, *job.folder.glob("workload.*.et")]
    return [path for path in job.folder.iterdir() if path.is_file() and path.suffix != ".yaml"]


def _changed(path: Path, data: bytes, dice: random.Random) -> bytes:
    if path.suffix == ".et":
        return _changed_trace(data, dice) if dice.random() < 0.8 else mutated(data, data, "", dice)
    if dice.random() < 0.6:
        spots = list(_NUMBER.finditer(data))
        if spots:
            spot = dice.choice(spots)
            number = f"{dice.choice(EXTREMES)}".encode()
            return data[: spot.start()] + number + data[spot.end() :]
    return mutated(data, data, "json" if path.suffix == ".json" else "", dice)


def _changed_trace(data: bytes, dice: random.Random) -> bytes:
    try:
        trace = Trace.from_bytes(data)
        nodes = list(trace)
    except YantraError:
        return mutated(data, data, "", dice)  # it was changed before and is no trace any more
    if not nodes:
        return data
    try:
        for _ in range(dice.randint(1, 2)):
            _change_node(dice.choice(nodes), dice)
        return Trace(nodes, trace.metadata).to_bytes()
    except YantraError:
        return mutated(data, data, "", dice)  # no attribute holds so much


def _change_node(node: Node, dice: random.Random) -> None:
    value = int(dice.choice([one for one in EXTREMES if abs(one) >= 1 and abs(one) < 2**64]))
    if dice.random() < 0.4:
        node.duration_micros = value % 2**64
    else:
        node[dice.choice(_ATTRIBUTES)] = max(min(value, 2**63 - 1), -(2**63))


def hostile(originals: list[Job]) -> Iterator[Case]:
    seen = set()
    for job in originals:
        for path in sorted(set(_inputs(job))):
            data = path.read_bytes()
            if path.suffix == ".et" or (job.command[0], data) in seen:
                continue
            seen.add((job.command[0], data))
            for at, spot in enumerate(_NUMBER.finditer(data)):
                for extreme in EXTREMES[at % 3 :: 3]:
                    changed = data[: spot.start()] + f"{extreme}".encode() + data[spot.end() :]
                    yield f"{path.name} {spot[0].decode()} -> {extreme}", job, {path: changed}


def tried(job: Job, files: Files) -> tuple[str, Fault | None]:
    before = {path: path.read_bytes() for path in files}
    for path, data in files.items():
        path.write_bytes(data)
    try:
        return _in_child([*job.command, f"--memory-limit={MEMORY_LIMIT} B"])
    finally:
        for path, data in before.items():
            path.write_bytes(data)
        shutil.rmtree(job.folder / "log", ignore_errors=True)


def _in_child(command: list[str]) -> tuple[str, Fault | None]:
    ended = in_child(command, LONGEST_SECONDS)
    if ended.status is None:
        return "hang", Fault(f"took more than {LONGEST_SECONDS:.0f} s", " ".join(command))
    problem = _problem(command[0], ended.status, ended.text, ended.peak_bytes)
    said = " ".join(command) + "\n" + ended.text
    return f"status {ended.status}", Fault(problem, said) if problem else None


def _problem(command: str, code: int, text: str, peak: int) -> str:
    if code not in _STATUSES:
        return f"status {code}"
    if peak > MEMORY_LIMIT + _SLACK:
        return f"took {peak} bytes of memory, above the limit"
    if code == 0 and "is every duration meant?" not in text:
        late = [
            float(ns)
            for ns in re.findall(r'finished, (\d+) cycles|"finish_ns": ?([\d.e+]+)', text)
            for ns in ns
            if ns
        ]
        if late and max(late) > _LATE_NS[command]:
            return f"ends at {max(late):g} ns without a word"
    return ""


def _warm_up(originals: list[Job]) -> None:
    from yantra.cli import main

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        for job in originals:
            main(job.command)


def _keep(job: Job, files: Files, number: int) -> Path:
    kept = Path(__file__).resolve().parents[2] / "build" / "fuzz" / f"jobs-{number}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(job.folder, kept)
    for path, data in files.items():
        (kept / path.relative_to(job.folder)).write_bytes(data)
    (kept / "command.json").write_text(json.dumps(job.command))
    return kept
