"""Random inputs of ASTRA-sim, drawn from a seed: `mixed`, `symmetric`, `pipeline`, `storm`, `bus`
(the shared bus), and the kinds of `odd_jobs.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from yantra.chakra import CollectiveType, Node, TraceBuilder

COLLECTIVES = (
    CollectiveType.ALL_REDUCE,
    CollectiveType.ALL_GATHER,
    CollectiveType.REDUCE_SCATTER,
    CollectiveType.ALL_TO_ALL,
)
_FILE_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
_SIZES = (1, 64, 1000, 4096, 65_536, 100_003, 1 << 20, 5_000_000)
MOST_RANKS = 32


class Files(NamedTuple):
    """`features` names what ASTRA-sim may stop at; `tests/reference/reasons.py` has them."""

    folder: Path
    ranks: int
    groups: dict[str, list[int]]
    arguments: list[str]
    dimensions: int
    features: frozenset[str]

    def options(self) -> list[str]:
        named = [
            f"--workload-configuration={self.folder / 'workload'}",
            f"--system-configuration={self.folder / 'system.json'}",
            f"--network-configuration={self.folder / 'network.yml'}",
            f"--remote-memory-configuration={self.folder / 'memory.json'}",
        ]
        if self.groups:
            named.append(f"--comm-group-configuration={self.folder / 'groups.json'}")
        return named + self.arguments


class Job:
    def __init__(self, random: Random, dimensions: tuple[int, ...] = (1, 1, 2, 2, 3)) -> None:
        self.random = random
        self.blocks = self._blocks(dimensions)
        self.ranks = prod(size for _, size in self.blocks)
        self.traces = [TraceBuilder(first_id=1) for _ in range(self.ranks)]
        self.groups: dict[str, list[int]] = {}
        self.tag = random.choice((0, 1000, 2**31 - 5000))
        self.roofline = random.random() < 0.4
        self.sizes = _SIZES
        self.memory: dict[str, Any] = {"memory-type": "NO_MEMORY_EXPANSION"}
        self.system: dict[str, Any] = {}
        self.prefixes: dict[str, list[str]] = {}
        self.arguments: list[str] = []
        self.files: dict[str, bytes] = {}
        self.features: set[str] = set()

    def _blocks(self, dimensions: tuple[int, ...]) -> list[tuple[str, int]]:
        draw = self.random
        most = MOST_RANKS if max(dimensions) < 5 else 2 * MOST_RANKS
        while True:
            blocks = [
                (
                    draw.choice(("Ring", "FullyConnected", "Switch")),
                    draw.choice((2, 2, 3, 4, 4, 5, 6, 7, 8, 8)),
                )
                for _ in range(draw.choice(dimensions))
            ]
            if prod(size for _, size in blocks) <= most:
                return blocks

    def size(self) -> int:
        return self.random.choice((*self.sizes, self.random.randrange(1, 3_000_000)))

    def draw_groups(self, count: int) -> None:
        draw = self.random
        for at in range(count):
            members = draw.sample(range(self.ranks), draw.randrange(2, self.ranks + 1))
            if draw.random() < 0.7:
                members.sort()
            self.groups[str(at + draw.choice((1, 1, 7)) + 10 * at)] = members

    def kernel(self, rank: int, after: Any) -> Node:
        draw, trace = self.random, self.traces[rank]
        if not self.roofline:
            return trace.compute(duration_micros=draw.randrange(1, 300), after=after)
        return trace.compute(
            num_ops=draw.randrange(1, 10**10), tensor_size=draw.randrange(1, 10**8), after=after
        )

    def message(
        self, src: int, dst: int, size: int, after_send: Any, after_recv: Any
    ) -> tuple[Node, Node]:
        self.tag += self.random.choice((0, 1, 1))
        sent = self.traces[src].send(dst, size, tag=self.tag, after=after_send)
        return sent, self.traces[dst].recv(src, size, tag=self.tag, after=after_recv)

    def together(
        self, kind: CollectiveType, members: list[int], group: str, last: list[Any]
    ) -> None:
        size = self.size()
        involved = None
        if not group and self.random.random() < 0.2:
            involved = [self.random.random() < 0.7 for _ in self.blocks]
            involved = involved if any(involved) else None
        named = {"group": group} if group else {}
        if involved:
            named |= {"involved_dim": involved}  # type: ignore[dict-item]
        self._note(kind, size, group, bool(involved))
        for rank in members:
            last[rank] = self.traces[rank].collective(kind, size, after=last[rank], **named)  # type: ignore[arg-type]

    def _note(self, kind: CollectiveType, size: int, group: str, involved: bool) -> None:
        if group:
            self.features.add("a group")
        elif "a group" in self.features:
            self.features.add("a group, then all ranks")
        if not group and not involved and len(self.blocks) > 4:
            self.features.add("five dimensions")
        if involved:
            self.features.add("involved_dim")
        if size < 16 * self.ranks:
            self.features.add("a size below its chunks")


def mixed(job: Job) -> None:
    draw = job.random
    job.draw_groups(draw.choice((0, 1, 2, 3)))
    last: list[Any] = [() for _ in range(job.ranks)]
    for _ in range(draw.randrange(2, 9)):
        what = draw.random()
        if what < 0.35:
            for rank in draw.sample(range(job.ranks), draw.randrange(1, job.ranks + 1)):
                node = job.kernel(rank, last[rank])
                last[rank] = node if draw.random() < 0.7 else last[rank]
        elif what < 0.65:
            job.together(draw.choice(COLLECTIVES), list(range(job.ranks)), "", last)
        elif what < 0.8 and job.groups:
            group = draw.choice(list(job.groups))
            job.together(draw.choice(COLLECTIVES), job.groups[group], group, last)
        else:
            _messages(job, last, draw.randrange(1, 8))


def _messages(job: Job, last: list[Any], count: int) -> None:
    for _ in range(count):
        src, dst = job.random.sample(range(job.ranks), 2)
        sent, received = job.message(src, dst, job.size(), last[src], last[dst])
        if job.random.random() < 0.6:
            last[dst] = received
        if job.random.random() < 0.4:
            last[src] = sent


def symmetric(job: Job) -> None:
    draw = job.random
    last: list[Any] = [() for _ in range(job.ranks)]
    late = {rank for rank in range(job.ranks) if draw.random() < draw.choice((0.0, 0.2))}
    for rank in late:
        last[rank] = job.kernel(rank, ())
    step = draw.randrange(1, job.ranks)
    for _ in range(draw.randrange(1, 5)):
        kernel, shifts = draw.getstate(), draw.random() < 0.3
        for rank in range(job.ranks):
            draw.setstate(kernel)
            last[rank] = job.kernel(rank, last[rank])
        if shifts:
            size, before = job.size(), list(last)
            for rank in range(job.ranks):
                to = (rank + step) % job.ranks
                _, last[to] = job.message(rank, to, size, before[rank], before[to])
        job.together(draw.choice(COLLECTIVES), list(range(job.ranks)), "", last)


def pipeline(job: Job) -> None:
    draw = job.random
    batches, size = draw.randrange(1, 6), job.size()
    last: list[Any] = [() for _ in range(job.ranks)]
    for order in (range(job.ranks), range(job.ranks - 1, -1, -1)):
        ranks = list(order)
        for _ in range(batches):
            for at, rank in enumerate(ranks):
                last[rank] = job.kernel(rank, last[rank])
                if at + 1 < len(ranks):
                    to = ranks[at + 1]
                    _, last[to] = job.message(rank, to, size, last[rank], last[to])
    if draw.random() < 0.7:
        job.together(CollectiveType.ALL_REDUCE, list(range(job.ranks)), "", last)


def storm(job: Job) -> None:
    draw = job.random
    last: list[Any] = [() for _ in range(job.ranks)]
    for rank in range(job.ranks):
        if draw.random() < 0.5:
            last[rank] = job.kernel(rank, ())
    _messages(job, last, draw.randrange(20, 200))


KINDS: dict[str, Callable[[Job], None]] = {
    "mixed": mixed,
    "symmetric": symmetric,
    "pipeline": pipeline,
    "storm": storm,
    "bus": symmetric,
}
DIMENSIONS: dict[str, tuple[int, ...]] = {}
"""How many dimensions jobs of a kind may have, where they are not as usual."""


def draw(kind: str, seed: int) -> Job:
    random = Random(f"{kind} {seed}")
    return Job(random, DIMENSIONS[kind]) if kind in DIMENSIONS else Job(random)


def write(kind: str, seed: int, folder: Path) -> Files:
    job = draw(kind, seed)
    KINDS[kind](job)
    for rank, trace in enumerate(job.traces):
        trace.build().write(folder / f"workload.{rank}.et")
    (folder / "network.yml").write_text(_network(job))
    system = _system(job, kind) | job.system
    system |= {key: [str(folder / name) for name in names] for key, names in job.prefixes.items()}
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "memory.json").write_text(json.dumps(job.memory))
    for name, content in job.files.items():
        (folder / name).write_bytes(content)
    if job.groups:
        (folder / "groups.json").write_text(json.dumps(job.groups))
    arguments = _arguments(job.random) + job.arguments
    features = job.features | _of_files(job, system, arguments)
    return Files(folder, job.ranks, job.groups, arguments, len(job.blocks), frozenset(features))


def _of_files(job: Job, system: dict[str, Any], arguments: list[str]) -> set[str]:
    features = set()
    if system["endpoint-delay"] == 0 or any("injection-scale=0" in one for one in arguments):
        features.add("no endpoint delay")
    if system.get("model-shared-bus"):
        features.add("a shared bus")
    if "--rendezvous-protocol=true" in arguments:
        features.add("rendezvous")
    names = {name for each in _FILE_KINDS for name in system.get(f"{each}-implementation", ())}
    if any(name.startswith(("direct", "oneDirect")) and name[-1].isdigit() for name in names):
        features.add("a window")
    for name in ("doubleBinaryTree", "halvingDoubling"):
        if name in names:
            features.add(name)
    if len(job.blocks) > 1:
        features.add("several dimensions")
    if any(one.startswith("--num-queues") for one in arguments):
        features.add("several queues")
    if any(not trace.nodes for trace in job.traces):
        features.add("an empty rank")
    if len(job.blocks) == 1 and job.blocks[0] == ("Ring", 2):
        features.add("a ring of two")
    return features


def _network(job: Job) -> str:
    draw = job.random
    blocks, sizes = zip(*job.blocks, strict=True)
    rates = [draw.choice((0.5, 1.0, 12.5, 25.0, 50.0, 100.0, 333.3)) for _ in blocks]
    latencies = [float(draw.choice((1, 5, 50, 500, 700, 1234, 10_000))) for _ in blocks]
    return (
        f"topology: [ {', '.join(blocks)} ]\nnpus_count: {list(sizes)}\n"
        f"bandwidth: {rates}\nlatency: {latencies}\n"
    )


def _algorithm(job: Job, at: int, kind: str) -> str:
    names = ["ring", "ring", "direct", f"direct{job.random.randrange(1, 6)}"]
    if kind != "all-to-all":
        names += ["halvingDoubling"] * (job.blocks[at][1] in (2, 4, 8))
        names += ["doubleBinaryTree"] * (kind == "all-reduce")
    if at == 0 and job.random.random() < 0.1:
        names = ["oneRing", "oneDirect"]
    return job.random.choice(names)


def _system(job: Job, kind: str) -> dict[str, Any]:
    draw = job.random
    system: dict[str, Any] = {
        "scheduling-policy": draw.choice(("LIFO", "FIFO", "LIFO")),
        "endpoint-delay": draw.choice((0, 1, 5, 10, 100)),
        "active-chunks-per-dimension": draw.choice((1, 1, 2, 4, 8)),
        "preferred-dataset-splits": draw.choice((1, 2, 4, 4, 7, 16)),
        "collective-optimization": draw.choice(("localBWAware", "baseline")),
        "local-mem-bw": draw.choice((50, 1000, 1560)),
        "roofline-enabled": int(job.roofline),
        "peak-perf": draw.choice((1, 50, 312)),
    }
    for each in _FILE_KINDS:
        system[f"{each}-implementation"] = [
            _algorithm(job, at, each) for at in range(len(job.blocks))
        ]
    if kind == "bus":
        system |= {
            "model-shared-bus": 1,
            **{key: draw.choice((0, 1, 2, 0.5, 7)) for key in ("L", "o", "g", "G")},
        }
    return system


def _arguments(draw: Random) -> list[str]:
    arguments = []
    if draw.random() < 0.3:
        arguments.append(f"--num-queues-per-dim={draw.choice((1, 2, 4))}")
    if draw.random() < 0.2:
        arguments.append(f"--injection-scale={draw.choice((0.5, 2.0))}")
    if draw.random() < 0.2:
        arguments.append(f"--comm-scale={draw.choice((0.5, 3.0))}")
    if draw.random() < 0.1:
        arguments.append("--rendezvous-protocol=true")
    return arguments
